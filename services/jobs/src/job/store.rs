//! The table of jobs.

use std::collections::HashMap;

use api::{Page, PageRequest, page::is_unreadable};
use ids::{JobId, ModelId, PoolId, TenantId, WorkerId};
use jiff::Timestamp;
use sqlx::{PgConnection, types::Json};

use super::{
    model::{Fence, Job, JobProblem, JobState, Kind, Level, QueuedReason, Status},
    view::ProgressView,
};
use crate::{application::Inputs, attempt::Counts, pool};

struct Row {
    id: JobId,
    tenant_id: TenantId,
    pool_id: PoolId,
    application: String,
    method: String,
    kind: Kind,
    level: Level,
    priority: i16,
    state: JobState,
    attempt: i32,
    worker_id: Option<WorkerId>,
    reason: Option<QueuedReason>,
    problem: Option<Json<JobProblem>>,
    not_before: Option<jiff_sqlx::Timestamp>,
    deadline: Option<jiff_sqlx::Timestamp>,
    generation: i64,
    created_at: Timestamp,
    started_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
}

impl TryFrom<Row> for Job {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self, sqlx::Error> {
        let incomplete =
            || sqlx::Error::Decode(format!("{}: a state without what belongs to it", row.id).into());
        let fence = row.worker_id.map(|worker| Fence { attempt: row.attempt, worker });
        let jiff = |at: Option<jiff_sqlx::Timestamp>| at.map(jiff_sqlx::Timestamp::to_jiff);
        let status = match row.state {
            JobState::Queued => Status::Queued { reason: row.reason, not_before: jiff(row.not_before) },
            JobState::Assigned => Status::Assigned(fence.ok_or_else(incomplete)?),
            JobState::Running => Status::Running(fence.ok_or_else(incomplete)?),
            JobState::Cancelling => Status::Cancelling(fence.ok_or_else(incomplete)?),
            JobState::Succeeded => Status::Succeeded,
            JobState::Failed => Status::Failed(row.problem.clone().ok_or_else(incomplete)?.0),
            JobState::Cancelled => Status::Cancelled,
            JobState::Expired => Status::Expired,
        };
        let priority = u8::try_from(row.priority).map_err(|_| incomplete())?;
        Ok(Self {
            id: row.id,
            tenant: row.tenant_id,
            pool: row.pool_id,
            application: row.application,
            method: row.method,
            kind: row.kind,
            level: row.level,
            priority,
            status,
            attempts: row.attempt,
            deadline: jiff(row.deadline),
            generation: row.generation,
            created_at: row.created_at,
            started_at: jiff(row.started_at),
            ended_at: jiff(row.ended_at),
        })
    }
}

/// Selects jobs. A macro, as the text of a checked query is a literal.
macro_rules! select_jobs {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select id, tenant_id, pool_id, application, method, kind, level, priority, state, attempt, worker_id, reason,
                      problem as "problem: Json<JobProblem>", not_before, deadline, generation, created_at, started_at,
                      ended_at
               from jobs "# + $rest,
            $($arguments)*
        )
        .try_map(Job::try_from)
    };
}

/// Returns the tenant's job.
pub(crate) async fn find(conn: &mut PgConnection, tenant: TenantId, id: JobId) -> sqlx::Result<Option<Job>> {
    select_jobs!("where tenant_id = $1 and id = $2", tenant as TenantId, id as JobId)
        .fetch_optional(conn)
        .await
}

/// Returns the tenant's job, locked until the end of the transaction.
pub(super) async fn lock(conn: &mut PgConnection, tenant: TenantId, id: JobId) -> sqlx::Result<Option<Job>> {
    select_jobs!("where tenant_id = $1 and id = $2 for update", tenant as TenantId, id as JobId)
        .fetch_optional(conn)
        .await
}

/// Returns up to `limit` open jobs of the tenant that are not being cancelled, locked until the end of the transaction.
pub(super) async fn lock_uncancelled(
    conn: &mut PgConnection,
    tenant: TenantId,
    limit: i64,
) -> sqlx::Result<Vec<Job>> {
    select_jobs!(
        "where tenant_id = $1 and ended_at is null and state <> 'cancelling' order by id limit $2 for update",
        tenant as TenantId,
        limit
    )
    .fetch_all(conn)
    .await
}

