//! `/v1/jobs/{id}/attempts`: the attempts of a job, and their cost.

use api::{Json, Page, PageParams, Path, Problem, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use db::Db;
use ids::JobId;
use jiff::Timestamp;
use jobs_core::{
    attempt::AttemptState,
    cost::{Amount, Uncharged},
    status::JobProblem,
};
use records::job;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::store::{self, AttemptRow};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_job_attempts))
}

/// A try of a job on a worker.
#[derive(Debug, Serialize, ToSchema)]
struct JobAttempt {
    /// Number of the attempt, from 1.
    #[schema(example = 1)]
    attempt: i32,
    /// State of the attempt.
    state: AttemptState,
    /// Why it failed, or `results-refused` with the files that were not accepted as results; otherwise null.
    problem: Option<JobProblem>,
    /// Name of the worker's GPU specification.
    #[schema(example = "3080-small-4-1")]
    gpu_spec: String,
    /// When the job was assigned to the worker.
    assigned_at: Timestamp,
    /// When the worker reported for the first time, or null.
    begun_at: Option<Timestamp>,
    /// When it reported work after loading for the first time, or null. The charge begins here.
    working_at: Option<Timestamp>,
    /// When it ended; null while it is open.
    ended_at: Option<Timestamp>,
    /// Price per hour of the GPU specification at the assignment; null if it was not known.
    #[schema(value_type = Option<String>, example = "0.2")]
    price_per_hour: Option<Amount>,
    /// Currency (ISO 4217), or null.
    #[schema(example = "USD")]
    currency: Option<String>,
    /// Factor of the job's level at the assignment, or null.
    #[schema(value_type = Option<String>, example = "1.5")]
    level_factor: Option<Amount>,
    /// Seconds that are charged; null while it is open, and for attempts before costs were recorded.
    #[schema(example = 72)]
    seconds: Option<i64>,
    /// seconds × price_per_hour × level_factor ÷ 3600, rounded to six decimal places; null as for `seconds`, or without a price.
    #[schema(value_type = Option<String>, example = "0.006")]
    cost: Option<Amount>,
    /// The other seconds since the assignment, or null.
    #[schema(example = 20)]
    uncharged_seconds: Option<i64>,
    /// Why these are not charged, or null.
    uncharged_reason: Option<Uncharged>,
}

impl From<AttemptRow> for JobAttempt {
    fn from(row: AttemptRow) -> Self {
        let jiff = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        Self {
            attempt: row.number,
            state: row.state,
            problem: row.problem.map(|problem| problem.0),
            gpu_spec: row.gpu_spec,
            assigned_at: row.assigned_at,
            begun_at: jiff(row.begun_at),
            working_at: jiff(row.working_at),
            ended_at: jiff(row.ended_at),
            price_per_hour: row.price_per_hour.map(Amount),
            currency: row.currency,
            level_factor: row.level_factor.filter(|_| row.price_per_hour.is_some()).map(Amount),
            seconds: row.charged_seconds,
            cost: row.cost.map(Amount),
            uncharged_seconds: row.uncharged_seconds,
            uncharged_reason: row.uncharged_reason,
        }
    }
}

/// Lists the attempts of a job, newest first, with what each costs.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/attempts", operation_id = "list_job_attempts", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id"), PageParams),
    responses((status = 200, description = "A page", body = Page<JobAttempt>))
)]
async fn list_job_attempts(
    State(db): State<Db>,
    member: Member,
    Path(id): Path<JobId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<JobAttempt>>, Problem> {
    let page = params.request()?;
    let mut tx = db.tenant(member.tenant).await?;
    job::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, member.tenant, id, page.after, page.rows()).await?;
    Ok(Json(page.page(rows, |row| row.number).map(JobAttempt::from)))
}
