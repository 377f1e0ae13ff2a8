//! A Postgres of the project's own: its data in a folder, its life that of the command that started it.

use std::{
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, bail};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Gid, Pid, Uid, User, chown, geteuid},
};
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use crate::process::{self, Running};

/// How long a server may take to start or to end where the disk is slow: after a crash it makes sure of each of
/// its files, and an orderly end writes down all that is in memory.
const SLOW: Duration = Duration::from_secs(300);

/// A running server.
#[derive(Debug)]
pub(crate) struct Postgres {
    pub(crate) process: Running,
    log: PathBuf,
    port: u16,
    password: String,
}

/// How it is run.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// The folder of `postgres` and `initdb`.
    pub(crate) bin: &'a Path,
    pub(crate) data: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: &'a str,
    /// Off for tests only: then a crash of the machine may lose data.
    pub(crate) fsync: bool,
    pub(crate) max_connections: u32,
}

/// Postgres refuses to run as root: the user it runs as instead, when this program is root.
fn unprivileged_user() -> anyhow::Result<Option<(Uid, Gid)>> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    if let Some(uid) = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok())
        && uid != 0
        && let Some(user) = User::from_uid(Uid::from_raw(uid))?
    {
        return Ok(Some((user.uid, user.gid)));
    }
    for name in ["postgres", "nobody"] {
        if let Some(user) = User::from_name(name)? {
            return Ok(Some((user.uid, user.gid)));
        }
    }
    bail!("Postgres refuses to run as root, and there is no user `postgres` or `nobody`")
}

/// In the folder: what the server itself keeps.
const DATA: &str = "data";

/// In the wanted folder: where the data is instead.
const ELSEWHERE: &str = "elsewhere";

/// The folder that stands in for `wanted`, if one does.
fn elsewhere(wanted: &Path) -> Option<PathBuf> {
    std::fs::read_to_string(wanted.join(ELSEWHERE)).ok().map(PathBuf::from)
}

/// Removes a data folder, and the one that stands in for it.
pub(crate) fn remove(data: &Path) -> anyhow::Result<()> {
    for folder in elsewhere(data).into_iter().chain([data.to_owned()]) {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// A data folder that the user can reach: `wanted`, or, when a folder above it is closed to that user, one
/// under /var/lib. Its name is new, and noted in `wanted`: a checkout that is made again has data of its own.
async fn reachable(wanted: PathBuf, user: Option<(Uid, Gid)>) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(&wanted)?;
    let Some((uid, gid)) = user else { return Ok(wanted) };
    let mut look = tokio::process::Command::new("test");
    look.arg("-x").arg(&wanted).uid(uid.as_raw()).gid(gid.as_raw());
    let folder = if let Some(elsewhere) = elsewhere(&wanted) {
        elsewhere
    } else if look.status().await.is_ok_and(|status| status.success()) {
        wanted
    } else {
        let folder = Path::new("/var/lib/atelier").join(uuid::Uuid::now_v7().simple().to_string());
        std::fs::write(wanted.join(ELSEWHERE), folder.to_string_lossy().as_bytes())?;
        println!("  Postgres' user cannot reach {}: its data is in {}", wanted.display(), folder.display());
        folder
    };
    std::fs::create_dir_all(&folder)?;
    chown(&folder, Some(uid), Some(gid))?;
    Ok(folder)
}

impl Postgres {
    /// Starts it, and waits until it answers.
    pub(crate) async fn start(options: &Options<'_>) -> anyhow::Result<Self> {
        let mut started = Self::launch(options).await?;
        started.answers().await?;
        Ok(started)
    }

    /// Starts it, with what data the folder holds, or none yet. It does not answer yet.
    pub(crate) async fn launch(options: &Options<'_>) -> anyhow::Result<Self> {
        let user = unprivileged_user()?;
        let folder = reachable(options.data.clone(), user).await?;
        let data = folder.join(DATA);
        if !data.exists() {
            initialize(options, &folder, &data, user).await?;
        }
        let mut command = process::command(options.bin.join("postgres"), Signal::SIGINT);
        process::unprivileged(&mut command, user);
        let log = folder.join("postgres.log");
        let out = std::fs::File::create(&log)?;
        command
            .arg("-D")
            .arg(&data)
            .args(["-p", &options.port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=64MB"])
            .args(["-c", &format!("max_connections={}", options.max_connections)])
            .args(["-c", &format!("fsync={}", if options.fsync { "on" } else { "off" })])
            // everybody comes by TCP: no socket with a name that is too long for some folders
            .args(["-c", "unix_socket_directories="])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out);
        let process = Running::spawn("postgres", command)?;
        Ok(Self { process, log, port: options.port, password: options.password.to_owned() })
    }

    /// Waits until it answers.
    pub(crate) async fn answers(&mut self) -> anyhow::Result<()> {
        let connect = self.admin();
        process::until("Postgres answers", SLOW, async || {
            if let Some(how) = self.process.has_ended() {
                let log = std::fs::read_to_string(&self.log).unwrap_or_default();
                bail!("Postgres has ended ({how}):\n{log}");
            }
            match PgConnection::connect_with(&connect).await {
                Ok(conn) => {
                    conn.close().await?;
                    Ok(true)
                }
                Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("28P01") => {
                    bail!("the data was made with another password than the one beside it; start over with --fresh")
                }
                Err(_) => Ok(false),
            }
        })
        .await
    }

    /// A superuser's connection options.
    pub(crate) fn admin(&self) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.port)
            .username("postgres")
            .password(&self.password)
            .database("postgres")
    }

    /// A superuser's address.
    pub(crate) fn admin_url(&self) -> String {
        self.url("postgres")
    }

    /// A superuser's address of a database.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/{database}", self.password, self.port)
    }

    pub(crate) async fn stop(self) {
        // SIGINT is Postgres' "fast shutdown": it ends sessions and writes everything down
        self.process.stop(Signal::SIGINT, Duration::from_secs(20)).await;
    }
}

