//! A Postgres server that runs as long as the command that started it, with its data in a folder.

use std::{
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    rc::Rc,
    time::Duration,
};

use anyhow::{Context, bail};
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::{Gid, Pid, Uid, User, chown, geteuid},
};
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use crate::{
    control::Control,
    process::{self, Running},
};

/// Pause before a server that ended is started again.
const RESTART: Duration = Duration::from_millis(500);
/// Longest time to start or stop on a slow disk: recovery reads every file, a shutdown writes a checkpoint.
const SLOW: Duration = Duration::from_secs(300);

/// Settings of a server that needs no durability. Autovacuum would visit hundreds of short-lived databases.
const UNSAFE: [&str; 10] = [
    "-c",
    "full_page_writes=off",
    "-c",
    "wal_level=minimal",
    "-c",
    "max_wal_senders=0",
    "-c",
    "autovacuum=off",
    "-c",
    "synchronous_commit=off",
];

/// A running server.
#[derive(Debug)]
pub struct Postgres {
    pub process: Running,
    pub control: Rc<Control>,
    server: Server,
    password: String,
}

/// How the server is started.
#[derive(Debug)]
struct Server {
    program: PathBuf,
    user: Option<(Uid, Gid)>,
    folder: PathBuf,
    log: PathBuf,
    port: u16,
    fsync: bool,
    max_connections: u32,
}

/// How to run it.
#[derive(Debug)]
pub struct Options<'a> {
    /// Folder with the programs `postgres` and `initdb`.
    pub bin: &'a Path,
    pub data: PathBuf,
    pub port: u16,
    pub password: &'a str,
    /// Off for tests only: a crash of the machine may lose data.
    pub fsync: bool,
    pub max_connections: u32,
}

/// The user to run Postgres as if this program runs as root, which Postgres refuses.
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
    bail!("Postgres does not run as root, and the users `postgres` and `nobody` do not exist")
}

/// Subfolder of the server's data.
const DATA: &str = "data";

/// File that names the folder with the data, if it is another.
const ELSEWHERE: &str = "elsewhere";

/// The folder used instead of `wanted`, if any.
fn elsewhere(wanted: &Path) -> Option<PathBuf> {
    std::fs::read_to_string(wanted.join(ELSEWHERE)).ok().map(PathBuf::from)
}

