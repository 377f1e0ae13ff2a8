//! The table of workers.

use std::time::Duration;

use ids::{InstanceId, JobId, ModelId, PoolId, WorkerId};
use jiff::Timestamp;
use jobs_core::worker::{Tenure, WorkerStage, WorkerState};
use sqlx::PgConnection;

use super::model::{NewWorker, Worker};
use crate::pool;

struct Row {
    id: WorkerId,
    pool_id: PoolId,
    name: String,
    gpu_spec: String,
    node: String,
    instance_id: Option<InstanceId>,
    stage: Option<WorkerStage>,
    tenure: Tenure,
    leave_by: Option<jiff_sqlx::Timestamp>,
    state: WorkerState,
    current_job: Option<JobId>,
    checkpoints: Option<Vec<String>>,
    base_models: Option<Vec<String>>,
    last_seen_at: Option<jiff_sqlx::Timestamp>,
    created_at: Timestamp,
}

impl From<Row> for Worker {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            pool_id: row.pool_id,
            name: row.name,
            gpu_spec: row.gpu_spec,
            node: row.node,
            instance_id: row.instance_id,
            stage: row.stage,
            tenure: row.tenure,
            leave_by: row.leave_by.map(jiff_sqlx::Timestamp::to_jiff),
            state: row.state,
            job_id: row.current_job,
            checkpoints: row.checkpoints,
            base_models: row.base_models,
            last_seen_at: row.last_seen_at.map(jiff_sqlx::Timestamp::to_jiff),
            created_at: row.created_at,
        }
    }
}

pub(super) async fn find(
    conn: &mut PgConnection,
    pool: PoolId,
    id: WorkerId,
) -> sqlx::Result<Option<Worker>> {
    let row = sqlx::query_as!(
        Row,
        "select id, pool_id, name, gpu_spec, node, instance_id, stage, tenure, leave_by, state, current_job, checkpoints,
                base_models, last_seen_at, created_at
         from workers where pool_id = $1 and id = $2",
        pool as PoolId,
        id as WorkerId,
    );
    Ok(row.fetch_optional(conn).await?.map(Worker::from))
}

/// Returns workers of a pool after `after`, by id.
pub(super) async fn list(
    conn: &mut PgConnection,
    pool: PoolId,
    after: Option<WorkerId>,
    limit: i64,
) -> sqlx::Result<Vec<Worker>> {
    let rows = sqlx::query_as!(
        Row,
        "select id, pool_id, name, gpu_spec, node, instance_id, stage, tenure, leave_by, state, current_job, checkpoints,
                base_models, last_seen_at, created_at
         from workers where pool_id = $1 and ($2::uuid is null or id > $2) order by id limit $3",
        pool as PoolId,
        after as Option<WorkerId>,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(Worker::from).collect())
}

/// Inserts a worker. False if the name is taken.
pub(super) async fn insert(
    conn: &mut PgConnection,
    pool: PoolId,
    id: WorkerId,
    new: &NewWorker,
    token_hash: &[u8],
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into workers (id, pool_id, name, gpu_spec, node, token_hash) values ($1, $2, $3, $4, $5, $6)
         on conflict (pool_id, name) do nothing",
        id as WorkerId,
        pool as PoolId,
        new.name,
        new.gpu_spec,
        new.node,
        token_hash,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Deletes an idle worker that the platform does not run. False if it runs a job.
pub(super) async fn delete(conn: &mut PgConnection, pool: PoolId, id: WorkerId) -> sqlx::Result<bool> {
    let done = sqlx::query!("delete from workers where id = $1 and current_job is null", id as WorkerId);
    let deleted = done.execute(&mut *conn).await?.rows_affected() == 1;
    if deleted {
        pool::publish(conn, pool, &pool::Changed::Worker(id)).await?;
    }
    Ok(deleted)
}

/// A worker and what it runs.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    pub id: WorkerId,
    pub pool: PoolId,
    pub current: Option<(JobId, i32)>,
    /// Whether it has to leave its unit.
    pub is_recalled: bool,
}

/// Returns the worker with this token. A worker that leaves no longer has one.
pub(super) async fn find_by_token(
    conn: &mut PgConnection,
    token_hash: &[u8],
) -> sqlx::Result<Option<WorkerId>> {
    sqlx::query_scalar!(
        "select id from workers where token_hash = $1 and stage is distinct from 'leaving'",
        token_hash,
    )
    .fetch_optional(conn)
    .await
}

