//! How the gateway finds an instance and learns who may open it: addresses by host label, one-time tickets.

mod changes;
mod http;
mod model;
pub mod store;

use std::sync::Arc;

use db::Db;
use feed::Feed;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use instances::instance::Apps;

pub use changes::{OUTBOX, RETENTION};
pub(crate) use http::routes;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub stock: stock_api::Client,
    pub changes: Feed,
    pub apps: Arc<Apps>,
    pub clock: fn() -> Timestamp,
    pub shutdown: CancellationToken,
}