/// Removes a data folder and the one used instead of it.
pub fn remove(data: &Path) -> anyhow::Result<()> {
    for folder in elsewhere(data).into_iter().chain([data.to_owned()]) {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// A data folder that the user can access: `wanted`, or a new one under /var/lib, recorded in `wanted`, if the user
/// has no access to a parent folder.
async fn reachable(wanted: PathBuf, user: Option<(Uid, Gid)>) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(&wanted)?;
    let Some((uid, gid)) = user else { return Ok(wanted) };
    let mut test = tokio::process::Command::new("test");
    test.arg("-x").arg(&wanted).uid(uid.as_raw()).gid(gid.as_raw());
    let folder = if let Some(elsewhere) = elsewhere(&wanted) {
        elsewhere
    } else if test.status().await.is_ok_and(|status| status.success()) {
        wanted
    } else {
        let folder = Path::new("/var/lib/atelier").join(uuid::Uuid::now_v7().simple().to_string());
        std::fs::write(wanted.join(ELSEWHERE), folder.to_string_lossy().as_bytes())?;
        println!(
            "  the user of Postgres has no access to {}; the data is in {}",
            wanted.display(),
            folder.display()
        );
        folder
    };
    std::fs::create_dir_all(&folder)?;
    chown(&folder, Some(uid), Some(gid))?;
    Ok(folder)
}

impl Postgres {
    /// Starts the server and waits until it answers.
    pub async fn start(options: &Options<'_>) -> anyhow::Result<Self> {
        let mut started = Self::launch(options).await?;
        started.answers().await?;
        Ok(started)
    }

    /// Starts the server, after initializing the data folder if it is new. Does not wait until it answers.
    pub async fn launch(options: &Options<'_>) -> anyhow::Result<Self> {
        let user = unprivileged_user()?;
        let folder = reachable(options.data.clone(), user).await?;
        let data = folder.join(DATA);
        if !data.exists() {
            initialize(options, &folder, &data, user).await?;
        }
        let server = Server {
            program: options.bin.join("postgres"),
            user,
            log: folder.join("postgres.log"),
            folder,
            port: options.port,
            fsync: options.fsync,
            max_connections: options.max_connections,
        };
        let out = std::fs::File::create(&server.log)?;
        let process = server.spawn(out)?;
        let control = Rc::<Control>::default();
        control.runs(Some(process.pid()));
        Ok(Self { process, control, server, password: options.password.to_owned() })
    }

    /// Starts the server again whenever it ends. Returns why that is not possible.
    pub async fn keep_up(&mut self) -> anyhow::Error {
        loop {
            let how = self.process.ended().await;
            self.control.runs(None);
            println!("  postgres ended ({how}); restarting it");
            // as long as processes of the last server use the shared memory, the next one ends at once
            tokio::time::sleep(RESTART).await;
            self.control.released().await;
            let started = self.server.append().and_then(|log| self.server.spawn(log));
            match started {
                Ok(process) => self.process = process,
                Err(error) => return error,
            }
            self.control.runs(Some(self.process.pid()));
        }
    }

    /// Waits until it answers.
    pub async fn answers(&mut self) -> anyhow::Result<()> {
        let connect = self.admin();
        process::until("Postgres answers", SLOW, async || {
            if let Some(how) = self.process.has_ended() {
                let log = std::fs::read_to_string(&self.server.log).unwrap_or_default();
                bail!("Postgres ended ({how}):\n{log}");
            }
            match PgConnection::connect_with(&connect).await {
                Ok(conn) => {
                    conn.close().await?;
                    Ok(true)
                }
                Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("28P01") => {
                    bail!("the password does not match the data; start over with --fresh")
                }
                Err(_) => Ok(false),
            }
        })
        .await
    }

    /// Connection options of a superuser.
    pub fn admin(&self) -> PgConnectOptions {
        PgConnectOptions::new_without_pgpass()
            .host("127.0.0.1")
            .port(self.server.port)
            .username("postgres")
            .password(&self.password)
            .database("postgres")
    }

    /// URL of a superuser.
    pub fn admin_url(&self) -> String {
        self.url("postgres")
    }

    /// URL of a superuser for a database.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres:{}@127.0.0.1:{}/{database}", self.password, self.server.port)
    }

    pub async fn stop(self) {
        // SIGINT: fast shutdown
        self.process.stop(Signal::SIGINT, Duration::from_secs(20)).await;
    }
}

impl Server {
    fn append(&self) -> anyhow::Result<std::fs::File> {
        Ok(std::fs::OpenOptions::new().append(true).create(true).open(&self.log)?)
    }

    fn spawn(&self, log: std::fs::File) -> anyhow::Result<Running> {
        let mut command = process::command(&self.program, Signal::SIGINT);
        process::unprivileged(&mut command, self.user);
        command
            .arg("-D")
            .arg(self.folder.join(DATA))
            .args(["-p", &self.port.to_string()])
            .args(["-c", "listen_addresses=127.0.0.1", "-c", "shared_buffers=64MB"])
            .args(["-c", &format!("max_connections={}", self.max_connections)])
            .args(["-c", &format!("fsync={}", if self.fsync { "on" } else { "off" })])
            .args(if self.fsync { [].as_slice() } else { &UNSAFE })
            // TCP only: the path of a socket would be too long in some folders
            .args(["-c", "unix_socket_directories="])
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        Running::spawn("postgres", command)
    }
}

