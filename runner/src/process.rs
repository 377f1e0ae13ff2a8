//! The engine: a program that is restarted when it ends, and killed when it hangs. It does not outlive the runner.

use std::{ffi::OsString, path::PathBuf, process::Stdio, time::Duration};

use tokio::{
    process::Command,
    sync::watch,
    time::{Instant, sleep, timeout},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::{child, supervisor};

/// Pause before a process that has ended is started again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// A process that has run for this long is started again after the first pause.
const SETTLED: Duration = Duration::from_secs(60);
/// Time to end in an orderly way.
const GRACE: Duration = Duration::from_secs(5);

/// The program of the engine.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path, or a name that is looked up in `PATH`.
    pub path: PathBuf,
    /// Arguments.
    pub args: Vec<OsString>,
}

/// The processes of the program, one after another. They end when this is dropped.
pub(crate) struct Engine {
    /// Number of the process to kill.
    kill: watch::Sender<u64>,
    /// Number of processes that have ended.
    ended: watch::Receiver<u64>,
    stop: DropGuard,
}

impl Engine {
    /// Starts the program.
    pub(crate) fn start(program: Program) -> Self {
        let (kill, killed) = watch::channel(0);
        let (ended_sender, ended) = watch::channel(0);
        let stop = CancellationToken::new();
        tokio::spawn(keep(program, killed, ended_sender, stop.clone()));
        Self { kill, ended, stop: stop.drop_guard() }
    }

    /// Follows the number of processes that have ended.
    pub(crate) fn ended(&self) -> watch::Receiver<u64> {
        self.ended.clone()
    }

    /// Kills the running process, and waits until it has ended.
    pub(crate) async fn kill(&self) {
        let mut ended = self.ended.clone();
        let number = *ended.borrow_and_update();
        self.kill.send_replace(number + 1);
        let _ = ended.wait_for(|ended| *ended > number).await;
    }

    /// Ends the running process, and starts no other.
    pub(crate) async fn stop(self) {
        let mut ended = self.ended.clone();
        drop(self.stop);
        // the sender ends with the task
        while ended.changed().await.is_ok() {}
    }
}

async fn keep(
    program: Program,
    mut killed: watch::Receiver<u64>,
    ended: watch::Sender<u64>,
    stop: CancellationToken,
) {
    let mut pause = PAUSES.0;
    for number in 1.. {
        let begun = Instant::now();
        let how = match spawn(&program) {
            Ok(mut process) => tokio::select! {
                how = process.wait() => how.map_or_else(|error| error.to_string(), |status| status.to_string()),
                () = kill_of(&mut killed, number) => {
                    let _ = process.kill().await;
                    "killed".to_owned()
                }
                () = stop.cancelled() => {
                    process.signal(supervisor::TERMINATE_GROUP);
                    let _ = timeout(GRACE, process.wait()).await;
                    let _ = process.kill().await;
                    return;
                }
            },
            Err(error) => error.to_string(),
        };
        tracing::warn!(how, "the engine has ended");
        ended.send_replace(number);
        if begun.elapsed() >= SETTLED {
            pause = PAUSES.0;
        }
        if stop.run_until_cancelled(sleep(pause)).await.is_none() {
            return;
        }
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Waits for the request to kill this process.
async fn kill_of(killed: &mut watch::Receiver<u64>, number: u64) {
    if killed.wait_for(|killed| *killed == number).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn spawn(program: &Program) -> std::io::Result<child::Program> {
    let mut command = Command::new(&program.path);
    command.args(&program.args).stdin(Stdio::null());
    // the token of the worker is not for the engine
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"ATELIER_") {
            command.env_remove(name);
        }
    }
    child::Program::spawn(&mut command)
}
