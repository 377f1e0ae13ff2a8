//! The hold-back: the number of free units in a datacenter that interruptible claims do not get, so that most other
//! claims find a free one. It is a forecast from earlier claims.

pub(crate) mod reconcile;
mod store;

pub use reconcile::{PERIOD, forecast};
