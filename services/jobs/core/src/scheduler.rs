//! Times of the scheduler, as they are configured.

use std::time::Duration;

use serde::Deserialize;

/// Times of the scheduler, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SchedulerConfig {
    /// How long the lease of a pool's scheduler lasts unless it is renewed. After a crash nothing is assigned for this
    /// long (default 3000).
    pub lease_ms: u32,
    /// How often the scheduler reads changes (default 100).
    pub poll_ms: u32,
    /// A worker that does not report for this long gets no new job (default 10000).
    pub silent_ms: u32,
    /// A worker that does not report for this long is lost, and its job is tried again (default 45000).
    pub lost_ms: u32,
    /// Time for an attempt to stop when it is told to; after that, the worker counts as lost (default 30000).
    pub leave_ms: u32,
    /// Delay before the second attempt of a job that has failed, three times as long before the third (default 5000).
    pub retry_ms: u32,
}

impl Default for SchedulerConfig {
    fn default() -> Self {
        Self {
            lease_ms: 3_000,
            poll_ms: 100,
            silent_ms: 10_000,
            lost_ms: 45_000,
            leave_ms: 30_000,
            retry_ms: 5_000,
        }
    }
}

impl SchedulerConfig {
    pub fn lease(&self) -> Duration {
        millis(self.lease_ms)
    }

    pub fn poll(&self) -> Duration {
        millis(self.poll_ms)
    }

    pub fn silent(&self) -> Duration {
        millis(self.silent_ms)
    }

    pub fn lost(&self) -> Duration {
        millis(self.lost_ms)
    }

    pub fn leave(&self) -> Duration {
        millis(self.leave_ms)
    }
}

fn millis(configured: u32) -> Duration {
    Duration::from_millis(configured.max(1).into())
}
