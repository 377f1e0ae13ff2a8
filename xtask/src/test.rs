//! `cargo xtask test`: all tests, on what is real: a Postgres and a Ceph RGW started for this run.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::bail;
use nix::{
    errno::Errno,
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use crate::{
    packages::{self, Consent},
    postgres::{Options, Postgres},
    process::{self, Running},
    rgw::Rgw,
};

/// More than the files of a run come to, in bytes.
#[cfg(target_os = "linux")]
const SCRATCH: u64 = 4 << 30;

/// How the folder of a run is called, before the process id.
const FOLDER: &str = "atelier-test-";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Install what is missing without asking
    #[arg(long)]
    yes: bool,
    /// Run the cluster cases against the cluster of KUBECONFIG instead of the development cluster
    #[arg(long)]
    cluster: bool,
    /// Passed on to cargo nextest (a filter, say)
    #[arg(last = true)]
    nextest: Vec<String>,
}

pub(crate) async fn run(args: Args) -> anyhow::Result<()> {
    let consent = Consent { given: args.yes || std::env::var_os("CI").is_some() };
    let scratch = scratch();
    sweep(&scratch)?;
    let folder = scratch.join(format!("{FOLDER}{}", std::process::id()));
    let bin = packages::postgres(consent, &folder.join("download")).await?;
    packages::ceph(consent).await?;

    let mut cargo = process::command("cargo", Signal::SIGINT);
    cargo.current_dir(crate::root()).args(["nextest", "run", "--no-fail-fast"]);
    if args.cluster {
        let Some(kubeconfig) = std::env::var_os("KUBECONFIG") else {
            bail!("--cluster needs KUBECONFIG");
        };
        cargo.env("TEST_KUBECONFIG", PathBuf::from(kubeconfig));
        cargo.args(["--package", "atelier-operator", "--test", "it", "--test-threads", "1"]);
    } else {
        cargo.arg("--workspace");
    }
    cargo.args(&args.nextest);
    // built first, so that the servers do not wait for the compiler
    crate::build::programs().await?;

    let begun = Instant::now();
    std::fs::create_dir_all(folder.join("tmp"))?;
    world_readable(&folder)?;
    let port = process::free_port()?;
    let options = Options {
        bin: &bin,
        data: folder.join("postgres"),
        port,
        password: "test",
        fsync: false,
        max_connections: 500,
    };
    let postgres = Postgres::start(&options).await?;
    let rgw = Rgw::start(&folder.join("ceph")).await?;
    println!("Postgres and Ceph RGW are up ({:.1} s)", begun.elapsed().as_secs_f64());
    cargo
        .env("TMPDIR", folder.join("tmp"))
        .env("TEST_POSTGRES", postgres.admin_url())
        .env("TEST_POSTGRES_BIN", &bin)
        .env("RGW_ENDPOINT", &rgw.endpoint)
        .env("RGW_ACCESS_KEY", &rgw.access_key)
        .env("RGW_SECRET_KEY", &rgw.secret_key);
    let mut tests = Running::spawn("cargo nextest", cargo)?;
    let ended = tokio::select! {
        ended = tests.ended() => Some(ended),
        _ = tokio::signal::ctrl_c() => None,
    };
    if ended.is_none() {
        tests.stop(Signal::SIGINT, std::time::Duration::from_secs(10)).await;
    }
    rgw.stop().await;
    postgres.stop().await;
    crate::postgres::remove(&folder.join("postgres"))?;
    std::fs::remove_dir_all(&folder)?;
    match ended.as_deref() {
        Some("exit status: 0") => Ok(()),
        Some(other) => bail!("the tests did not pass ({other})"),
        None => bail!("interrupted"),
    }
}

/// Where a run keeps its files: in memory, where the system has room for them there. Ceph's monitor and many a
/// test wait for each write to be on the disk, and a disk may have much else to do.
fn scratch() -> PathBuf {
    #[cfg(target_os = "linux")]
    if let Ok(memory) = nix::sys::statvfs::statvfs("/dev/shm")
        && memory.blocks_available() * memory.fragment_size() >= SCRATCH
    {
        return PathBuf::from("/dev/shm");
    }
    std::env::temp_dir()
}

/// Removes what runs that were killed have left there, as far as that goes: it may be another user's, or be
/// removed by another run at the same time.
fn sweep(scratch: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(scratch)?.flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_prefix(FOLDER)).and_then(|pid| pid.parse().ok());
        if pid.is_some_and(|pid| kill(Pid::from_raw(pid), None) == Err(Errno::ESRCH)) {
            let _ = crate::postgres::remove(&entry.path().join("postgres"));
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// Postgres may run as another user, who must reach its folder.
fn world_readable(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_and_cannot_be_removed_does_not_stop_a_run() {
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        let name = format!("{FOLDER}{}", ended.id());
        ended.wait().unwrap();
        let scratch = tempfile::tempdir().unwrap();
        // as good as a folder of another user's: it is not removed like one of ours
        std::fs::write(scratch.path().join(&name), "").unwrap();
        sweep(scratch.path()).unwrap();

        std::fs::remove_file(scratch.path().join(&name)).unwrap();
        std::fs::create_dir_all(scratch.path().join(&name).join("postgres/data")).unwrap();
        sweep(scratch.path()).unwrap();
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