/// Counts the tenant's open jobs.
pub(crate) async fn count_open(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<i64> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from jobs where tenant_id = $1 and ended_at is null"#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// Returns how far a job is; none if no worker has reported.
pub(super) async fn progress(
    conn: &mut PgConnection,
    tenant: TenantId,
    job: &Job,
) -> sqlx::Result<Option<ProgressView>> {
    sqlx::query_as!(
        ProgressView,
        r#"select phase, step, steps from progress
           where tenant_id = $1 and job_id = $2 and attempt = $3"#,
        tenant as TenantId,
        job.id as JobId,
        job.attempts,
    )
    .fetch_optional(conn)
    .await
}

/// Which jobs a list shows.
#[derive(Clone)]
pub(super) struct Filter {
    pub(super) state: Option<JobState>,
    pub(super) kind: Option<Kind>,
    pub(super) level: Option<Level>,
    pub(super) application: Option<String>,
}

/// Returns a page of the tenant's jobs, newest first. Rows that cannot be decoded are left out, and named.
pub(super) async fn page(
    conn: &mut PgConnection,
    tenant: TenantId,
    request: &PageRequest<JobId>,
    filter: &Filter,
) -> sqlx::Result<Page<Job>> {
    let (before, limit) = (request.after, request.rows());
    match list(conn, tenant, before, filter, limit).await {
        Err(error) if is_unreadable(&error) => {}
        rows => return Ok(request.page(rows?, |job| job.id)),
    }
    let ids = sqlx::query_scalar!(
        "select id from jobs
         where tenant_id = $1 and ($2::uuid is null or id < $2) and ($3::text is null or state = $3)
           and ($4::text is null or kind = $4) and ($5::text is null or level = $5)
           and ($6::text is null or application = $6)
         order by id desc limit $7",
        tenant as TenantId,
        before as Option<JobId>,
        filter.state as Option<JobState>,
        filter.kind as Option<Kind>,
        filter.level as Option<Level>,
        filter.application,
        limit
    );
    let (mut page, ids) = request.page(ids.fetch_all(&mut *conn).await?, |id| *id).split();
    for id in ids {
        page.add(id, find(conn, tenant, id).await)?;
    }
    Ok(page)
}

async fn list(
    conn: &mut PgConnection,
    tenant: TenantId,
    before: Option<JobId>,
    filter: &Filter,
    limit: i64,
) -> sqlx::Result<Vec<Job>> {
    select_jobs!(
        "where tenant_id = $1 and ($2::uuid is null or id < $2) and ($3::text is null or state = $3)
           and ($4::text is null or kind = $4) and ($5::text is null or level = $5)
           and ($6::text is null or application = $6)
         order by id desc limit $7",
        tenant as TenantId,
        before as Option<JobId>,
        filter.state as Option<JobState>,
        filter.kind as Option<Kind>,
        filter.level as Option<Level>,
        filter.application,
        limit
    )
    .fetch_all(conn)
    .await
}

/// A job to insert.
pub(super) struct Submission<'a> {
    pub(super) id: JobId,
    pub(super) tenant: TenantId,
    pub(super) pool: PoolId,
    pub(super) application: &'a str,
    pub(super) method: &'a str,
    pub(super) kind: Kind,
    pub(super) level: Level,
    pub(super) priority: u8,
    pub(super) deadline: Option<Timestamp>,
    pub(super) inputs: &'a Inputs,
}

/// Inserts a job, and tells the scheduler of its pool.
pub(super) async fn insert(conn: &mut PgConnection, job: &Submission<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into jobs (id, tenant_id, pool_id, application, method, kind, level, priority, model, class, state, deadline)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'queued', $11)",
        job.id as JobId,
        job.tenant as TenantId,
        job.pool as PoolId,
        job.application,
        job.method,
        job.kind as Kind,
        job.level as Level,
        i16::from(job.priority),
        job.inputs.model as Option<ModelId>,
        job.inputs.class,
        job.deadline.map(jiff_sqlx::Timestamp::from) as _,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into job_inputs (job_id, tenant_id, parameters) values ($1, $2, $3)",
        job.id as JobId,
        job.tenant as TenantId,
        job.inputs.parameters,
    )
    .execute(&mut *conn)
    .await?;
    pool::publish(conn, job.pool, &pool::Changed::Job(job.id)).await
}

