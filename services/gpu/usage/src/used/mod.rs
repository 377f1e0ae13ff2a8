//! What instances have used: for tenants, for administrators, and as records for the services that charge for it; and the full
//! comparison of the meter with the clusters.

mod compare_store;
pub mod comparison;
pub mod feed;
mod http;
mod report;
mod report_store;

use ::feed::Feed;
use db::Db;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub feed: Feed,
    pub clock: fn() -> Timestamp,
    pub shutdown: CancellationToken,
}

/// The routes of tenants, administrators and services.
pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    http::routes().merge(report::routes()).merge(feed::routes())
}
