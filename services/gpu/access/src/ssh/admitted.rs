//! An admitted connection.

use std::sync::atomic::{AtomicI32, Ordering};

use activity::Open;
use ids::SshSessionId;
use tokio::sync::watch;

use super::{end::End, limit::Slot, metrics::Kind, right::Right, store::Counts};

pub(super) struct Admitted {
    pub(super) id: SshSessionId,
    pub(super) right: Right,
    /// Why the connection has to end, once that is known.
    pub(super) end: watch::Sender<Option<End>>,
    /// Changes with each byte in either direction.
    active: watch::Sender<()>,
    shells: AtomicI32,
    commands: AtomicI32,
    sftp: AtomicI32,
    forwards: AtomicI32,
    _slot: Slot,
    _open: Open,
}

impl Admitted {
    pub(super) fn new(right: Right, slot: Slot, open: Open) -> Self {
        Self {
            id: SshSessionId::new(),
            right,
            end: watch::Sender::new(None),
            active: watch::Sender::new(()),
            shells: AtomicI32::default(),
            commands: AtomicI32::default(),
            sftp: AtomicI32::default(),
            forwards: AtomicI32::default(),
            _slot: slot,
            _open: open,
        }
    }

    pub(super) fn count(&self, kind: Kind) {
        let counter = match kind {
            Kind::Shell => &self.shells,
            Kind::Command => &self.commands,
            Kind::Sftp => &self.sftp,
            Kind::Forward => &self.forwards,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        Counts {
            shells: self.shells.load(Ordering::Relaxed),
            commands: self.commands.load(Ordering::Relaxed),
            sftp: self.sftp.load(Ordering::Relaxed),
            forwards: self.forwards.load(Ordering::Relaxed),
        }
    }

    /// Something was sent or received: the connection is not idle.
    pub(super) fn touch(&self) {
        self.active.send_replace(());
    }

    pub(super) fn activity(&self) -> watch::Receiver<()> {
        self.active.subscribe()
    }
}
