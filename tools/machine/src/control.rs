//! Control of a supervised process, for drills: signals, a hold that keeps it from being restarted, and a changed
//! environment.

use std::cell::{Cell, RefCell};

use nix::unistd::Pid;
use tokio::{process::Command, sync::watch};

/// Control of one process.
#[derive(Debug)]
pub struct Control {
    pid: Cell<Option<Pid>>,
    held: watch::Sender<bool>,
    changes: RefCell<Changes>,
}

/// Changes of the next process.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Environment variables.
    pub variables: Vec<(&'static str, String)>,
    /// The log is on a full disk.
    pub log_is_full: bool,
}

impl Default for Control {
    fn default() -> Self {
        Self { pid: Cell::default(), held: watch::Sender::new(false), changes: RefCell::default() }
    }
}

impl Control {
    /// The process, unless it waits for its restart.
    pub fn pid(&self) -> Option<Pid> {
        self.pid.get()
    }

    pub fn runs(&self, pid: Option<Pid>) {
        self.pid.set(pid);
    }

    /// Keeps the process from being restarted, or no longer does.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }

    /// Waits until the process may be restarted.
    pub async fn released(&self) {
        // the sender is this
        let _ = self.held.subscribe().wait_for(|held| !held).await;
    }

    /// Changes the next process.
    pub fn change(&self, changes: Changes) {
        *self.changes.borrow_mut() = changes;
    }

    pub fn adjust(&self, mut command: Command) -> anyhow::Result<Command> {
        let changes = self.changes.borrow();
        for (name, value) in &changes.variables {
            command.env(name, value);
        }
        if changes.log_is_full {
            let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
            command.stdout(full.try_clone()?).stderr(full);
        }
        Ok(command)
    }
}
