//! Effects of the suspension or deletion of a tenant on its jobs. The identity service decides it.

mod erase;
mod http;

use std::sync::Arc;

use db::Db;
use mq::BrokerState;
use tokio::sync::watch;

pub(crate) use http::routes;

/// What requests need.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) db: Db,
    /// Whether the broker closes connections of credentials that have ended.
    pub(crate) closes_connections: bool,
    pub(crate) broker: Arc<BrokerState>,
    /// Wakes the schedulers of this process before they look by themselves.
    pub(crate) submitted: watch::Sender<()>,
}
