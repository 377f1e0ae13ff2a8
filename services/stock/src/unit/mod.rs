//! Units of stock: their states, their objects in the clusters, and what the clusters report.
//!
//! Postgres holds the desired state, the cluster the actual state. Requests only record the desired state;
//! [`reconcile`] creates and deletes objects, [`watch`] records what the cluster reports, and the comparison repairs
//! what both have missed.

pub(crate) mod cluster_store;
pub(crate) mod http;
mod model;
pub(crate) mod object;
pub(crate) mod reconcile;
mod removal;
pub(crate) mod store;
pub(crate) mod watch;

pub use model::{Holder, PastHolder, StockUnit, StockUnitDetail, UnitState, UnitStatus};
