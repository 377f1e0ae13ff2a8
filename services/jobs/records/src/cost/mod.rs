//! Cost of jobs: prices of pools, charges for attempts, reports, and a feed for other services.

mod feed;
mod prices;
mod report;
mod report_store;
mod store;

use std::sync::Arc;

use ::feed::Feed;
use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;
use jiff::Timestamp;
use service::Task;
use tokio_util::sync::CancellationToken;

use crate::rest::Rest;

pub use feed::{OUTBOX, Of, UsageRecord};
pub use store::{check_limit, publish, rates};

/// What requests and workers need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    /// The feed of the cost of attempts, for other services.
    pub usage: Feed,
    /// None if the configuration does not name it.
    pub stock: Option<stock_api::Client>,
    pub rest: Arc<Rest>,
    pub clock: fn() -> Timestamp,
    /// Ends open requests: the shutdown of the process.
    pub stop: CancellationToken,
}

/// The routes of tenants, administrators and services.
pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    report::routes().merge(feed::routes())
}

/// The tasks of prices and of sums.
pub fn tasks(parts: &Parts) -> impl Iterator<Item = Task> {
    prices::task(parts).into_iter().chain([report::task(parts)])
}
