//! What a tenant may spend in a month, and the allowances that starts are checked against.
//!
//! - `allowance`: what a tenant may start, whoever issues it; `admit` checks it in the transaction that adds to the use.
//! - `model`: the rule of budgets: which steps are reached, when the next one is, what may be started until then.
//! - `issuer`: carries the rule out, as due work of a row queue: events, the allowance, the stop.
//! - `http`: what administrators set and tenants read; `internal`: allowances that another service issues.

mod admit;
mod allowance;
mod http;
mod internal;
mod issuer;
mod metrics;
mod model;
mod store;

pub(crate) use admit::Admission;
pub(crate) use allowance::Refused;
pub(crate) use issuer::Issuer;
pub(crate) use metrics::BudgetMetrics;
pub(crate) use model::{AtLimit, Progress, Times};

use crate::state::AppState;
use api::openapi::OpenApiRouter;

/// The routes of tenants, administrators and services.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(internal::routes())
}
