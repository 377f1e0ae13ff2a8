//! `/v1/jobs/quote`: when a job would start and end, and what it would cost.

use api::{Json, NamedUrgency, Problem, ProblemType, openapi::OpenApiRouter};
use auth::Member;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{change, cost_range::CostRange, explanation::ExpectedTimes, view::NewJob};
use crate::{
    cost,
    dispatch::{self, Probe},
    error::Error,
    state::AppState,
    tenant,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(quote_job))
}

/// What is expected of a job if it is submitted now.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct JobQuote {
    /// When it would start and end if jobs come as in the last minutes. Null if the pool has too many jobs to tell, or no job of the
    /// tenant starts at present.
    expected: Option<ExpectedTimes>,
    /// Seconds of work that half of such jobs need at most, once a worker has loaded the model.
    #[schema(example = 15.0)]
    work_seconds_p50: f64,
    /// Seconds of work that nine of ten need at most.
    #[schema(example = 45.0)]
    work_seconds_p90: f64,
    /// What it would cost on each GPU specification that it may get, in the order of preference. Without those whose prices are
    /// not known.
    costs: Vec<CostRange>,
}

/// Tells when a job would start and end, and what it would cost. Nothing is submitted.
#[utoipa::path(
    post, path = "/v1/jobs/quote", operation_id = "quote_job", tag = "jobs",
    request_body = NewJob,
    responses((status = 200, description = "The quote", body = JobQuote)),
    extensions(("x-problems" = json!([ProblemType::NoPool, ProblemType::TenantSuspended, ProblemType::ModelMissing])))
)]
async fn quote_job(
    State(state): State<AppState>,
    member: Member,
    urgency: NamedUrgency,
    Json(mut new): Json<NewJob>,
) -> Result<Json<JobQuote>, Problem> {
    new.set_urgency(urgency);
    let job = change::read(&new)?;
    let mut tx = state.db.tenant(member.tenant).await?;
    tenant::check_active(&mut tx, member.tenant).await?;
    let pool = change::choose(&mut tx, member.tenant, &job).await?.pool_of(&job)?;
    let workers = job.gang.map_or(1, |gang| gang.size);
    let rates = cost::rates(&mut tx, (member.tenant, pool), job.level, workers).await?;
    // as `max_cost` is compared with
    let run = dispatch::estimate(&mut tx, &job.inputs.class).await?;
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
    let found = state.views.expect(pool, probe).await.map_err(Problem::internal)?.ok_or(Error::NoPool)?;
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
