//! The meter: intervals of confirmed running and of holds, and what they cost.

mod compare;
mod compare_store;
pub(crate) mod comparison;
pub(crate) mod feed;
mod http;
mod model;
mod report;
mod report_store;
pub(crate) mod store;

use crate::state::AppState;
use api::openapi::OpenApiRouter;

/// The routes of tenants, administrators and services.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    http::routes().merge(report::routes()).merge(feed::routes())
}

pub use model::{Correction, EndReason, EndedHold, EndedRun, Meter, Metering, RunKey, UsageKind, amount};
pub(crate) use store::Billing;
