//! The controller: watches fill a cache and a queue, the leader reconciles what is queued.
//!
//! Every replica watches, so that a new leader starts with a warm cache. Only the leader writes.

mod apply;
mod cache;
pub mod election;
mod metrics;
mod queue;
mod reconcile;
mod replica;
mod system;
mod watch;

pub use apply::{Hook, Step, Verdict};
pub use metrics::Metrics;
pub use replica::{Options, Replica, Units};
pub use system::install;
