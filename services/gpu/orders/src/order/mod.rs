//! What users, administrators and services ask of instances: each request is checked against the catalogue and the other services,
//! and records the desired state. `reconcile` carries it out.

mod admin;
mod change;
mod config;
mod create;
mod http;
mod managed;
mod new_volume;
pub mod queue;
mod references;

use std::sync::Arc;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use clusters::Clusters;
use db::Db;
use encryption::Cipher;
use jiff::Timestamp;

use usage::budget::Admission;

pub use config::HoldsConfig;
pub use config::OrderConfig;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub config: Arc<OrderConfig>,
    pub db: Db,
    pub cipher: Arc<Cipher>,
    pub stock: stock_api::Client,
    pub storage: storage_api::Client,
    pub clusters: Clusters,
    pub clock: fn() -> Timestamp,
}

impl Parts {
    /// Whether allowances let an instance start, now.
    fn admission(&self) -> Admission {
        Admission { now: (self.clock)(), grace: self.config.budgets.outage_grace() }
    }
}

/// The routes of tenants, of administrators and of other services.
pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    http::routes().merge(queue::routes()).merge(admin::routes()).merge(managed::routes())
}
