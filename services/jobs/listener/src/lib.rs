//! The listener for workers: registrations, polls, progress and ends of attempts. A call proves the worker by its token, and names
//! the session and the attempt, which fence it.
//!
//! Nothing may enter that users call, and no rule of how attempts end: that is `attempts`.
//!
//! Slices, each of which imports only those before it:
//! - `metrics`; `register`: a process of a worker begins and ends, and says which models it has;
//! - `inputs`: what an attempt needs besides its parameters; `poll`: what a worker is to do next;
//! - `progress`: how far attempts are; `log`: what their programs have written; `join`: attempts that have several workers;
//!   `delivering`: those whose work is done, while the object store does not take the results;
//! - `http`: the calls of attempts; `app`: what the routes need.

mod app;
mod delivering;
mod http;
mod inputs;
mod join;
mod log;
mod metrics;
mod poll;
mod progress;
mod register;

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;
use jobs_core::scheduler::SchedulerConfig;
use records::{progress::Reports, rest::Rest};
use results::artifact;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

pub use app::{State, routes};
pub use delivering::sweep;
pub use metrics::AttemptMetrics;

/// What calls need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub artifact: artifact::Parts,
    pub scheduler: SchedulerConfig,
    /// Progress of attempts.
    pub reports: Reports,
    pub metrics: AttemptMetrics,
    pub rest: Arc<Rest>,
    pub clock: fn() -> Timestamp,
    /// Wakes the schedulers of this process before they look by themselves.
    pub submitted: watch::Sender<()>,
    /// Wakes the open polls of workers in this process.
    pub assigned: watch::Sender<()>,
    /// Ends open polls: the shutdown of the process.
    pub stop: CancellationToken,
}
