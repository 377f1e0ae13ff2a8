//! Kills processes that a killed predecessor of this process left running. Each pod records its process group and start
//! time, so that a reused process id is not killed.

use super::process::signal_group;
use nix::sys::signal::Signal;
use std::fs;
use std::path::Path;

/// The start time of a process, in ticks; `None` if it does not exist.
pub(crate) fn start_time(pid: i32) -> Option<u64> {
    if cfg!(target_os = "linux") {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let after = stat.rsplit_once(')')?.1;
        return after.split_whitespace().nth(19)?.parse().ok();
    }
    let out =
        std::process::Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    (!text.is_empty()).then(|| hasher.finish())
}

/// Records the process of a pod.
pub(crate) fn record(home: &Path, pid: i32) {
    let line = format!("{pid} {}\n", start_time(pid).unwrap_or(0));
    if let Err(error) = fs::write(home.join("process"), line) {
        tracing::warn!(%error, "cannot record process; it would survive a kill of the cluster");
    }
}

/// The recorded process of a pod, if it still exists.
pub(crate) fn recorded(home: &Path) -> Option<i32> {
    let (pid, started) = read(home)?;
    (start_time(pid) == Some(started)).then_some(pid)
}

fn read(home: &Path) -> Option<(i32, u64)> {
    let text = fs::read_to_string(home.join("process")).ok()?;
    let mut words = text.split_whitespace();
    Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
}

pub(crate) fn forget(home: &Path) {
    // it may not exist
    let _ = fs::remove_file(home.join("process"));
}

/// Kills all recorded processes.
pub(crate) fn reap(pods: &Path) {
    for entry in fs::read_dir(pods).into_iter().flatten().flatten() {
        let home = entry.path();
        let Some((pid, started)) = read(&home) else { continue };
        if start_time(pid) == Some(started) || group_survives(pid, started) {
            tracing::info!(pid, "killing a process of a previous run");
            signal_group(pid, Signal::SIGKILL);
        }
        forget(&home);
    }
}

/// Whether the group has members that started after its leader, which is gone.
fn group_survives(group: i32, since: u64) -> bool {
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some((_, after)) = stat.rsplit_once(')') else { continue };
        let fields: Vec<&str> = after.split_whitespace().collect();
        let pgrp = fields.get(2).and_then(|f| f.parse::<i32>().ok());
        let started = fields.get(19).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
        let pid: Option<i32> = entry.file_name().to_str().and_then(|n| n.parse().ok());
        if pgrp == Some(group) && pid != Some(group) && started >= since {
            return true;
        }
    }
    false
}
