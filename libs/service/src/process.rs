//! What a process has once: metrics, an orderly end, supervised workers.

use std::time::Duration;

use crate::{Metrics, Shutdown, Workers};

/// The parts that a service's wiring needs from its process. Clones share them.
#[derive(Clone)]
pub struct Process {
    /// The registry behind `/metrics`.
    pub metrics: Metrics,
    /// The orderly end.
    pub shutdown: Shutdown,
    /// Background tasks.
    pub workers: Workers,
}

impl Process {
    /// A process that ends with `shutdown`.
    #[must_use]
    pub fn new(shutdown: Shutdown) -> Self {
        let metrics = Metrics::default();
        let workers = Workers::new(&shutdown, &metrics);
        Self { metrics, shutdown, workers }
    }

    /// A process that ends on SIGTERM or SIGINT.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn on_signal() -> anyhow::Result<Self> {
        Self::draining(Duration::ZERO)
    }

    /// As [`Self::on_signal`], but serves for `drain` after the signal, in which it is not ready.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn draining(drain: Duration) -> anyhow::Result<Self> {
        Ok(Self::new(Shutdown::on_signal(drain)?))
    }
}

impl Default for Process {
    /// A process that ends when its `shutdown` begins, for tests.
    fn default() -> Self {
        Self::new(Shutdown::default())
    }
}
