//! The catalogue: the services, and their versions, that users choose from.

mod http;
pub mod store;

use cache::Reads;
use db::Db;
use jiff::Timestamp;

pub(crate) use http::routes;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub reads: Reads,
    pub clock: fn() -> Timestamp,
}
