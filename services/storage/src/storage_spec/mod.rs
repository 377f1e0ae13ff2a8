//! Storage specifications: kinds of storage, their sizes and prices. The platform's, not any tenant's.

mod http;
mod model;
mod store;

pub(crate) use http::routes;
pub(crate) use model::{AccessMode, Kind, SpecState, StorageSpec};
pub(crate) use store::{find, find_for_use};
