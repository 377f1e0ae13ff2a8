//! `/v1/jobs/{id}/log`: the end of the output of a job's program.

use api::{Checks, Json, Path, Problem, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use db::Db;
use ids::JobId;
use jiff::Timestamp;
use records::job;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::log_store;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_job_log))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Number of the attempt: one of the last three. The latest by default.
    #[param(minimum = 1)]
    attempt: Option<i32>,
}

/// The last part of the output of a program.
#[derive(Debug, Serialize, ToSchema)]
struct JobLog {
    /// Number of the attempt.
    #[schema(example = 1)]
    attempt: i32,
    /// The last 65,536 characters of its output and error output.
    #[schema(example = "epoch 3, loss 0.21\n")]
    text: String,
    /// Bytes that it has written.
    #[schema(example = 20)]
    bytes: i64,
    /// When the last part arrived, or null if none has.
    updated_at: Option<Timestamp>,
}

/// Returns the last part of the output of a job's program, also while it runs. Empty for applications without a program
/// of the tenant, and before the program has written anything.
#[utoipa::path(
    get, path = "/v1/jobs/{id}/log", operation_id = "get_job_log", tag = "jobs",
    params(("id" = JobId, Path, description = "Job id"), Which),
    responses((status = 200, description = "The log", body = JobLog))
)]
async fn get_job_log(
    State(db): State<Db>,
    member: Member,
    Path(id): Path<JobId>,
    Query(which): Query<Which>,
) -> Result<Json<JobLog>, Problem> {
    let mut checks = Checks::default();
    checks.within("attempt", which.attempt.unwrap_or(1), 1, i32::MAX);
    checks.finish()?;
    let mut tx = db.tenant(member.tenant).await?;
    let job = job::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    let attempt = which.attempt.unwrap_or(job.attempts);
    let stored = log_store::find(&mut tx, member.tenant, id, attempt).await?;
    Ok(Json(match stored {
        Some(row) => JobLog { attempt, text: row.text, bytes: row.until, updated_at: Some(row.updated_at) },
        None => JobLog { attempt, text: String::new(), bytes: 0, updated_at: None },
    }))
}