async fn initialize(
    options: &Options<'_>,
    folder: &Path,
    data: &Path,
    user: Option<(Uid, Gid)>,
) -> anyhow::Result<()> {
    // renamed when complete: an interrupted initdb leaves no data folder
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
        // In clear text, as only this machine connects: SCRAM took nearly half of the CPU time of a test,
        // whose code is not optimized. Servers of a test run store no SCRAM verifier either, which Postgres
        // computes at each connection.
        .arg(if options.fsync { "--auth=password" } else { "--auth=md5" })
        .args(["-U", "postgres", "--encoding=UTF8", "--locale=C", "--no-sync"])
        .arg("--pwfile")
        .arg(&password)
        .current_dir(folder);
    let done = process::run("initdb", initdb).await;
    std::fs::remove_file(&password)?;
    done?;
    Ok(std::fs::rename(&made, data)?)
}

/// Stops a server that a killed command left running on the data of this folder, and waits for the processes
/// of a server that was killed: Postgres does not start while either exists.
pub async fn end_leftover(wanted: &Path) -> anyhow::Result<()> {
    let folder = elsewhere(wanted).unwrap_or_else(|| wanted.to_owned());
    let Ok(data) = folder.join(DATA).canonicalize() else { return Ok(()) };
    let server = server_of(&data).filter(|&pid| may_be_postgres(pid));
    if let Some(pid) = server {
        match kill(pid, Signal::SIGINT) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(error) => return Err(error).context("cannot stop the leftover Postgres"),
        }
    }
    let is_left = || server.is_some_and(may_be_postgres) || is_worked_in(&data);
    if is_left() {
        println!("waiting for the Postgres of the last `up` to end");
    }
    process::until("the leftover Postgres ends", SLOW, async || Ok(!is_left())).await
}

/// Process id of the server that runs on the data of this folder.
pub fn running(wanted: &Path) -> Option<Pid> {
    let folder = elsewhere(wanted).unwrap_or_else(|| wanted.to_owned());
    server_of(&folder.join(DATA)).filter(|&pid| may_be_postgres(pid))
}

/// Process id of the server that runs on the data, or ran before it was killed.
fn server_of(data: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(data.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok().map(Pid::from_raw)
}

/// Whether the data is the working folder of a process, as for every process of a server. Linux only.
fn is_worked_in(data: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    processes.into_iter().any(|process| process.path().join("cwd").read_link().is_ok_and(|cwd| cwd == data))
}

/// Whether the process exists and may be a Postgres. A process that is ending has no command line, and still keeps
/// Postgres from starting.
fn may_be_postgres(pid: Pid) -> bool {
    let exists = kill(pid, None) != Err(Errno::ESRCH);
    let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    exists && (command.is_empty() || command.contains("postgres"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn waits_for_a_server_that_is_ending() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(DATA);
        std::fs::create_dir(&data).unwrap();
        let mut ending = std::process::Command::new("true").spawn().unwrap();
        let pid = ending.id();
        std::fs::write(data.join("postmaster.pid"), format!("{pid}\n/data\n")).unwrap();
        let is_zombie = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ");
        process::until("the process is a zombie", Duration::from_secs(5), async || Ok(is_zombie()))
            .await
            .unwrap();

        let mut waits = Box::pin(end_leftover(folder.path()));
        assert!(futures::poll!(&mut waits).is_pending(), "did not wait for the ending server");
        ending.wait().unwrap();
        waits.await.unwrap();
    }

    #[tokio::test]
    async fn waits_for_processes_of_a_killed_server() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join(DATA);
        std::fs::create_dir(&data).unwrap();
        let mut left = std::process::Command::new("sleep").arg("1000").current_dir(&data).spawn().unwrap();

        let mut waits = Box::pin(end_leftover(folder.path()));
        assert!(futures::poll!(&mut waits).is_pending(), "did not wait for the leftover process");
        left.kill().unwrap();
        left.wait().unwrap();
        waits.await.unwrap();
    }
}
