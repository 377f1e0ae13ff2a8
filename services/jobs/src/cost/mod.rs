//! What jobs cost: prices of pools, what is charged for attempts, reports of it, and its feed for other services.

mod amount;
mod feed;
mod model;
mod prices;
mod report;
mod report_store;
mod store;

pub(crate) use amount::{Amount, Money};
pub(crate) use feed::{OUTBOX, Of, UsageRecord};
pub(crate) use model::{Charge, Outcome, Rate, Uncharged, Work, charge, may_be_dearer};
pub(crate) use store::{check_limit, publish, rates};

use api::openapi::OpenApiRouter;
use service::Workers;

use crate::state::AppState;

/// The routes of tenants, administrators and services.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    report::routes().merge(feed::routes())
}

/// Starts the workers of prices and of sums.
pub(crate) fn start(state: &AppState, workers: &Workers) {
    prices::start(state, workers);
    report::start(state, workers);
}