/// Locks a worker.
pub async fn lock(conn: &mut PgConnection, id: WorkerId) -> sqlx::Result<Option<Held>> {
    let row = sqlx::query!(
        r#"select pool_id, current_job, current_attempt, leave_by is not null as "is_recalled!"
           from workers where id = $1 for update"#,
        id as WorkerId,
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| Held {
        id,
        pool: row.pool_id,
        current: row.current_job.zip(row.current_attempt),
        is_recalled: row.is_recalled,
    }))
}

/// Records that a session's process is alive, and counts it as present for a longer time. Locks the worker.
/// None if the session has ended.
pub(super) async fn touch(
    conn: &mut PgConnection,
    id: WorkerId,
    session: i64,
    present_for: Option<Duration>,
) -> sqlx::Result<Option<Held>> {
    let row = sqlx::query!(
        r#"update workers
           set last_seen_at = now(), present_until = now() + make_interval(secs => $3)
           where id = $1 and session = $2 and state = 'ready'
           returning pool_id, current_job, current_attempt, leave_by is not null as "is_recalled!""#,
        id as WorkerId,
        session,
        present_for.map(|time| time.as_secs_f64()),
    );
    let row = row.fetch_optional(conn).await?;
    Ok(row.map(|row| Held {
        id,
        pool: row.pool_id,
        current: row.current_job.zip(row.current_attempt),
        is_recalled: row.is_recalled,
    }))
}

/// No longer counts a worker as present.
pub(super) async fn doubt(conn: &mut PgConnection, id: WorkerId, session: i64) -> sqlx::Result<()> {
    sqlx::query!(
        "update workers set present_until = null where id = $1 and session = $2 and present_until > now()",
        id as WorkerId,
        session,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Ends the session of a locked worker that runs nothing, and begins another if it is `ready`. Returns its number.
pub async fn next_session(conn: &mut PgConnection, worker: &Held, state: WorkerState) -> sqlx::Result<i64> {
    let session = sqlx::query_scalar!(
        "update workers
         set state = $2, session = session + 1, model = null, quantum_end = null, busy_until = null,
             idle_since = now(), present_until = null, last_seen_at = case when $2 = 'ready' then now() else last_seen_at end, silent_since = null
         where id = $1 and current_job is null
         returning session",
        worker.id as WorkerId,
        state as WorkerState,
    )
    .fetch_one(&mut *conn)
    .await?;
    pool::publish(conn, worker.pool, &pool::Changed::Worker(worker.id)).await?;
    Ok(session)
}

/// Frees a worker of an attempt.
pub async fn free(conn: &mut PgConnection, id: WorkerId, job: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "update workers
         set current_job = null, current_attempt = null, busy_until = null, idle_since = now()
         where id = $1 and current_job = $2",
        id as WorkerId,
        job as JobId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Frees a locked worker of an ended attempt, for the scheduler.
pub async fn leave(conn: &mut PgConnection, worker: &Held, job: JobId) -> sqlx::Result<()> {
    free(&mut *conn, worker.id, job).await?;
    pool::publish(conn, worker.pool, &pool::Changed::Worker(worker.id)).await
}

/// The assignment of a job to a worker.
pub struct Assignment {
    pub worker: WorkerId,
    pub job: JobId,
    pub attempt: i32,
    pub model: Option<ModelId>,
    pub quantum_end: Timestamp,
    pub busy_until: Timestamp,
}

/// Assigns a job to an idle worker. Returns its GPU specification; none if it is not ready, not idle, or gets
/// no more jobs.
pub async fn assign(conn: &mut PgConnection, given: &Assignment) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        "update workers
         set current_job = $2, current_attempt = $3, model = $4, quantum_end = $5, busy_until = $6
         where id = $1 and state = 'ready' and current_job is null and stage is distinct from 'draining'
         returning gpu_spec",
        given.worker as WorkerId,
        given.job as JobId,
        given.attempt,
        given.model as Option<ModelId>,
        jiff_sqlx::Timestamp::from(given.quantum_end) as _,
        jiff_sqlx::Timestamp::from(given.busy_until) as _,
    )
    .fetch_optional(conn)
    .await
}

/// Whether a worker delivers an open attempt that it no longer runs.
pub async fn delivers(
    conn: &mut PgConnection,
    worker: WorkerId,
    (job, number): (JobId, i32),
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from attempts where job_id = $1 and number = $2 and worker_id = $3 and state = 'open'
                             and delivering_at is not null) as "delivers!""#,
        job as JobId,
        number,
        worker as WorkerId,
    )
    .fetch_one(conn)
    .await
}

/// Closes a worker of the platform for new jobs. False if the platform does not run it.
pub async fn drain(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update workers set stage = case when stage = 'leaving' then stage else 'draining' end
         where id = $1 and stage is not null",
        worker as WorkerId,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}
