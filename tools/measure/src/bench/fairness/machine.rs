//! The part of a neighbour's load that the machine causes: processes that use as much CPU time as the platform uses for
//! the other tenant, and nothing else. No order of requests can remove their effect on the victim.

use std::{
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use machine::process;
use nix::sys::signal::Signal;

/// CPU time that is used at a stretch: about as much as a request takes.
const BURST: Duration = Duration::from_millis(2);

/// Starts a process that uses this number of CPUs for this number of seconds, with the priority of the platform.
pub(super) async fn start(cpus: f64, seconds: u64) -> anyhow::Result<()> {
    let mut command = process::command(std::env::current_exe()?, Signal::SIGKILL);
    command.args(["bench", "fairness", "--built", "--", "--burn", &cpus.to_string()]);
    command.args(["--seconds", &seconds.to_string()]).kill_on_drop(true).stdout(Stdio::null());
    ensure!(command.status().await?.success(), "the load of the machine failed");
    Ok(())
}

/// Uses this number of CPUs, each by the same part.
pub(super) fn burn(cpus: f64, seconds: u64) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let part = cpus / f64::from(u32::try_from(threads).unwrap_or(u32::MAX));
    let end = Instant::now() + Duration::from_secs(seconds);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| burn_one(part, end));
        }
    });
}

fn burn_one(part: f64, end: Instant) {
    let (begun, mut used) = (Instant::now(), Duration::ZERO);
    while Instant::now() < end {
        let burst = Instant::now();
        while burst.elapsed() < BURST {
            std::hint::spin_loop();
        }
        used += BURST;
        // a thread that had to wait for its CPU is behind, and pauses less
        let due = used.div_f64(part.clamp(0.01, 1.0));
        thread::sleep(due.saturating_sub(begun.elapsed()));
    }
}
