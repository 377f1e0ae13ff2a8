//! `/v1/instances/{id}/usage`.

use api::{Json, PageParams, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use gpu_core::{
    ends::{EndReason, HoldEnd},
    meter::{Correction, UsageKind, amount},
};
use ids::{InstanceId, RunId};
use instances::meter::store::{self, Run, Total};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::Parts;

/// Why a run ended.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum RunEnd {
    /// End of a run of the kind `running`.
    Running(EndReason),
    /// End of a run of the kind `held`.
    Held(HoldEnd),
}

/// An interval in which the instance was ready, or kept its unit.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MeteredRun {
    /// Run id.
    id: RunId,
    /// What was used.
    kind: UsageKind,
    /// When the readiness probe passed, as reported by the cluster, or the hold began, in whole seconds.
    started_at: Timestamp,
    /// When the run ended; null while it is open.
    ended_at: Option<Timestamp>,
    /// Why the run ended; null while it is open.
    end_reason: Option<RunEnd>,
    /// Why the interval was changed after the run had ended; null if it was not.
    correction: Option<Correction>,
    /// Duration in whole seconds; until now for an open run.
    seconds: i64,
    /// Price per hour of the unit, or of its hold, at the time of the claim.
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
            ended_at: run.ended_at,
            kind: run.kind,
            end_reason: run.end_reason.map(RunEnd::Running).or(run.hold_end.map(RunEnd::Held)),
            correction: run.correction,
            seconds: run.seconds,
            price_per_hour: run.price_per_hour,
            amount: amount(run.seconds, run.price_per_hour),
            currency: run.currency,
        }
    }
}

/// All runs of one kind, in one currency.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UsageTotal {
    /// What was used.
    kind: UsageKind,
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
        Self {
            kind: total.kind,
            currency: total.currency,
            seconds: total.seconds,
            amount: total.amount.normalize(),
        }
    }
}

/// The usage of an instance.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Usage {
    /// Runs, newest first.
    items: Vec<MeteredRun>,
    /// Send it as `cursor` to get the next page; null at the end.
    next_cursor: Option<String>,
    /// Duration of all runs in which the instance was ready, not only of this page, in whole seconds.
    total_seconds: i64,
    /// Duration of all holds, not only of this page, in whole seconds.
    held_seconds: i64,
    /// Totals of all runs, not only of this page, by kind and currency.
    totals: Vec<UsageTotal>,
}

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_instance_usage))
}

fn seconds_of(totals: &[Total], kind: UsageKind) -> i64 {
    totals.iter().filter(|total| total.kind == kind).map(|total| total.seconds).sum()
}

/// Returns the confirmed running time of an instance, its holds, and their price.
#[utoipa::path(
    get, path = "/v1/instances/{id}/usage", operation_id = "get_instance_usage", tag = "instances",
    params(("id" = InstanceId, Path, description = "Instance id"), PageParams),
    responses((status = 200, description = "Runs and totals", body = Usage)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_instance_usage(
    State(app): State<Parts>,
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
        total_seconds: seconds_of(&totals, UsageKind::Running),
        held_seconds: seconds_of(&totals, UsageKind::Held),
        totals: totals.into_iter().map(UsageTotal::from).collect(),
    }))
}
