//! Shares: what tenants are entitled to in a pool. Administrators set them.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::Share;
pub(crate) use store::{Stored, delete_of_tenant, find, of_pool};
