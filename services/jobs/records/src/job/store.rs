//! The table of jobs.

use std::collections::HashMap;

use ids::{JobId, ModelId, PoolId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    application::Inputs,
    cost::{Amount, Money},
    job::{Cost, Counts, Job},
    kind::{Gang, Group, GroupMode, Kind, Level},
    needs::Needs,
    progress::{ProgressView, Report},
    status::{Fence, JobProblem, JobState, QueuedReason, Status},
};
use rust_decimal::Decimal;
use serde::Serialize;
use serde_json::Value;
use sqlx::{PgConnection, types::Json};
use uuid::Uuid;

use crate::pool;

struct Row {
    id: JobId,
    tenant_id: TenantId,
    pool_id: PoolId,
    application: String,
    method: String,
    kind: Kind,
    level: Level,
    priority: i16,
    group_name: Option<String>,
    group_mode: Option<GroupMode>,
    state: JobState,
    attempt: i32,
    worker_id: Option<WorkerId>,
    reason: Option<QueuedReason>,
    problem: Option<Json<JobProblem>>,
    not_before: Option<jiff_sqlx::Timestamp>,
    deadline: Option<jiff_sqlx::Timestamp>,
    req_no: Option<Uuid>,
    generation: i64,
    created_at: Timestamp,
    started_at: Option<jiff_sqlx::Timestamp>,
    ended_at: Option<jiff_sqlx::Timestamp>,
    max_cost: Option<Decimal>,
    max_cost_currency: Option<String>,
    cost: Option<Decimal>,
    cost_currency: Option<String>,
    cost_seconds: i64,
    gang_size: i16,
    same_node: bool,
    report_progress: bool,
    base_model: Option<String>,
    result: Option<ModelId>,
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
            application: row.application.clone(),
            method: row.method,
            kind: row.kind,
            level: row.level,
            priority,
            group: row.group_name.zip(row.group_mode).map(|(name, mode)| Group { name, mode }),
            status,
            attempts: row.attempt,
            deadline: jiff(row.deadline),
            req_no: row.req_no,
            generation: row.generation,
            created_at: row.created_at,
            started_at: jiff(row.started_at),
            ended_at: jiff(row.ended_at),
            max_cost: row
                .max_cost
                .zip(row.max_cost_currency)
                .map(|(amount, currency)| Money { amount: Amount(amount), currency }),
            cost: row.cost.zip(row.cost_currency).map(|(amount, currency)| Cost {
                amount: Amount(amount),
                currency,
                seconds: row.cost_seconds,
            }),
            gang: Gang::of(row.gang_size, row.same_node),
            report_progress: row.report_progress,
            needs: Needs::of_job(&row.application, row.base_model.as_deref()),
            result: row.result,
        })
    }
}

/// Selects jobs. A macro, as the text of a checked query is a literal.
macro_rules! select_jobs {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            Row,
            r#"select id, tenant_id, pool_id, application, method, kind, level, priority, group_name, group_mode, state, attempt,
                      worker_id, coalesce(hold, reason) as "reason?: QueuedReason", problem as "problem: Json<JobProblem>", not_before, deadline, req_no, generation,
                      created_at, started_at, ended_at, max_cost, max_cost_currency, cost, cost_currency, cost_seconds,
                      gang_size, same_node, report_progress, base_model,
                      (select m.id from models m where m.job_id = jobs.id) as "result: ModelId"
               from jobs "# + $rest,
            $($arguments)*
        )
        .try_map(Job::try_from)
    };
}

/// Returns the tenant's job.
pub async fn find(conn: &mut PgConnection, tenant: TenantId, id: JobId) -> sqlx::Result<Option<Job>> {
    select_jobs!("where tenant_id = $1 and id = $2", tenant as TenantId, id as JobId)
        .fetch_optional(conn)
        .await
}

/// Returns the tenant's job, locked until the end of the transaction.
pub async fn lock(conn: &mut PgConnection, tenant: TenantId, id: JobId) -> sqlx::Result<Option<Job>> {
    select_jobs!("where tenant_id = $1 and id = $2 for update", tenant as TenantId, id as JobId)
        .fetch_optional(conn)
        .await
}

