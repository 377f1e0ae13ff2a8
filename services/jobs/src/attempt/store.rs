//! The tables of attempts, progress and artifacts.

use ids::{JobId, ModelId, WorkerId};
use jiff::Timestamp;
use serde_json::Value;
use sqlx::{PgConnection, types::Json};

use super::model::AttemptState;
use crate::job::{JobProblem, Phase};

/// An attempt that begins.
pub(crate) struct Opened<'a> {
    pub(crate) job: JobId,
    pub(crate) worker: WorkerId,
    pub(crate) gpu_spec: &'a str,
    pub(crate) number: i32,
    pub(crate) at: Timestamp,
}

/// Inserts an attempt of a job that was assigned in this transaction.
pub(crate) async fn open(conn: &mut PgConnection, attempt: &Opened<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into attempts (job_id, number, tenant_id, worker_id, gpu_spec, class, state, assigned_at)
         select id, $2, tenant_id, $3, $4, class, 'open', $5 from jobs where id = $1",
        attempt.job as JobId,
        attempt.number,
        attempt.worker as WorkerId,
        attempt.gpu_spec,
        jiff_sqlx::Timestamp::from(attempt.at) as _,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Closes an open attempt. Its progress is over.
pub(super) async fn close(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    state: AttemptState,
    problem: Option<&JobProblem>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts set state = $3, problem = $4, ended_at = now()
         where job_id = $1 and number = $2 and state = 'open'",
        job as JobId,
        number,
        state as AttemptState,
        problem.map(Json) as _,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!("delete from progress where job_id = $1", job as JobId).execute(conn).await.map(drop)
}

/// Returns the state of an attempt of a worker.
pub(super) async fn state(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    worker: WorkerId,
) -> sqlx::Result<Option<AttemptState>> {
    sqlx::query_scalar!(
        "select state from attempts where job_id = $1 and number = $2 and worker_id = $3",
        job as JobId,
        number,
        worker as WorkerId,
    )
    .fetch_optional(conn)
    .await
}

/// Notes that the worker has begun.
pub(super) async fn begin(conn: &mut PgConnection, job: JobId, number: i32) -> sqlx::Result<()> {
    sqlx::query!(
        "update attempts set begun_at = now() where job_id = $1 and number = $2 and begun_at is null",
        job as JobId,
        number,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// How far an attempt is.
pub(super) struct Progress {
    pub(super) phase: Phase,
    pub(super) step: i32,
    pub(super) steps: i32,
}

/// Stores how far an attempt is.
pub(super) async fn put_progress(
    conn: &mut PgConnection,
    job: JobId,
    number: i32,
    progress: &Progress,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into progress (job_id, tenant_id, attempt, phase, step, steps)
         select id, tenant_id, $2, $3, $4, $5 from jobs where id = $1
         on conflict (job_id) do update set attempt = excluded.attempt, phase = excluded.phase,
             step = excluded.step, steps = excluded.steps, updated_at = now()",
        job as JobId,
        number,
        progress.phase as Phase,
        progress.step,
        progress.steps,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// What a worker needs to run a job.
pub(super) struct Inputs {
    pub(super) application: String,
    pub(super) method: String,
    pub(super) model: Option<ModelId>,
    pub(super) parameters: Value,
}

/// Returns what a worker needs to run a job.
pub(super) async fn inputs(conn: &mut PgConnection, job: JobId) -> sqlx::Result<Inputs> {
    sqlx::query_as!(
        Inputs,
        "select j.application, j.method, j.model, i.parameters
         from jobs j join job_inputs i on i.job_id = j.id where j.id = $1",
        job as JobId,
    )
    .fetch_one(conn)
    .await
}

/// What a worker runs.
pub(super) struct Current {
    pub(super) job: JobId,
    pub(super) attempt: i32,
    /// It was cancelled, or told to leave.
    pub(super) is_stopping: bool,
}

/// Returns what a worker runs.
pub(super) async fn current(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<Option<Current>> {
    sqlx::query_as!(
        Current,
        r#"select j.id as job, w.current_attempt as "attempt!",
                  (j.state = 'cancelling' or j.leave_by is not null) as "is_stopping!"
           from workers w join jobs j on j.id = w.current_job where w.id = $1"#,
        worker as WorkerId,
    )
    .fetch_optional(conn)
    .await
}
