//! Additions and removals of stock as operations: the progress of their units, and their end. The work itself is done
//! by the reconciler of units, which reports each unit's step here; [`crate::settle`] ends them.

pub(crate) mod http;
mod limit;
pub(crate) mod model;
pub(crate) mod store;

pub(crate) use limit::check_open;
pub use model::{ChangeKind, FailedUnit, StockProgress};
