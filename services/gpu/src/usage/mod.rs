//! The meter: intervals of confirmed running, and what they cost.

mod http;
mod model;
pub(crate) mod store;

pub(crate) use http::routes;
pub use model::{EndReason, EndedRun, Meter, Metering, RunKey, amount};
pub(crate) use store::Billing;
