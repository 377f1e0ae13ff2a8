//! SQL of the scheduler.

use std::time::Duration;

use feed::{Cursor, Outbox};
use ids::{JobId, ModelId, PoolId, TenantId, WorkerId};
use jiff::Timestamp;
use sqlx::PgConnection;

use crate::{
    base_model::Needs,
    job::{GroupMode, JobState, Level, QueuedReason},
};

/// What has changed in pools. Read by every leader, without notifications.
pub(super) const CHANGES: Outbox = Outbox { table: "pool_changes", channel: "pool_changes" };

pub(super) async fn pools(conn: &mut PgConnection) -> sqlx::Result<Vec<PoolId>> {
    sqlx::query_scalar!("select id from pools order by id").fetch_all(conn).await
}

/// Takes the lease of a pool, if it is free or this process's own. Returns the new epoch.
pub(super) async fn lead(
    conn: &mut PgConnection,
    pool: PoolId,
    leader: uuid::Uuid,
    lease: Duration,
) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar!(
        "update pools
         set leader = $2, leader_until = clock_timestamp() + make_interval(secs => $3), epoch = epoch + 1
         where id = $1 and (leader is null or leader = $2 or leader_until < clock_timestamp())
         returning epoch",
        pool as PoolId,
        leader,
        lease.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await
}

