//! Child processes that do not outlive this one.

use std::{
    net::TcpListener,
    os::unix::process::CommandExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::{Gid, Pid, Uid},
};
use tokio::process::{Child, Command};

/// A command in its own process group: Ctrl-C reaches only this program, which stops its children in order. It
/// receives the signal `death` if this program dies first. Variables `ATELIER_…` configure this program and are not
/// passed on.
pub fn command(program: impl Into<PathBuf>, death: Signal) -> Command {
    prepare(std::process::Command::new(program.into()), death)
}

/// The same, for a command that was begun elsewhere.
pub fn prepare(mut command: std::process::Command, death: Signal) -> Command {
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"ATELIER_"))
    {
        command.env_remove(name);
    }
    command.process_group(0);
    #[cfg(target_os = "linux")]
    {
        let set = move || nix::sys::prctl::set_pdeathsig(death).map_err(std::io::Error::from);
        #[expect(unsafe_code, reason = "makes one system call between fork and exec")]
        unsafe {
            command.pre_exec(set);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = death;
    Command::from(command)
}

/// Runs the command as an unprivileged user, if this program runs as root.
pub fn unprivileged(command: &mut Command, user: Option<(Uid, Gid)>) {
    if let Some((uid, gid)) = user {
        command.uid(uid.as_raw()).gid(gid.as_raw());
    }
}

/// A running child.
#[derive(Debug)]
pub struct Running {
    pub name: &'static str,
    child: Child,
    pid: Pid,
}

impl Running {
    pub fn spawn(name: &'static str, mut command: Command) -> anyhow::Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot start {name}"))?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).context("a child without a pid")?;
        Ok(Self { name, child, pid: Pid::from_raw(pid) })
    }

    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Waits until it has ended. Returns its status as text.
    pub async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        }
    }

    /// Its status as text, if it has ended.
    pub fn has_ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(|status| status.to_string())
    }

    /// Sends `signal`, and SIGKILL after `grace`.
    pub async fn stop(mut self, signal: Signal, grace: Duration) {
        if self.has_ended().is_some() {
            return;
        }
        // it may have ended in between
        let _ = killpg(self.pid, signal);
        if tokio::time::timeout(grace, self.child.wait()).await.is_err() {
            let _ = killpg(self.pid, Signal::SIGKILL);
            let _ = self.child.wait().await;
        }
    }
}

/// A free port of 127.0.0.1 below the range of outgoing connections, so that none of these takes it before the
/// program does.
pub fn free_port() -> anyhow::Result<u16> {
    std::iter::repeat_with(|| rand::random_range(20_000..30_000))
        .take(100)
        .find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        .context("no port of 127.0.0.1 is free")
}

/// Runs a command to its end. Its output is shown only if it fails. Dropping the future kills it.
pub async fn run(what: &str, mut command: Command) -> anyhow::Result<()> {
    command.kill_on_drop(true);
    let output = command.output().await.with_context(|| format!("cannot run {what}"))?;
    if !output.status.success() {
        bail!(
            "{what} failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// Returns the processes whose command line contains this text.
pub fn with_command_line(text: &str) -> anyhow::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        // one that has ended in between
        let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
        if String::from_utf8_lossy(&line).contains(text) {
            found.push(Pid::from_raw(pid));
        }
    }
    Ok(found)
}

/// Polls `done` until it returns true.
///
/// # Errors
/// After `limit`, or the first error of `done`.
pub async fn until(
    what: &str,
    limit: Duration,
    mut done: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !done().await? {
        if begun.elapsed() > limit {
            bail!("timed out after {} s: {what}", limit.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

/// Proportional set size of a process, in bytes. Linux only.
pub fn memory(pid: Pid) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let line = text.lines().find(|line| line.starts_with("Pss:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

/// The children of a process. Linux only.
pub fn children(pid: Pid) -> Vec<Pid> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}

/// CPU time that a process has used, with that of its children that have ended. Linux only.
pub fn cpu_time(pid: Pid) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // its name may contain anything
    let (_, fields) = text.rsplit_once(')')?;
    let ticks: Vec<u64> = fields.split_whitespace().skip(11).take(4).filter_map(|n| n.parse().ok()).collect();
    (ticks.len() == 4).then(|| Duration::from_millis(10 * ticks.iter().sum::<u64>()))
}
