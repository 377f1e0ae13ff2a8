//! What a tenant may spend in a month, and the allowances that starts are checked against.
//!
//! - `admit`: checks what a tenant may start in the transaction that adds to the use.
//! - `issuer`: applies the rule of budgets (`gpu_core::budget`), as due work of a row queue: events, the
//!   allowance, the stop.
//! - `http`: what administrators set and tenants read; `internal`: allowances that another service issues.

mod admit;
mod config;
mod http;
mod internal;
mod issuer;
mod metrics;
mod store;

use api::openapi::OpenApiRouter;
use auth::HasAuth;
use axum::extract::FromRef;
use db::Db;
use jiff::Timestamp;

pub use admit::{Admission, problem};
pub use config::BudgetsConfig;
pub use issuer::Issuer;
pub use metrics::BudgetMetrics;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub config: BudgetsConfig,
    pub clock: fn() -> Timestamp,
}

/// The routes of tenants, administrators and services.
pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    http::routes().merge(internal::routes())
}
