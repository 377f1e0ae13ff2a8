//! Instances that stop when they are idle: watched, announced, and stopped unless they are used or the stop is put off.
//!
//! - `model`: whether an instance is idle, and what follows. Pure.
//! - `reconcile`: judges an instance when it could have been idle for long enough.
//! - `report`: the connections that this replica carries; `http`: those of the gateway, and the call that puts a stop off.
//! - `store`: SQL.
//!
//! `docs/adr/0019-idle-stop.md` has the reasons.

mod http;
mod model;
mod reconcile;
mod report;
pub(crate) mod store;

pub(crate) use http::routes;
pub(crate) use reconcile::IdleStops;
pub(crate) use report::Reporter;
