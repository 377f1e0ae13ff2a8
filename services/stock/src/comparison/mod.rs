//! The full comparison of a cluster with its units, in both directions. Whatever it repairs, a watch, a worker or a
//! person has missed.

mod model;
pub(crate) mod reconcile;
pub(crate) mod store;
