//! How many free units interruptible claims leave in a datacenter, so that most other claims find an empty one: a forecast from
//! the claims of the past.

pub(crate) mod reconcile;
mod store;

pub use reconcile::{PERIOD, forecast};
