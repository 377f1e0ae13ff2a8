//! Quotas: what a tenant may use at a time, checked in the transaction that adds to it.

mod check;
mod http;
mod store;

pub use check::{check, check_own_images, problem, quote};
pub(crate) use check::{cost_added, cost_used};
pub(crate) use http::routes;
pub(crate) use store::lock_use;