/// Returns up to `limit` open jobs of the tenant that are not being cancelled, locked until the end of the transaction.
pub async fn lock_uncancelled(
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

/// Returns the class of a job: jobs of one class take about the same time.
pub async fn class(conn: &mut PgConnection, id: JobId) -> sqlx::Result<String> {
    sqlx::query_scalar!("select class from jobs where id = $1", id as JobId).fetch_one(conn).await
}

/// Counts the tenant's open jobs up to `limit`.
pub async fn count_open(conn: &mut PgConnection, tenant: TenantId, limit: u32) -> sqlx::Result<u32> {
    let open = sqlx::query_scalar!(
        r#"select count(*) as "count!" from
           (select from jobs where tenant_id = $1 and ended_at is null limit $2) as open"#,
        tenant as TenantId,
        i64::from(limit),
    );
    Ok(u32::try_from(open.fetch_one(conn).await?).unwrap_or(limit))
}

/// Returns the progress of a job by its row; none if no worker has reported.
pub async fn progress(conn: &mut PgConnection, tenant: TenantId, job: &Job) -> sqlx::Result<Option<Report>> {
    let row = sqlx::query!(
        r#"select phase, step, steps, updated_at from progress
           where tenant_id = $1 and job_id = $2 and attempt = $3"#,
        tenant as TenantId,
        job.id as JobId,
        job.attempts,
    );
    Ok(row.fetch_optional(conn).await?.map(|row| Report {
        attempt: job.attempts,
        progress: ProgressView { phase: row.phase, step: row.step, steps: row.steps },
        at: row.updated_at.to_jiff(),
    }))
}

/// A job to insert.
pub struct Submission<'a> {
    pub id: JobId,
    pub application: &'a str,
    pub method: &'a str,
    pub kind: Kind,
    pub level: Level,
    pub priority: u8,
    pub group: Option<Group>,
    pub deadline: Option<Timestamp>,
    pub req_no: Option<Uuid>,
    pub max_cost: Option<&'a Money>,
    /// Name of the requested pool.
    pub pool: Option<&'a str>,
    pub gang: Option<Gang>,
    pub report_progress: bool,
    pub inputs: Inputs,
}

/// The columns of a job to insert.
#[derive(Serialize)]
struct NewRow<'a> {
    id: Uuid,
    pool_id: Uuid,
    application: &'a str,
    method: &'a str,
    kind: Kind,
    level: Level,
    priority: u8,
    group_name: Option<&'a str>,
    group_mode: Option<GroupMode>,
    model: Option<Uuid>,
    class: &'a str,
    deadline: Option<Timestamp>,
    req_no: Option<Uuid>,
    max_cost: Option<Amount>,
    max_cost_currency: Option<&'a str>,
    gang_size: u8,
    same_node: bool,
    report_progress: bool,
    may_move: bool,
    base_model: Option<&'a str>,
    parameters: &'a Value,
    /// For the scheduler of the pool.
    change: pool::PoolChange,
}

impl<'a> NewRow<'a> {
    fn new(job: &'a Submission<'a>, pool: PoolId) -> Self {
        Self {
            id: job.id.uuid(),
            pool_id: pool.uuid(),
            application: job.application,
            method: job.method,
            kind: job.kind,
            level: job.level,
            priority: job.priority,
            group_name: job.group.as_ref().map(|group| &*group.name),
            group_mode: job.group.as_ref().map(|group| group.mode),
            model: job.inputs.model.map(ModelId::uuid),
            class: &job.inputs.class,
            deadline: job.deadline,
            req_no: job.req_no,
            max_cost: job.max_cost.map(|limit| limit.amount),
            max_cost_currency: job.max_cost.map(|limit| &*limit.currency),
            gang_size: job.gang.map_or(1, |gang| gang.size),
            same_node: job.gang.is_some_and(|gang| gang.same_node),
            report_progress: job.report_progress,
            may_move: job.pool.is_none(),
            base_model: job.inputs.needs.as_ref().map(|needs| &*needs.name),
            parameters: &job.inputs.parameters,
            change: pool::PoolChange { pool, changed: pool::Changed::Job(job.id) },
        }
    }
}

