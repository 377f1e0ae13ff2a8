//! Additions and removals of stock as operations: how far their units are, and how they end. The work itself is
//! done by the reconciler of units; it reports each unit's step here.

pub(crate) mod http;
mod limit;
mod model;
pub(crate) mod settle;
pub(crate) mod store;

pub(crate) use limit::check_open;
pub use model::{ChangeKind, FailedUnit, StockProgress};