/// Records the status of a job that was read in this transaction, and tells the scheduler of its pool.
///
/// # Errors
/// [`sqlx::Error::RowNotFound`] if it has changed since.
pub(crate) async fn record(conn: &mut PgConnection, job: &Job, status: &Status) -> sqlx::Result<()> {
    let (reason, not_before) = match status {
        Status::Queued { reason, not_before } => (*reason, *not_before),
        _ => (None, None),
    };
    let problem = match status {
        Status::Failed(problem) => Some(Json(problem)),
        _ => None,
    };
    let done = sqlx::query!(
        "update jobs
         set state = $3, worker_id = $4, reason = $5, not_before = $6, problem = $7,
             ended_at = case when $8 then now() end, generation = generation + 1
         where id = $1 and generation = $2",
        job.id as JobId,
        job.generation,
        status.state() as JobState,
        status.fence().map(|fence| fence.worker) as Option<WorkerId>,
        reason as Option<QueuedReason>,
        not_before.map(jiff_sqlx::Timestamp::from) as _,
        problem as _,
        status.is_ended(),
    )
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(sqlx::Error::RowNotFound);
    }
    pool::publish(conn, job.pool, &pool::Changed::Job(job.id)).await
}

/// Returns how far these jobs of the tenant are, by job and attempt.
pub(super) async fn progress_of(
    conn: &mut PgConnection,
    tenant: TenantId,
    jobs: &[JobId],
) -> sqlx::Result<HashMap<(JobId, i32), ProgressView>> {
    let rows = sqlx::query!(
        r#"select job_id, attempt, phase, step, steps from progress
           where tenant_id = $1 and job_id = any($2)"#,
        tenant as TenantId,
        jobs as &[JobId],
    )
    .fetch_all(conn)
    .await?;
    let by_job = rows.into_iter().map(|row| {
        let view = ProgressView { phase: row.phase, step: row.step, steps: row.steps };
        ((row.job_id, row.attempt), view)
    });
    Ok(by_job.collect())
}

/// What attempts need of a job.
struct AttemptRow {
    failures: i16,
    preemptions: i16,
    leave_by: Option<jiff_sqlx::Timestamp>,
}

async fn attempt_row(conn: &mut PgConnection, id: JobId) -> sqlx::Result<AttemptRow> {
    sqlx::query_as!(
        AttemptRow,
        "select failures, preemptions, leave_by from jobs where id = $1",
        id as JobId,
    )
    .fetch_one(conn)
    .await
}

/// Returns a job of any tenant, and until when its attempt has to leave, if it was told to. For workers.
pub(crate) async fn find_open(
    conn: &mut PgConnection,
    id: JobId,
) -> sqlx::Result<Option<(Job, Option<Timestamp>)>> {
    let job = select_jobs!("where id = $1 and ended_at is null", id as JobId);
    let Some(job) = job.fetch_optional(&mut *conn).await? else { return Ok(None) };
    let row = attempt_row(conn, id).await?;
    Ok(Some((job, row.leave_by.map(jiff_sqlx::Timestamp::to_jiff))))
}

/// Returns a job of any tenant, locked until the end of the transaction, and its counts. For workers.
pub(crate) async fn lock_for_attempt(
    conn: &mut PgConnection,
    id: JobId,
) -> sqlx::Result<Option<(Job, Counts)>> {
    let job = select_jobs!("where id = $1 for update", id as JobId);
    let Some(job) = job.fetch_optional(&mut *conn).await? else { return Ok(None) };
    let AttemptRow { failures, preemptions, leave_by } = attempt_row(conn, id).await?;
    Ok(Some((job, Counts { failures, preemptions, is_leaving: leave_by.is_some() })))
}

/// Records that the worker of a locked job has begun.
pub(crate) async fn record_begin(conn: &mut PgConnection, job: &Job, status: &Status) -> sqlx::Result<()> {
    record(conn, job, status).await?;
    sqlx::query!("update jobs set started_at = coalesce(started_at, now()) where id = $1", job.id as JobId)
        .execute(conn)
        .await
        .map(drop)
}

/// Records how the attempt of a locked job has ended.
pub(crate) async fn record_end(
    conn: &mut PgConnection,
    job: &Job,
    status: &Status,
    failures: i16,
    preemptions: i16,
) -> sqlx::Result<()> {
    record(conn, job, status).await?;
    sqlx::query!(
        "update jobs set failures = $2, preemptions = $3, leave_by = null, queued_at = now() where id = $1",
        job.id as JobId,
        failures,
        preemptions,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes up to `most` jobs that ended more than `days` ago, with all that belongs to them. Returns how many.
pub(crate) async fn delete_ended(conn: &mut PgConnection, days: i32, most: i64) -> sqlx::Result<u64> {
    let done = sqlx::query_scalar!(
        r#"with gone as (
               delete from jobs where id in (
                   select id from jobs where ended_at < now() - make_interval(days => $1) order by ended_at limit $2)
               returning id),
           swept as (update outputs o set delete_at = now() from gone where o.job_id = gone.id)
           select count(*) as "count!" from gone"#,
        days,
        most,
    );
    Ok(done.fetch_one(conn).await?.unsigned_abs())
}