/// Inserts jobs into their pools, and notifies the schedulers, in one statement. Returns them by id.
pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    jobs: &[(Submission<'_>, PoolId)],
) -> sqlx::Result<HashMap<JobId, Job>> {
    let rows =
        serde_json::to_value(jobs.iter().map(|(job, pool)| NewRow::new(job, *pool)).collect::<Vec<_>>());
    let inserted = sqlx::query_as!(
        Row,
        r#"with added as materialized (
             select * from jsonb_to_recordset($2) as added(
                 id uuid, pool_id uuid, application text, method text, kind text, level text, priority smallint, group_name text,
                 group_mode text, model uuid, class text, deadline timestamptz, req_no uuid, max_cost numeric,
                 max_cost_currency text, gang_size smallint, same_node boolean, report_progress boolean, may_move boolean,
                 base_model text, parameters jsonb, change jsonb)),
         inputs as (
             insert into job_inputs (job_id, tenant_id, parameters) select id, $1, parameters from added),
         changes as (
             insert into pool_changes (payload) select change from added)
         insert into jobs (id, tenant_id, pool_id, application, method, kind, level, priority, group_name, group_mode,
                           model, class, state, deadline, req_no, max_cost, max_cost_currency, gang_size, same_node,
                           report_progress, may_move, base_model)
         select id, $1, pool_id, application, method, kind, level, priority, group_name, group_mode, model, class,
                'queued', deadline, req_no, max_cost, max_cost_currency, gang_size, same_node,
                report_progress, may_move, base_model
         from added
         returning id, tenant_id, pool_id, application, method, kind, level, priority, group_name, group_mode, state, attempt,
                   worker_id, coalesce(hold, reason) as "reason?: QueuedReason", problem as "problem: Json<JobProblem>", not_before, deadline, req_no, generation,
                   created_at, started_at, ended_at, max_cost, max_cost_currency, cost, cost_currency, cost_seconds,
                   gang_size, same_node, report_progress, base_model, null::uuid as "result: ModelId""#,
        tenant as TenantId,
        rows.map_err(|error| sqlx::Error::Encode(error.into()))?,
    )
    .try_map(Job::try_from)
    .fetch_all(conn)
    .await?;
    Ok(inserted.into_iter().map(|job| (job.id, job)).collect())
}

/// Returns jobs of the tenant, by id.
pub async fn find_all(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &[JobId],
) -> sqlx::Result<HashMap<JobId, Job>> {
    let jobs = select_jobs!("where tenant_id = $1 and id = any($2)", tenant as TenantId, ids as &[JobId]);
    Ok(jobs.fetch_all(conn).await?.into_iter().map(|job| (job.id, job)).collect())
}

/// Changes a locked queued job, and notifies the scheduler of its pool.
pub async fn update(
    conn: &mut PgConnection,
    job: &Job,
    priority: u8,
    level: Level,
    deadline: Option<Timestamp>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update jobs set priority = $2, level = $3, deadline = $4, generation = generation + 1 where id = $1",
        job.id as JobId,
        i16::from(priority),
        level as Level,
        deadline.map(jiff_sqlx::Timestamp::from) as _,
    )
    .execute(&mut *conn)
    .await?;
    pool::publish(conn, job.pool, &pool::Changed::Job(job.id)).await
}

