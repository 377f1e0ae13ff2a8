//! Timeouts.

use std::time::Duration;

/// Timeouts. An engine that exceeds one hangs: its attempt fails, and its process is killed.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Time to start, or to load a model before the first step (10 minutes).
    pub start: Duration,
    /// Time between two steps (60 s), unless steps usually take more than a fifth of it.
    pub step: Duration,
    /// Time to stop when it is interrupted (20 s).
    pub interrupt: Duration,
    /// How often the models are checked (20 s).
    pub models: Duration,
    /// Time for which transfers and results are repeated while the jobs service or the object store is away (15 minutes).
    pub away: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            start: seconds(600),
            step: seconds(60),
            interrupt: seconds(20),
            models: seconds(20),
            away: seconds(900),
        }
    }
}
