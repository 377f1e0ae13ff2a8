//! Instances that stop when they are idle: watched, announced, and stopped unless they are used or the stop
//! is postponed.
//!
//! - `reconcile`: evaluates an instance when it could have been idle for long enough.
//! - `report`: the connections that this replica carries; `http`: those of the gateway, and the request that
//!   postpones a stop.
//! - `store`: SQL.
//!
//! `docs/adr/0019-idle-stop.md` has the reasons.

mod http;
mod reconcile;
mod report;
mod store;

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;

use instances::instance::Apps;

pub(crate) use http::routes;
pub use reconcile::IdleStops;
pub use report::Reporter;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub apps: Arc<Apps>,
    pub clock: fn() -> Timestamp,
}