async fn initialize(
    options: &Options<'_>,
    folder: &Path,
    data: &Path,
    user: Option<(Uid, Gid)>,
) -> anyhow::Result<()> {
    // made beside, and then renamed: an initdb that is killed leaves nothing that looks like data
    let made = folder.join("initdb");
    if made.exists() {
        std::fs::remove_dir_all(&made)?;
    }
    let password = folder.join("password");
    let mut file =
        std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&password)?;
    file.write_all(options.password.as_bytes())?;
    if let Some((uid, gid)) = user {
        chown(&password, Some(uid), Some(gid))?;
    }
    let mut initdb = process::command(options.bin.join("initdb"), Signal::SIGKILL);
    process::unprivileged(&mut initdb, user);
    initdb
        .arg("-D")
        .arg(&made)
        .args(["-U", "postgres", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"])
        .arg("--pwfile")
        .arg(&password)
        .current_dir(folder);
    let done = process::run("initdb", initdb).await;
    std::fs::remove_file(&password)?;
    done?;
    Ok(std::fs::rename(&made, data)?)
}

/// Ends a server that an earlier, killed command left on the data of this folder, and waits for what a server
/// that was killed itself has left: Postgres starts beside neither.
pub(crate) async fn end_leftover(wanted: &Path) -> anyhow::Result<()> {
    let folder = elsewhere(wanted).unwrap_or_else(|| wanted.to_owned());
    let Ok(data) = folder.join(DATA).canonicalize() else { return Ok(()) };
    let server = server_of(&data).filter(|&pid| may_be_postgres(pid));
    if let Some(pid) = server {
        match kill(pid, Signal::SIGINT) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error).context("cannot stop the Postgres that is left over"),
        }
    }
    let is_left = || server.is_some_and(may_be_postgres) || is_worked_in(&data);
    if is_left() {
        println!("waiting for the Postgres of the last `up` to end");
    }
    process::until("the Postgres that was left over ends", SLOW, async || Ok(!is_left())).await
}

/// The server that runs on the data, or ran when it was killed.
fn server_of(data: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(data.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok().map(Pid::from_raw)
}

/// Whether the data is the working folder of a process, as it is of each of a server's. Linux only.
fn is_worked_in(data: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|process| process.path().join("cwd").read_link().is_ok_and(|cwd| cwd == data))
}

/// Whether there is a process of that number, and no other program's: one that is about to end has no
/// command line any more, and Postgres minds it until it is gone.
fn may_be_postgres(pid: Pid) -> bool {
    let exists = kill(pid, None) != Err(Errno::ESRCH);
    let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    exists && (command.is_empty() || command.contains("postgres"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_server_that_is_ending_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(DATA);
        std::fs::create_dir(&data).unwrap();
        let mut ending = std::process::Command::new("true").spawn().unwrap();
        let pid = ending.id();
        std::fs::write(data.join("postmaster.pid"), format!("{pid}\n/data\n")).unwrap();
        let is_over = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ");
        process::until("it is over, and not yet gone", Duration::from_secs(5), async || Ok(is_over()))
            .await
            .unwrap();

        let mut waits = Box::pin(end_leftover(folder.path()));
        assert!(futures::poll!(&mut waits).is_pending(), "it was taken for gone");
        ending.wait().unwrap();
        waits.await.unwrap();
    }

    #[tokio::test]
    async fn what_a_killed_server_left_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(DATA);
        std::fs::create_dir(&data).unwrap();
        let mut left = std::process::Command::new("sleep").arg("1000").current_dir(&data).spawn().unwrap();

        let mut waits = Box::pin(end_leftover(folder.path()));
        assert!(futures::poll!(&mut waits).is_pending(), "it was not seen");
        left.kill().unwrap();
        left.wait().unwrap();
        waits.await.unwrap();
    }
}
