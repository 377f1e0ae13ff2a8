//! Pools: workers of one kind with one scheduler. Administrators create them.

mod changes;
mod http;
mod model;
mod store;
mod tenant_http;

use db::Db;

pub use changes::{Changed, PoolChange, publish, publish_to_all};
pub(crate) use http::routes;
pub use store::{ForJobs, find, find_for_jobs, find_for_update, find_others, is_usable};

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// Whether the platform runs workers.
    pub runs_workers: bool,
    /// Whether GPUs are lent to pools.
    pub lends: bool,
}
