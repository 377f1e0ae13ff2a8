//! Quotas: what a tenant may use at a time, checked in the transaction that adds to it.

mod check;
mod http;
mod model;
mod store;

pub(crate) use check::{check, check_own_images, cost_added, cost_used, quote};
pub(crate) use http::routes;
pub(crate) use model::{Exceeded, Limits};
pub(crate) use store::lock_use;
