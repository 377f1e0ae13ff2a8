//! Workers that the platform runs itself: as many instances of a pool's tenant as the queue needs.
//!
//! A row of a worker is written before its instance is ordered, and deleted after it: so each instance has a
//! row, even after a crash. Each replica runs the rounds of [`reconcile`]; row locks let only one replica at
//! a time decide about a pool.

mod config;
mod follow;
mod rank;
mod reconcile;
mod store;

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;
use jobs_core::scheduler::SchedulerConfig;

pub use config::FleetConfig;
pub use follow::follow;
pub use reconcile::Fleets;
pub use store::{set_ranks, set_wanted};

/// What the rounds need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// None if the platform runs no workers.
    pub config: Option<Arc<FleetConfig>>,
    /// As [`Self::config`].
    pub gpu: Option<gpu_api::Client>,
    /// None if the configuration does not name it.
    pub stock: Option<stock_api::Client>,
    pub scheduler: SchedulerConfig,
    pub clock: fn() -> Timestamp,
}
