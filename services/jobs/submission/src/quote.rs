//! `/v1/jobs/quote`: when a job would start and end, and what it would cost.

use api::{Json, NamedUrgency, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use records::cost;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;
use views::{estimates::estimate, rows::Probe};

use super::{
    Parts, change, cost_range::CostRange, error::Refused, explanation::ExpectedTimes, request::NewJob,
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(quote_job))
}

/// Expected times and cost of a job if it is submitted now.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct JobQuote {
    /// Expected start and end, if jobs arrive as in the last minutes. Null if the pool has too many jobs for a
    /// forecast, or if no job of the tenant can start now.
    expected: Option<ExpectedTimes>,
    /// Half of such jobs need at most this many seconds of work, once a worker has loaded the model.
    #[schema(example = 15.0)]
    work_seconds_p50: f64,
    /// Nine of ten such jobs need at most this many seconds of work.
    #[schema(example = 45.0)]
    work_seconds_p90: f64,
    /// Cost on each GPU specification that it may get, in the order of preference, except those without a known price.
    costs: Vec<CostRange>,
}

/// Returns when a job would start and end, and what it would cost. Submits nothing.
#[utoipa::path(
    post, path = "/v1/jobs/quote", operation_id = "quote_job", tag = "jobs",
    request_body = NewJob,
    responses((status = 200, description = "The quote", body = JobQuote)),
    extensions(("x-problems" = json!([ProblemType::NoPool, ProblemType::TenantSuspended, ProblemType::ModelMissing])))
)]
async fn quote_job(
    State(parts): State<Parts>,
    member: Member,
    urgency: NamedUrgency,
    Json(mut new): Json<NewJob>,
) -> Result<Json<JobQuote>, Problem> {
    new.set_urgency(urgency);
    let job = change::read(&new)?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    tenants::check_active(&mut tx, member.tenant).await?;
    let pool = change::choose(&mut tx, member.tenant, &job).await?.pool_of(&job)?;
    let workers = job.gang.map_or(1, |gang| gang.size);
    let rates = cost::rates(&mut tx, (member.tenant, pool), job.level, workers).await?;
    // the same estimate that `max_cost` is compared with
    let run = estimate(&mut tx, &job.inputs.class).await?;
    drop(tx);
    let probe = Probe {
        tenant: member.tenant,
        level: job.level,
        priority: job.priority,
        group: job.group,
        model: job.inputs.model,
        needs: job.inputs.needs,
        class: job.inputs.class,
        gang: job.gang,
    };
    let found = parts.views.expect(pool, probe).await.map_err(Problem::internal)?.ok_or(Refused::NoPool)?;
    Ok(Json(JobQuote {
        expected: found.outlook.as_ref().map(ExpectedTimes::of),
        work_seconds_p50: seconds(run.p50),
        work_seconds_p90: seconds(run.p90),
        costs: rates.into_iter().map(|(gpu_spec, rate)| CostRange::new(gpu_spec, rate, run)).collect(),
    }))
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds of a job")]
fn seconds(millis: u64) -> f64 {
    millis as f64 / 1_000.0
}
