//! The full comparison of a cluster with its units, in both directions. Each repair shows that a watch, a worker or a
//! person has missed a change.

mod model;
pub(crate) mod reconcile;
mod store;