/// Extends the lease. False if there is a later epoch.
pub(super) async fn renew(
    conn: &mut PgConnection,
    pool: PoolId,
    epoch: i64,
    lease: Duration,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update pools set leader_until = clock_timestamp() + make_interval(secs => $3)
         where id = $1 and epoch = $2",
        pool as PoolId,
        epoch,
        lease.as_secs_f64(),
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Gives the lease up.
pub(super) async fn release(conn: &mut PgConnection, pool: PoolId, epoch: i64) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set leader = null, leader_until = null where id = $1 and epoch = $2",
        pool as PoolId,
        epoch,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Keeps the epoch until the transaction ends: another leader begins after it. False if there is a later epoch.
pub(super) async fn fence(conn: &mut PgConnection, pool: PoolId, epoch: i64) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "select epoch from pools where id = $1 and epoch = $2 for share",
        pool as PoolId,
        epoch,
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// Lets all statements of the transaction read the state of one moment. The first statement.
pub(super) async fn at_one_moment(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(conn).await.map(drop)
}

/// Returns the position in the feed of changes: what commits later is after it.
pub(super) async fn position(conn: &mut PgConnection) -> sqlx::Result<Cursor> {
    let text = sqlx::query_scalar!(r#"select pg_current_snapshot()::text as "snapshot!""#);
    let text = text.fetch_one(conn).await?;
    text.parse().map_err(|error: feed::InvalidCursor| sqlx::Error::Decode(error.into()))
}

/// Returns the names of a pool's GPU specifications; none if the pool is gone.
pub(super) async fn gpu_specs(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Option<Vec<String>>> {
    sqlx::query_scalar!("select gpu_specs from pools where id = $1", pool as PoolId)
        .fetch_optional(conn)
        .await
}

/// A job, as far as scheduling knows it.
#[derive(Debug, Clone)]
pub(super) struct JobRow {
    pub(super) id: JobId,
    pub(super) tenant_id: TenantId,
    pub(super) pool_id: PoolId,
    pub(super) application: String,
    pub(super) base_model: Option<String>,
    pub(super) level: Level,
    pub(super) priority: i16,
    pub(super) group_name: Option<String>,
    pub(super) group_mode: Option<GroupMode>,
    pub(super) model: Option<ModelId>,
    pub(super) class: String,
    pub(super) state: JobState,
    pub(super) worker_id: Option<WorkerId>,
    pub(super) gang_size: i16,
    pub(super) same_node: bool,
    /// Of the open attempt of a gang, by rank.
    pub(super) members: Vec<WorkerId>,
    pub(super) reason: Option<QueuedReason>,
    /// Why it does not start, as stored, and now.
    pub(super) hold: Option<QueuedReason>,
    pub(super) held: Option<QueuedReason>,
    pub(super) not_before: Option<jiff_sqlx::Timestamp>,
    pub(super) deadline: Option<jiff_sqlx::Timestamp>,
    pub(super) preemptions: i16,
    pub(super) recalls: i16,
    pub(super) leave_by: Option<jiff_sqlx::Timestamp>,
    pub(super) created_at: Timestamp,
    pub(super) queued_at: Timestamp,
    // of the open attempt
    pub(super) assigned_at: Option<jiff_sqlx::Timestamp>,
    pub(super) slice_from: Option<jiff_sqlx::Timestamp>,
    pub(super) slice_until: Option<jiff_sqlx::Timestamp>,
    pub(super) slice_charge: Option<String>,
    /// How long the successful attempt ran.
    pub(super) seconds: Option<f64>,
    /// It has left its worker, which has its results.
    pub(super) is_delivering: bool,
    /// The specification on which it ran out of memory, if the pool has workers of a larger one.
    pub(super) too_small: Option<String>,
}

impl JobRow {
    /// What a worker has to have.
    pub(super) fn needs(&self) -> Option<Needs> {
        Needs::of_job(&self.application, self.base_model.as_deref())
    }

    /// Whether it waits, and it is to be stored whether it may start.
    pub(super) fn is_unmarked(&self) -> bool {
        self.state == JobState::Queued && self.hold != self.held
    }
}

/// Selects jobs. A macro, as the text of a checked query is a literal.
macro_rules! select_jobs {
    ($rest:literal, $($arguments:tt)*) => {
        sqlx::query_as!(
            JobRow,
            r#"select j.id, j.tenant_id, j.pool_id, j.application, j.base_model, j.level, j.priority, j.group_name, j.group_mode, j.model, j.class, j.state,
                      j.worker_id, j.gang_size, j.same_node,
                      array(select m.worker_id from attempt_members m where m.job_id = j.id and m.attempt = j.attempt
                            order by m.rank) as "members!: Vec<WorkerId>",
                      j.reason, j.hold as "hold?: QueuedReason", tenant_hold(j.tenant_id) as "held?: QueuedReason", j.not_before, j.deadline, j.preemptions, j.recalls, j.leave_by, j.created_at,
                      j.queued_at,
                      a.assigned_at as "assigned_at?", a.slice_from as "slice_from?", a.slice_until as "slice_until?",
                      a.slice_charge as "slice_charge?",
                      case when a.state = 'succeeded'
                           then extract(epoch from a.ended_at - coalesce(a.begun_at, a.assigned_at))::float8
                      end as "seconds?",
                      coalesce(a.state = 'open' and a.delivering_at is not null, false) as "is_delivering!",
                      case when j.failures > 0 then (
                          select small.gpu_spec from attempts small join pools p on p.id = j.pool_id
                          where small.job_id = j.id and small.problem ->> 'code' = 'out-of-memory' and exists (
                              select from workers w where w.pool_id = p.id and w.state = 'ready'
                                 and array_position(p.gpu_specs, w.gpu_spec) > array_position(p.gpu_specs, small.gpu_spec))
                          order by small.number desc limit 1)
                      end as "too_small?"
               from jobs j left join attempts a on a.job_id = j.id and a.number = j.attempt "# + $rest,
            $($arguments)*
        )
    };
}

/// Returns the open jobs of a pool.
pub(super) async fn open_jobs(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<JobRow>> {
    select_jobs!("where j.pool_id = $1 and j.ended_at is null order by j.id", pool as PoolId)
        .fetch_all(conn)
        .await
}

/// Returns these jobs.
pub(super) async fn jobs(conn: &mut PgConnection, ids: &[JobId]) -> sqlx::Result<Vec<JobRow>> {
    select_jobs!("where j.id = any($1) order by j.id", ids as &[JobId]).fetch_all(conn).await
}

/// Returns the jobs of a pool that came after another one, ended ones included. Bounded by [`newest_jobs`].
pub(super) async fn jobs_after(
    conn: &mut PgConnection,
    pool: PoolId,
    after: JobId,
) -> sqlx::Result<Vec<JobRow>> {
    select_jobs!("where j.pool_id = $1 and j.id > $2 order by j.id", pool as PoolId, after as JobId)
        .fetch_all(conn)
        .await
}

/// Returns the id of the job that precedes the `most` newest jobs of all pools. None if at most `most` jobs follow `least`.
pub(super) async fn newest_jobs(
    conn: &mut PgConnection,
    least: JobId,
    most: i64,
) -> sqlx::Result<Option<JobId>> {
    sqlx::query_scalar!(
        r#"select id as "id: JobId" from jobs where id > $1 order by id desc offset $2 limit 1"#,
        least as JobId,
        most,
    )
    .fetch_optional(conn)
    .await
}

/// Returns why jobs of a tenant do not start; none if they do.
pub(super) async fn hold_of(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<QueuedReason>> {
    sqlx::query_scalar!(r#"select tenant_hold($1) as "hold?: QueuedReason""#, tenant as TenantId)
        .fetch_one(conn)
        .await
}

/// Stores with these jobs that wait whether they may start, where that has changed.
pub(super) async fn mark_holds(conn: &mut PgConnection, jobs: &[JobId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update jobs set hold = tenant_hold(tenant_id), generation = generation + 1
         where id = any($1) and state = 'queued' and hold is distinct from tenant_hold(tenant_id)",
        jobs as &[JobId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An assigned job.
pub(super) struct Assigned {
    /// Number of the attempt.
    pub(super) attempt: i32,
    pub(super) level: Level,
    pub(super) group_mode: Option<GroupMode>,
    /// Seconds since it was submitted, or its last attempt ended.
    pub(super) waited: f64,
}

/// Assigns a queued job of a pool. None if it is not queued there any more, or may not start.
pub(super) async fn assign(
    conn: &mut PgConnection,
    pool: PoolId,
    job: JobId,
    worker: WorkerId,
) -> sqlx::Result<Option<Assigned>> {
    sqlx::query_as!(
        Assigned,
        r#"update jobs
         set state = 'assigned', attempt = attempt + 1, worker_id = $2, reason = null, hold = null, not_before = null,
             generation = generation + 1
         where id = $1 and state = 'queued' and pool_id = $3 and tenant_hold(tenant_id) is null
         returning attempt, level, group_mode, extract(epoch from now() - queued_at)::float8 as "waited!""#,
        job as JobId,
        worker as WorkerId,
        pool as PoolId,
    )
    .fetch_optional(conn)
    .await
}

/// Ends a queued job whose deadline has passed. False if it is not queued any more, or has another deadline.
pub(super) async fn expire(conn: &mut PgConnection, job: JobId, now: Timestamp) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update jobs
         set state = 'expired', ended_at = now(), reason = null, hold = null, not_before = null, generation = generation + 1
         where id = $1 and state = 'queued' and deadline <= $2",
        job as JobId,
        jiff_sqlx::Timestamp::from(now) as _,
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Makes a queued background job ordinary.
pub(super) async fn promote(conn: &mut PgConnection, job: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "update jobs set level = 'ordinary', generation = generation + 1
         where id = $1 and state = 'queued' and level = 'background'",
        job as JobId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Tells the attempt of a job to leave. False if none is open.
pub(super) async fn tell_to_leave(conn: &mut PgConnection, job: JobId, time: Duration) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update jobs
         set leave_by = now() + make_interval(secs => $2), generation = generation + 1
         where id = $1 and state in ('assigned', 'running') and leave_by is null",
        job as JobId,
        time.as_secs_f64(),
    );
    Ok(done.execute(conn).await?.rows_affected() == 1)
}

/// Returns the jobs of a pool whose attempts cost as much as the job may, and have not been told to leave.
pub(super) async fn over_cost(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<JobId>> {
    sqlx::query_scalar!(
        "select j.id from attempts a join jobs j on j.id = a.job_id
         where a.state = 'open' and a.delivering_at is null and a.stop_at <= now() and j.pool_id = $1
           and j.state in ('assigned', 'running') and j.leave_by is null
         order by j.id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// A node that a strict group holds.
pub(super) struct GroupNodeRow {
    pub(super) tenant_id: TenantId,
    pub(super) group_name: String,
    pub(super) node: String,
    pub(super) bound_at: Timestamp,
    /// When the last of its jobs ended.
    pub(super) used_at: Timestamp,
}

/// Returns the nodes of a pool that strict groups hold.
pub(super) async fn group_nodes(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<GroupNodeRow>> {
    sqlx::query_as!(
        GroupNodeRow,
        "select tenant_id, group_name, node, bound_at, used_at from group_nodes where pool_id = $1",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Lets the group of an assigned job hold the node of its worker, and no other group.
pub(super) async fn bind_group(conn: &mut PgConnection, job: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from group_nodes g using jobs j, workers w
         where j.id = $1 and w.id = j.worker_id and g.pool_id = j.pool_id and g.node = w.node
           and (g.tenant_id, g.group_name) <> (j.tenant_id, j.group_name)",
        job as JobId,
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query!(
        "insert into group_nodes as g (pool_id, tenant_id, group_name, node)
         select j.pool_id, j.tenant_id, j.group_name, w.node from jobs j join workers w on w.id = j.worker_id
         where j.id = $1
         on conflict (pool_id, tenant_id, group_name) do update set node = excluded.node, bound_at = now()
         where g.node <> excluded.node",
        job as JobId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Lets no group hold a node.
pub(super) async fn unbind_group(conn: &mut PgConnection, pool: PoolId, node: &str) -> sqlx::Result<()> {
    sqlx::query!("delete from group_nodes where pool_id = $1 and node = $2", pool as PoolId, node)
        .execute(conn)
        .await
        .map(drop)
}

/// A tenant's use of a pool.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct UseRow {
    pub(super) tenant_id: TenantId,
    pub(super) used: String,
    pub(super) epoch: i64,
}

pub(super) async fn uses(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<UseRow>> {
    sqlx::query_as!(
        UseRow,
        "select tenant_id, use as used, epoch from pool_use where pool_id = $1 order by tenant_id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Stores what tenants have used, except those that are deleted.
pub(super) async fn put_uses(conn: &mut PgConnection, pool: PoolId, uses: &[UseRow]) -> sqlx::Result<()> {
    let tenants: Vec<TenantId> = uses.iter().map(|row| row.tenant_id).collect();
    let used: Vec<String> = uses.iter().map(|row| row.used.clone()).collect();
    let epochs: Vec<i64> = uses.iter().map(|row| row.epoch).collect();
    sqlx::query!(
        "insert into pool_use (pool_id, tenant_id, use, epoch)
         select $1, used.* from unnest($2::uuid[], $3::text[], $4::bigint[]) as used (tenant_id, use, epoch)
         where not exists (select from tenants t where t.id = used.tenant_id and t.state = 'deleting')
         on conflict (pool_id, tenant_id) do update set use = excluded.use, epoch = excluded.epoch",
        pool as PoolId,
        &tenants as &[TenantId],
        &used,
        &epochs,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// The part of an attempt that was charged last.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SliceRow {
    pub(super) job: JobId,
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) charge: String,
}

/// Stores slices of open attempts.
pub(super) async fn put_slices(conn: &mut PgConnection, slices: &[SliceRow]) -> sqlx::Result<()> {
    let jobs: Vec<JobId> = slices.iter().map(|row| row.job).collect();
    let from: Vec<jiff_sqlx::Timestamp> = slices.iter().map(|row| row.from.into()).collect();
    let until: Vec<jiff_sqlx::Timestamp> = slices.iter().map(|row| row.until.into()).collect();
    let charges: Vec<String> = slices.iter().map(|row| row.charge.clone()).collect();
    sqlx::query!(
        "update attempts a set slice_from = s.begin, slice_until = s.until, slice_charge = s.charge
         from unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::text[]) as s(job, begin, until, charge)
         where a.job_id = s.job and a.state = 'open'",
        &jobs as &[JobId],
        &from as &[jiff_sqlx::Timestamp],
        &until as &[jiff_sqlx::Timestamp],
        &charges,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns classes and durations in seconds of the latest successful attempts, oldest first.
pub(super) async fn durations(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<(String, f64)>> {
    let rows = sqlx::query!(
        r#"select class, extract(epoch from ended_at - coalesce(begun_at, assigned_at))::float8 as "seconds!"
           from attempts where state = 'succeeded' order by ended_at desc limit $1"#,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().rev().map(|row| (row.class, row.seconds)).collect())
}

/// Returns durations in seconds of the latest successful attempts of a class, of all tenants, oldest first.
pub(super) async fn durations_of(conn: &mut PgConnection, class: &str, limit: i64) -> sqlx::Result<Vec<f64>> {
    sqlx::query_scalar!(r#"select seconds as "seconds!" from class_durations($1, $2)"#, class, limit)
        .fetch_all(conn)
        .await
}
