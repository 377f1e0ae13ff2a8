//! The rows from which a pool is loaded, and the changes that it follows.

use feed::{Cursor, Outbox};
use ids::{JobId, ModelId, PoolId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::{
    kind::{GroupMode, Level},
    needs::Needs,
    status::{JobState, QueuedReason},
};
use sqlx::PgConnection;

/// Changes of pools. Read by every leader, without notifications.
pub const CHANGES: Outbox = Outbox { table: "pool_changes", channel: "pool_changes" };

/// Makes all statements of the transaction read the same snapshot. Must be the first statement.
pub async fn begin_snapshot(conn: &mut PgConnection) -> sqlx::Result<()> {
    sqlx::query("set transaction isolation level repeatable read, read only").execute(conn).await.map(drop)
}

/// Returns the position in the feed of changes: later commits are after it.
pub async fn position(conn: &mut PgConnection) -> sqlx::Result<Cursor> {
    let text = sqlx::query_scalar!(r#"select pg_current_snapshot()::text as "snapshot!""#);
    let text = text.fetch_one(conn).await?;
    text.parse().map_err(|error: feed::InvalidCursor| sqlx::Error::Decode(error.into()))
}

/// Returns the names of a pool's GPU specifications; none if the pool is gone.
pub async fn gpu_specs(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Option<Vec<String>>> {
    sqlx::query_scalar!("select gpu_specs from pools where id = $1", pool as PoolId)
        .fetch_optional(conn)
        .await
}

/// The fields of a job that scheduling needs.
#[derive(Debug, Clone)]
pub struct JobRow {
    pub id: JobId,
    pub tenant_id: TenantId,
    pub pool_id: PoolId,
    pub application: String,
    pub base_model: Option<String>,
    pub level: Level,
    pub priority: i16,
    pub group_name: Option<String>,
    pub group_mode: Option<GroupMode>,
    pub model: Option<ModelId>,
    pub class: String,
    pub state: JobState,
    pub worker_id: Option<WorkerId>,
    pub gang_size: i16,
    pub same_node: bool,
    /// Workers of the open attempt of a gang, by rank.
    pub members: Vec<WorkerId>,
    pub reason: Option<QueuedReason>,
    /// Why it does not start: the stored and the current reason.
    pub hold: Option<QueuedReason>,
    pub held: Option<QueuedReason>,
    pub not_before: Option<jiff_sqlx::Timestamp>,
    pub deadline: Option<jiff_sqlx::Timestamp>,
    pub preemptions: i16,
    pub recalls: i16,
    pub leave_by: Option<jiff_sqlx::Timestamp>,
    pub created_at: Timestamp,
    pub queued_at: Timestamp,
    // of the open attempt
    pub assigned_at: Option<jiff_sqlx::Timestamp>,
    pub slice_from: Option<jiff_sqlx::Timestamp>,
    pub slice_until: Option<jiff_sqlx::Timestamp>,
    pub slice_charge: Option<String>,
    /// How long the successful attempt ran.
    pub seconds: Option<f64>,
    /// It has left its worker, which has its results.
    pub is_delivering: bool,
    /// The specification on which it ran out of memory, if the pool has workers of a larger one.
    pub too_small: Option<String>,
}

impl JobRow {
    /// The models that a worker must have.
    pub fn needs(&self) -> Option<Needs> {
        Needs::of_job(&self.application, self.base_model.as_deref())
    }

    /// Whether it waits, and it must be stored whether it may start.
    pub fn is_unmarked(&self) -> bool {
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
pub async fn open_jobs(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<JobRow>> {
    select_jobs!("where j.pool_id = $1 and j.ended_at is null order by j.id", pool as PoolId)
        .fetch_all(conn)
        .await
}

/// Returns these jobs.
pub async fn jobs(conn: &mut PgConnection, ids: &[JobId]) -> sqlx::Result<Vec<JobRow>> {
    select_jobs!("where j.id = any($1) order by j.id", ids as &[JobId]).fetch_all(conn).await
}

/// Returns the jobs of a pool with ids after this one, ended ones included. Bounded by [`newest_jobs`].
pub async fn jobs_after(conn: &mut PgConnection, pool: PoolId, after: JobId) -> sqlx::Result<Vec<JobRow>> {
    select_jobs!("where j.pool_id = $1 and j.id > $2 order by j.id", pool as PoolId, after as JobId)
        .fetch_all(conn)
        .await
}

/// Returns the id of the job that precedes the `most` newest jobs of all pools. None if at most `most` jobs follow `least`.
pub async fn newest_jobs(conn: &mut PgConnection, least: JobId, most: i64) -> sqlx::Result<Option<JobId>> {
    sqlx::query_scalar!(
        r#"select id as "id: JobId" from jobs where id > $1 order by id desc offset $2 limit 1"#,
        least as JobId,
        most,
    )
    .fetch_optional(conn)
    .await
}

/// Returns why jobs of a tenant do not start; none if they do.
pub async fn hold_of(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<Option<QueuedReason>> {
    sqlx::query_scalar!(r#"select tenant_hold($1) as "hold?: QueuedReason""#, tenant as TenantId)
        .fetch_one(conn)
        .await
}

/// A node that a strict group holds.
pub struct GroupNodeRow {
    pub tenant_id: TenantId,
    pub group_name: String,
    pub node: String,
    pub bound_at: Timestamp,
    /// When the last of its jobs ended.
    pub used_at: Timestamp,
}

/// Returns the nodes of a pool that strict groups hold.
pub async fn group_nodes(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<GroupNodeRow>> {
    sqlx::query_as!(
        GroupNodeRow,
        "select tenant_id, group_name, node, bound_at, used_at from group_nodes where pool_id = $1",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// A tenant's use of a pool.
#[derive(Debug, PartialEq, Eq)]
pub struct UseRow {
    pub tenant_id: TenantId,
    pub used: String,
    pub epoch: i64,
}

pub async fn uses(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<UseRow>> {
    sqlx::query_as!(
        UseRow,
        "select tenant_id, use as used, epoch from pool_use where pool_id = $1 order by tenant_id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// The part of an attempt that was charged last.
#[derive(Debug, PartialEq, Eq)]
pub struct SliceRow {
    pub job: JobId,
    pub from: Timestamp,
    pub until: Timestamp,
    pub charge: String,
}

/// Returns classes and durations in seconds of the latest successful attempts, oldest first.
pub async fn durations(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<(String, f64)>> {
    let rows = sqlx::query!(
        r#"select class, extract(epoch from ended_at - coalesce(begun_at, assigned_at))::float8 as "seconds!"
           from attempts where state = 'succeeded' order by ended_at desc limit $1"#,
        limit,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().rev().map(|row| (row.class, row.seconds)).collect())
}

/// Returns durations in seconds of the latest successful attempts of a class, of all tenants, oldest first.
pub async fn durations_of(conn: &mut PgConnection, class: &str, limit: i64) -> sqlx::Result<Vec<f64>> {
    sqlx::query_scalar!(r#"select seconds as "seconds!" from class_durations($1, $2)"#, class, limit)
        .fetch_all(conn)
        .await
}
