//! Storage specifications: kinds of storage, their sizes and prices. They belong to the platform.

mod error;
mod http;
mod model;
mod offers;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{AccessMode, SpecState, StorageSpec};
pub(crate) use offers::routes as offer_routes;
pub(crate) use store::{find, find_cheapest_bucket, find_for_use};
