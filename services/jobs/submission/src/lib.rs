//! Requests of tenants: submit, change and cancel jobs, quotes, and why jobs wait. Each request runs in one
//! transaction; `gather` lets submissions of a tenant share one.
//!
//! REST and `mq` meet here, in [`submit_all`]. Nothing may enter that knows which of the two a job comes by, nor what carries jobs
//! out: `dispatch`, `attempts`.
//!
//! Slices, each of which imports only those before it:
//! - `request`: what tenants ask for, as JSON; `error`: why jobs are not submitted; `reply`: answers that are a job;
//! - `number`: request numbers; `open`: how many open jobs a tenant has; `inputs`: whether what a job names is there;
//! - `cost_range`: what a job is expected to cost; `elsewhere`: where else it could run; `explanation`: why it waits;
//! - `change`: to submit, change and cancel; `gather`: submissions that share a transaction; `quote`: when a job would start and
//!   end, and its cost;
//! - `http`: jobs over HTTP; `app`: what the routes need.

mod app;
mod change;
mod cost_range;
mod elsewhere;
mod error;
mod explanation;
mod gather;
mod http;
mod inputs;
mod number;
mod open;
mod quote;
mod reply;
mod request;

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;
use records::progress::Reports;
use results::artifact;
use tokio::sync::watch;
use views::view::Views;

pub use app::{State, routes};
pub use change::{Submitted, cancel_open, submit_all};
pub use error::Refused;
pub use gather::{Groups, Submissions};
pub use inputs::confirm as confirm_inputs;
pub use number::numbered;
pub use open::OpenJobs;
pub use request::NewJob;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub artifact: artifact::Parts,
    pub open_jobs: Arc<OpenJobs>,
    pub submissions: Submissions,
    /// Progress of attempts.
    pub reports: Reports,
    pub views: Views,
    pub clock: fn() -> Timestamp,
    /// Wakes the schedulers of this process before they look by themselves.
    pub submitted: watch::Sender<()>,
    /// Wakes the open polls of workers in this process.
    pub assigned: watch::Sender<()>,
}
