//! Effects of the suspension or deletion of a tenant on its instances. The identity service decides it.

mod erase;
mod http;
mod model;

use std::sync::Arc;

use db::Db;
use jiff::Timestamp;

use observe::log::Archive;

pub(crate) use http::routes;

/// What requests need.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) db: Db,
    pub(crate) archive: Option<Arc<Archive>>,
    pub(crate) clock: fn() -> Timestamp,
}