/// Records the status of a job that was read in this transaction, and notifies the scheduler of its pool.
///
/// # Errors
/// [`sqlx::Error::RowNotFound`] if it has changed since.
pub async fn record(conn: &mut PgConnection, job: &Job, status: &Status) -> sqlx::Result<()> {
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
             hold = case when $3 = 'queued' then tenant_hold(tenant_id) end,
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

/// Returns the progress of these jobs of the tenant by their rows, by job and attempt.
pub async fn progress_of(
    conn: &mut PgConnection,
    tenant: TenantId,
    jobs: &[JobId],
) -> sqlx::Result<HashMap<(JobId, i32), Report>> {
    let rows = sqlx::query!(
        r#"select job_id, attempt, phase, step, steps, updated_at from progress
           where tenant_id = $1 and job_id = any($2)"#,
        tenant as TenantId,
        jobs as &[JobId],
    )
    .fetch_all(conn)
    .await?;
    let by_job = rows.into_iter().map(|row| {
        let progress = ProgressView { phase: row.phase, step: row.step, steps: row.steps };
        ((row.job_id, row.attempt), Report { attempt: row.attempt, progress, at: row.updated_at.to_jiff() })
    });
    Ok(by_job.collect())
}

/// The fields of a job that attempts need.
struct AttemptRow {
    failures: i16,
    preemptions: i16,
    recalls: i16,
    leave_by: Option<jiff_sqlx::Timestamp>,
    is_over_cost: bool,
    is_held: bool,
    lost_nodes: i64,
}

async fn attempt_row(conn: &mut PgConnection, id: JobId) -> sqlx::Result<AttemptRow> {
    sqlx::query_as!(
        AttemptRow,
        r#"select failures, preemptions, recalls, leave_by, coalesce(tenant_hold(tenant_id) <> 'allowance_expired', false) as "is_held!",
                  (select count(distinct n.node) from (
                       select a.lost_node as node from attempts a where a.job_id = jobs.id and a.lost_node is not null
                       union all select w.node from workers w where w.id = jobs.worker_id and w.node <> '') n)
                      as "lost_nodes!",
                  exists (select from attempts a where a.job_id = jobs.id and a.state = 'open' and a.stop_at <= now())
                      as "is_over_cost!"
           from jobs where id = $1"#,
        id as JobId,
    )
    .fetch_one(conn)
    .await
}

/// Returns a job of any tenant, and the time by which its attempt must leave, if it was told to. For workers.
pub async fn find_open(conn: &mut PgConnection, id: JobId) -> sqlx::Result<Option<(Job, Option<Timestamp>)>> {
    let job = select_jobs!("where id = $1 and ended_at is null", id as JobId);
    let Some(job) = job.fetch_optional(&mut *conn).await? else { return Ok(None) };
    let leave_by = sqlx::query_scalar!("select leave_by from jobs where id = $1", id as JobId);
    let leave_by = leave_by.fetch_one(conn).await?;
    Ok(Some((job, leave_by.map(jiff_sqlx::Timestamp::to_jiff))))
}

/// Returns a job of any tenant, locked until the end of the transaction, and its counts. For workers.
pub async fn lock_for_attempt(conn: &mut PgConnection, id: JobId) -> sqlx::Result<Option<(Job, Counts)>> {
    let job = select_jobs!("where id = $1 for update", id as JobId);
    let Some(job) = job.fetch_optional(&mut *conn).await? else { return Ok(None) };
    let AttemptRow { failures, preemptions, recalls, leave_by, is_over_cost, is_held, lost_nodes } =
        attempt_row(conn, id).await?;
    let is_leaving = leave_by.is_some();
    let is_at_fault = lost_nodes > 1;
    let counts = Counts { failures, preemptions, recalls, is_leaving, is_over_cost, is_held, is_at_fault };
    Ok(Some((job, counts)))
}

/// Records that the worker of a locked job has begun.
pub async fn record_begin(conn: &mut PgConnection, job: &Job, status: &Status) -> sqlx::Result<()> {
    record(conn, job, status).await?;
    sqlx::query!("update jobs set started_at = coalesce(started_at, now()) where id = $1", job.id as JobId)
        .execute(conn)
        .await
        .map(drop)
}

/// Records the end of the attempt of a locked job.
pub async fn record_end(
    conn: &mut PgConnection,
    job: &Job,
    status: &Status,
    counts: Counts,
) -> sqlx::Result<()> {
    record(conn, job, status).await?;
    sqlx::query!(
        "update jobs
         set failures = $2, preemptions = $3, recalls = $4, leave_by = null, queued_at = now() where id = $1",
        job.id as JobId,
        counts.failures,
        counts.preemptions,
        counts.recalls,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Sums up the cost of a job's ended attempts, in the currency of the last one that had a price.
pub async fn sum_costs(conn: &mut PgConnection, id: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "update jobs j set cost = s.cost, cost_currency = s.currency, cost_seconds = s.seconds
         from (select a.currency, sum(a.cost) as cost, sum(a.charged_seconds)::bigint as seconds from attempts a
               where a.job_id = $1 and a.cost is not null
                 and a.currency = (select l.currency from attempts l where l.job_id = $1 and l.cost is not null
                                   order by l.number desc limit 1)
               group by a.currency) s
         where j.id = $1",
        id as JobId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes up to `most` jobs that ended more than `days` ago, with all that belongs to them. Returns how many.
pub async fn delete_ended(conn: &mut PgConnection, days: i32, most: i64) -> sqlx::Result<u64> {
    let done = sqlx::query_scalar!(
        r#"with gone as (
               delete from jobs where id in (
                   select id from jobs where ended_at < now() - make_interval(days => $1) order by ended_at limit $2)
               returning id),
           swept as (update outputs o set delete_at = now() from gone
                     where o.job_id = gone.id and not exists (
                         select from models m where m.job_id = o.job_id and m.attempt = o.attempt))
           select count(*) as "count!" from gone"#,
        days,
        most,
    );
    Ok(done.fetch_one(conn).await?.unsigned_abs())
}
