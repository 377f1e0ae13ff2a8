//! The operator at work: watches feed a cache and a queue, workers of the leader decide and apply.
//!
//! Every replica watches, so that a new leader starts with a warm cache; only the leader writes.

mod apply;
mod cache;
pub mod leader;
mod metrics;
mod operator;
mod queue;
mod reconcile;
mod system;
mod watch;

pub use apply::{Hook, Step, Verdict};
pub use metrics::Metrics;
pub use operator::{Operator, Options, Units};
pub use system::install;
