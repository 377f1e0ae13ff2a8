//! `/internal/v1/job-usage`: cost of the attempts of all tenants, for services that charge for them.

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use feed::{Changes, FeedQuery, Outbox};
use ids::{JobId, PoolId, RunId, TenantId, WorkerId};
use jiff::{SignedDuration, Timestamp};
use jobs_core::{
    cost::{Amount, Charge, Rate, Uncharged},
    kind::Kind,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::Parts;

/// The feed of all tenants' records. The transactions that end attempts write them. Without notifications,
/// which would make commits wait for each other: waiting readers poll every 2 s.
pub const OUTBOX: Outbox = Outbox { table: "usage_records", channel: "atelier_jobs_usage" };

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_job_usage_feed))
}

/// The charged work of an attempt: its whole state, which replaces that of lower versions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = JobUsageRecord)]
pub struct UsageRecord {
    /// Id of the work: it stays the same for an attempt, however often it is recorded.
    pub run_id: RunId,
    /// Grows with each change of what is charged, from 1.
    pub version: i32,
    /// What was used.
    pub kind: Kind,
    /// Owner of the job.
    pub tenant_id: TenantId,
    /// The job.
    pub job_id: JobId,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// The pool.
    pub pool_id: PoolId,
    /// The worker.
    pub worker_id: WorkerId,
    /// Name of the GPU specification.
    pub gpu_spec: String,
    /// Beginning of the work, after loading, in whole seconds.
    pub from: Timestamp,
    /// End of what is charged, in whole seconds.
    pub to: Timestamp,
    /// Price per hour at the time of the assignment.
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Amount,
    /// Factor of the job's level at the time of the assignment.
    #[schema(value_type = String, example = "1.5")]
    pub level_factor: Amount,
    /// Currency (ISO 4217).
    #[schema(example = "USD")]
    pub currency: String,
    /// Seconds from `from` to `to`.
    pub seconds: i64,
    /// seconds × price_per_hour × level_factor ÷ 3600, rounded half to even at the sixth decimal place.
    #[schema(value_type = String, example = "0.004")]
    pub amount: Amount,
    /// Why a recorded charge was taken back, or null.
    pub correction: Option<Uncharged>,
}

/// The attempt of a record.
pub struct Of {
    pub kind: Kind,
    pub tenant: TenantId,
    pub job: JobId,
    pub attempt: i32,
    pub pool: PoolId,
    pub worker: WorkerId,
    pub gpu_spec: String,
    /// The first report of work after loading.
    pub working_at: Timestamp,
}

impl UsageRecord {
    /// Returns the record of a charge. Versions start at 1.
    pub fn new(of: Of, version: i32, charge: &Charge, rate: Rate, correction: Option<Uncharged>) -> Self {
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
    /// Send it as `after` to get the records that follow. Store it in the same transaction as the effects of the
    /// records.
    next_cursor: String,
    /// Whether these are all records until now; false if more follow at once.
    complete: bool,
}

/// Returns the usage records of attempts of all tenants after a cursor. Waits for the next one if there are none.
#[utoipa::path(
    get, path = "/internal/v1/job-usage", operation_id = "list_job_usage_feed", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The records", body = JobUsageFeed)),
)]
async fn list_job_usage_feed(
    State(parts): State<Parts>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<JobUsageFeed>, Problem> {
    let (after, wait) = query.read(parts.stop.clone())?;
    let Changes { items, next_cursor, complete } = parts.usage.changes(&after, &wait).await?;
    let items = items.into_iter().map(|item| item.change).collect();
    Ok(Json(JobUsageFeed { items, next_cursor, complete }))
}
