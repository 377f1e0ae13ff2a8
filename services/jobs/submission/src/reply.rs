//! Responses with a job.

use api::{Problem, Reply};
use axum::http::StatusCode;
use jobs_core::{job::Job, progress::Report};
use records::job::{JobView, store};
use sqlx::PgConnection;

/// Returns the progress of a job by its row.
pub(super) async fn stored_progress(tx: &mut PgConnection, job: &Job) -> sqlx::Result<Option<Report>> {
    match job.attempts {
        0 => Ok(None),
        _ => store::progress(tx, job.tenant, job).await,
    }
}

/// Responds with a job in a transaction, in which the cache is not queried: the progress is that of its row.
pub(super) async fn reply(tx: &mut PgConnection, job: Job, status: StatusCode) -> Result<Reply, Problem> {
    let (id, generation) = (job.id, job.generation);
    let progress = stored_progress(tx, &job).await?.map(|stored| stored.progress);
    let reply = Reply::json(status, &JobView::new(job, progress))?.etag(generation);
    Ok(match status {
        StatusCode::ACCEPTED => reply.location(format!("/v1/jobs/{id}")),
        _ => reply,
    })
}
