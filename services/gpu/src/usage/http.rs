//! `/v1/instances/{id}/usage`.

use api::{Json, PageParams, Path, Problem, ProblemType, Query};
use auth::Member;
use axum::extract::State;
use ids::{InstanceId, RunId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    EndReason, amount,
    store::{self, Run, Total},
};
use crate::state::AppState;

/// An interval in which the instance was ready.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MeteredRun {
    /// Run id.
    id: RunId,
    /// When the readiness probe passed, as reported by the cluster, in whole seconds.
    started_at: Timestamp,
    /// When the run ended; null while it is open.
    ended_at: Option<Timestamp>,
    /// Why the run ended; null while it is open.
    end_reason: Option<EndReason>,
    /// Duration in whole seconds; of an open run, until now.
    seconds: i64,
    /// Price per hour of the unit at the time of the claim.
    #[schema(value_type = String)]
    price_per_hour: Decimal,
    /// Currency (ISO 4217).
    currency: String,
    /// seconds × price_per_hour ÷ 3600, rounded to six decimal places.
    #[schema(value_type = String)]
    amount: Decimal,
}

impl From<Run> for MeteredRun {
    fn from(run: Run) -> Self {
        Self {
            id: run.id,
            started_at: run.started_at,
            ended_at: run.ended_at.map(jiff_sqlx::Timestamp::to_jiff),
            end_reason: run.end_reason,
            seconds: run.seconds,
            price_per_hour: run.price_per_hour,
            amount: amount(run.seconds, run.price_per_hour),
            currency: run.currency,
        }
    }
}

/// All runs in one currency.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageTotal {
    /// Currency (ISO 4217).
    currency: String,
    /// Duration in whole seconds.
    seconds: i64,
    /// Sum of the runs' amounts.
    #[schema(value_type = String)]
    amount: Decimal,
}

impl From<Total> for UsageTotal {
    fn from(total: Total) -> Self {
        Self { currency: total.currency, seconds: total.seconds, amount: total.amount.normalize() }
    }
}

/// The usage of an instance.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Usage {
    /// Runs, newest first.
    items: Vec<MeteredRun>,
    /// Send it as `cursor` to get the next page; null at the end.
    next_cursor: Option<String>,
    /// Duration of all runs, not only of this page, in whole seconds.
    total_seconds: i64,
    /// Totals of all runs, not only of this page, by currency.
    totals: Vec<UsageTotal>,
}

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_instance_usage))
}

/// Returns the confirmed running time of an instance and its price.
#[utoipa::path(
    get, path = "/v1/instances/{id}/usage", operation_id = "get_instance_usage", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), PageParams),
    responses((status = 200, description = "Runs and totals", body = Usage)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_instance_usage(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<InstanceId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Usage>, Problem> {
    let request = page.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    if !store::instance_exists(&mut tx, member.tenant, id).await? {
        return Err(Problem::not_found());
    }
    let rows = store::list(&mut tx, member.tenant, id, request.after, request.rows()).await?;
    let totals = store::totals(&mut tx, member.tenant, id).await?;
    let page = request.page(rows, |run| run.id).map(MeteredRun::from);
    Ok(Json(Usage {
        items: page.items,
        next_cursor: page.next_cursor,
        total_seconds: totals.iter().map(|total| total.seconds).sum(),
        totals: totals.into_iter().map(UsageTotal::from).collect(),
    }))
}
