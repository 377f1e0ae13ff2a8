//! Keeping processes up: what ends is started again, with growing pauses.

use std::{process::Stdio, time::Duration};

use futures::future::select_all;
use nix::sys::signal::Signal;
use tokio::{
    process::Command,
    signal::unix::{SignalKind, signal},
};

use crate::process::Running;

/// Pauses before a process is started again: 0.1 s, 0.2 s … 10 s.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// A process that is to be up.
pub(crate) struct Supervised {
    name: &'static str,
    command: Box<dyn Fn() -> anyhow::Result<Command>>,
    running: Option<Running>,
    pause: Duration,
}

impl Supervised {
    /// Starts it.
    pub(crate) fn start(
        name: &'static str,
        command: impl Fn() -> anyhow::Result<Command> + 'static,
    ) -> anyhow::Result<Self> {
        let running = Running::spawn(name, command()?)?;
        let pause = Duration::from_millis(100);
        Ok(Self { name, command: Box::new(command), running: Some(running), pause })
    }

    /// Its process, if it lives.
    pub(crate) fn running(&mut self) -> Option<&mut Running> {
        self.running.as_mut()
    }

    pub(crate) async fn stop(self) {
        if let Some(running) = self.running {
            running.stop(Signal::SIGTERM, Duration::from_secs(25)).await;
        }
    }

    async fn keep_up(&mut self) {
        loop {
            if let Some(running) = &mut self.running {
                let begun = tokio::time::Instant::now();
                let how = running.ended().await;
                self.running = None;
                println!("  {} has ended ({how}) and is started again", self.name);
                if begun.elapsed() > LONGEST_PAUSE {
                    self.pause = Duration::from_millis(100);
                }
            }
            tokio::time::sleep(self.pause).await;
            self.pause = (self.pause * 2).min(LONGEST_PAUSE);
            match (self.command)().and_then(|command| Running::spawn(self.name, command)) {
                Ok(running) => self.running = Some(running),
                Err(error) => println!("  {} does not start: {error:#}", self.name),
            }
        }
    }
}

/// Keeps all of them up, for as long as it is polled.
pub(crate) async fn keep_up(all: &mut [Supervised]) {
    let each = all.iter_mut().map(|one| Box::pin(one.keep_up()));
    select_all(each).await;
}

/// Resolves at the first SIGINT or SIGTERM.
pub(crate) fn interrupted() -> anyhow::Result<impl Future<Output = ()>> {
    let (mut int, mut term) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = int.recv() => {}
            _ = term.recv() => {}
        }
    })
}

/// A command whose output goes to a log file.
pub(crate) fn logged(mut command: Command, log: &std::path::Path) -> anyhow::Result<Command> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(log)?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    Ok(command)
}
