//! Restarts processes that end, with backoff.

use std::{process::Stdio, rc::Rc, time::Duration};

use futures::future::select_all;
use machine::{control::Control, process::Running};
use nix::sys::signal::Signal;
use tokio::{
    process::Command,
    signal::unix::{SignalKind, signal},
};

/// The backoff grows from 0.1 s to this.
const LONGEST_BACKOFF: Duration = Duration::from_secs(10);

/// A process that is restarted when it ends.
pub(crate) struct Supervised {
    name: &'static str,
    command: Box<dyn Fn() -> anyhow::Result<Command>>,
    running: Option<Running>,
    backoff: Duration,
    control: Rc<Control>,
}

impl Supervised {
    /// Starts the process.
    pub(crate) fn start(
        name: &'static str,
        command: impl Fn() -> anyhow::Result<Command> + 'static,
    ) -> anyhow::Result<Self> {
        let running = Running::spawn(name, command()?)?;
        let control = Rc::<Control>::default();
        control.runs(Some(running.pid()));
        let backoff = Duration::from_millis(100);
        Ok(Self { name, command: Box::new(command), running: Some(running), backoff, control })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn control(&self) -> Rc<Control> {
        Rc::clone(&self.control)
    }

    /// The process, unless it is waiting for its restart.
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
                self.control.runs(None);
                println!("  {} ended ({how}); restarting it", self.name);
                if begun.elapsed() > LONGEST_BACKOFF {
                    self.backoff = Duration::from_millis(100);
                }
            }
            tokio::time::sleep(self.backoff).await;
            self.backoff = (self.backoff * 2).min(LONGEST_BACKOFF);
            self.control.released().await;
            let command = (self.command)().and_then(|command| self.control.adjust(command));
            match command.and_then(|command| Running::spawn(self.name, command)) {
                Ok(running) => {
                    self.control.runs(Some(running.pid()));
                    self.running = Some(running);
                }
                Err(error) => println!("  cannot start {}: {error:#}", self.name),
            }
        }
    }
}

/// Restarts whichever ends, as long as it is polled.
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
