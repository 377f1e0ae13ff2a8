//! `/internal/v1/job-usage`: what attempts of all tenants cost, for services that charge for them.

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::Caller;
use axum::extract::State;
use feed::{Changes, FeedQuery, Outbox};
use ids::{JobId, PoolId, RunId, TenantId, WorkerId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    amount::Amount,
    model::{Charge, Rate, Uncharged},
};
use crate::{job::Kind, state::AppState};

/// The feed of all tenants' records. The transactions that end attempts write them. Without notifications, which would make
/// commits wait for each other: readers that wait look every 2 s.
pub(crate) const OUTBOX: Outbox = Outbox { table: "usage_records", channel: "atelier_jobs_usage" };

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_job_usage_feed))
}

/// The charged work of an attempt: its whole state, which replaces that of lower versions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = JobUsageRecord)]
pub(crate) struct UsageRecord {
    /// Id of the work: that of the same attempt is the same, however often it is recorded.
    pub(crate) run_id: RunId,
    /// Grows with each change of what is charged, from 1.
    pub(crate) version: i32,
    /// What was used.
    pub(crate) kind: Kind,
    /// Owner of the job.
    pub(crate) tenant_id: TenantId,
    /// The job.
    pub(crate) job_id: JobId,
    /// Number of the attempt, from 1.
    pub(crate) attempt: i32,
    /// The pool.
    pub(crate) pool_id: PoolId,
    /// The worker.
    pub(crate) worker_id: WorkerId,
    /// Name of the GPU specification.
    pub(crate) gpu_spec: String,
    /// Beginning of the work, after loading, in whole seconds.
    pub(crate) from: Timestamp,
    /// End of what is charged, in whole seconds.
    pub(crate) to: Timestamp,
    /// Price per hour at the time of the assignment.
    #[schema(value_type = String, example = "0.2")]
    pub(crate) price_per_hour: Amount,
    /// Factor of the job's level at the time of the assignment.
    #[schema(value_type = String, example = "1.5")]
    pub(crate) level_factor: Amount,
    /// Currency (ISO 4217).
    #[schema(example = "USD")]
    pub(crate) currency: String,
    /// Seconds from `from` to `to`.
    pub(crate) seconds: i64,
    /// seconds × price_per_hour × level_factor ÷ 3600, rounded half to even at the sixth decimal place.
    #[schema(value_type = String, example = "0.004")]
    pub(crate) amount: Amount,
    /// Why a recorded charge was taken back, or null.
    pub(crate) correction: Option<Uncharged>,
}

/// The attempt of a record.
pub(crate) struct Of {
    pub(crate) kind: Kind,
    pub(crate) tenant: TenantId,
    pub(crate) job: JobId,
    pub(crate) attempt: i32,
    pub(crate) pool: PoolId,
    pub(crate) worker: WorkerId,
    pub(crate) gpu_spec: String,
    /// The first report of work after loading.
    pub(crate) working_at: Timestamp,
}

impl UsageRecord {
    /// The record of a charge. One of version 1 is the first.
    pub(crate) fn new(
        of: Of,
        version: i32,
        charge: &Charge,
        rate: Rate,
        correction: Option<Uncharged>,
    ) -> Self {
        let from = Timestamp::from_second(of.working_at.as_second()).unwrap_or(of.working_at);
        let since = from.duration_since(Timestamp::UNIX_EPOCH).unsigned_abs();
        let words = [&*of.job.to_string(), &*of.attempt.to_string()];
        Self {
            run_id: RunId::derived_at(since, of.attempt.unsigned_abs().into(), &words),
            version,
            kind: of.kind,
            tenant_id: of.tenant,
            job_id: of.job,
            attempt: of.attempt,
            pool_id: of.pool,
            worker_id: of.worker,
            gpu_spec: of.gpu_spec,
            from,
            to: from.checked_add(SignedDuration::from_secs(charge.seconds)).unwrap_or(from),
            price_per_hour: Amount(rate.price_per_hour),
            level_factor: Amount(rate.level_factor),
            currency: rate.currency,
            seconds: charge.seconds,
            amount: Amount(charge.amount),
            correction,
        }
    }
}

/// Records of all tenants after a cursor.
#[derive(Debug, Serialize, ToSchema)]
struct JobUsageFeed {
    /// The records; those of one attempt in the order of their versions.
    items: Vec<UsageRecord>,
    /// Send it as `after` to get the records that follow. Store it in the transaction of what the records lead to.
    next_cursor: String,
    /// Whether these are all records until now; false if more follow at once.
    complete: bool,
}

/// Returns what attempts of all tenants cost after a cursor, and waits for the next record if there is none.
#[utoipa::path(
    get, path = "/internal/v1/job-usage", operation_id = "list_job_usage_feed", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The records", body = JobUsageFeed)),
)]
async fn list_job_usage_feed(
    State(state): State<AppState>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<JobUsageFeed>, Problem> {
    let (after, wait) = query.read(state.stop.clone())?;
    let Changes { items, next_cursor, complete } = state.usage.changes(&after, &wait).await?;
    let items = items.into_iter().map(|item| item.change).collect();
    Ok(Json(JobUsageFeed { items, next_cursor, complete }))
}
