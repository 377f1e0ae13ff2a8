//! SQL of the workers that the platform runs itself.

use std::time::Duration;

use ids::{InstanceId, JobId, PoolId, TenantId, WorkerId};
use jiff::{SignedDuration, Timestamp};
use jobs_core::{
    fleet::{Member, Size},
    worker::{Tenure, WorkerStage, WorkerState},
};
use records::pool;
use sqlx::PgConnection;

/// Time between the end of a job on a recalled worker and the stop of its instance.
const LEAVES_BEFORE: SignedDuration = SignedDuration::from_secs(3);

/// Returns the pools that have, or may have had, workers of the platform.
pub(super) async fn pools(conn: &mut PgConnection) -> sqlx::Result<Vec<PoolId>> {
    sqlx::query_scalar!("select id from pools where owner_id is not null order by id").fetch_all(conn).await
}

/// A pool whose workers the platform runs.
pub(super) struct FleetPool {
    pub(super) gpu_specs: Vec<String>,
    pub(super) service: Option<String>,
    pub(super) version: Option<String>,
    pub(super) size: Size,
    /// Whether workers have failed, and the next order is delayed.
    pub(super) is_delayed: bool,
    /// Whether the stock may be asked for spare units.
    pub(super) may_lend: bool,
}

impl FleetPool {
    /// Returns the firm worker to order; none if the platform runs none now.
    pub(super) fn worker(&self) -> Option<NewWorker<'_>> {
        let (service, gpu_spec) = self.service.as_deref().zip(self.gpu_specs.first())?;
        let new = NewWorker { gpu_spec, service, version: self.version.as_deref(), tenure: Tenure::Firm };
        (!self.is_delayed).then_some(new)
    }
}

/// Locks a pool against other decisions about its workers, and its scheduler.
pub(super) async fn lock_pool(conn: &mut PgConnection, id: PoolId) -> sqlx::Result<Option<FleetPool>> {
    let row = sqlx::query!(
        r#"select gpu_specs, service, version, min_workers, max_workers, lent_max, wanted,
                  coalesce(retry_at > now(), false) as "is_delayed!", coalesce(lend_at <= now(), true) as "may_lend!"
           from pools where id = $1 for no key update"#,
        id as PoolId,
    );
    let count = |stored: i32| u32::try_from(stored).unwrap_or_default();
    Ok(row.fetch_optional(conn).await?.map(|row| FleetPool {
        gpu_specs: row.gpu_specs,
        service: row.service,
        version: row.version,
        size: Size {
            min: count(row.min_workers),
            max: count(row.max_workers),
            lent_max: count(row.lent_max),
            wanted: count(row.wanted),
        },
        is_delayed: row.is_delayed,
        may_lend: row.may_lend,
    }))
}

/// Locks the workers of a pool that the platform runs.
pub(super) async fn lock_members(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<Member>> {
    let rows = sqlx::query!(
        r#"select id, stage as "stage!: WorkerStage", tenure,
                  (current_job is not null
                   or exists (select from attempts a where a.worker_id = workers.id and a.state = 'open'
                                 and a.delivering_at is not null)) as "is_busy!",
                  greatest(extract(epoch from now() - idle_since), 0)::float8 as "idle!"
           from workers where pool_id = $1 and stage is not null order by id for update"#,
        pool as PoolId,
    );
    let idle = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default();
    let rows = rows.fetch_all(conn).await?.into_iter();
    let members = rows.map(|row| Member {
        id: row.id,
        stage: row.stage,
        tenure: row.tenure,
        is_busy: row.is_busy,
        idle: idle(row.idle),
    });
    Ok(members.collect())
}

/// Delays the next request for spare units by this time.
pub(super) async fn delay_lending(conn: &mut PgConnection, pool: PoolId, time: Duration) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set lend_at = now() + make_interval(secs => $2) where id = $1",
        pool as PoolId,
        time.as_secs_f64(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A worker whose instance is ordered.
pub(super) struct Order {
    pub(super) pool: PoolId,
    pub(super) instance: InstanceId,
    pub(super) owner: TenantId,
    pub(super) name: String,
    pub(super) gpu_spec: String,
    pub(super) service: String,
    pub(super) version: Option<String>,
    pub(super) tenure: Tenure,
    /// Its pool runs jobs of its owner only.
    pub(super) dedicated: bool,
}

/// A worker to order.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewWorker<'a> {
    pub(super) gpu_spec: &'a str,
    pub(super) service: &'a str,
    pub(super) version: Option<&'a str>,
    pub(super) tenure: Tenure,
}

/// Inserts a worker whose instance is to be ordered. Only the process that has its token does so, within
/// `time`.
pub(super) async fn insert(
    conn: &mut PgConnection,
    pool: PoolId,
    id: WorkerId,
    new: NewWorker<'_>,
    token_hash: &[u8],
    time: Duration,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into workers
             (id, pool_id, name, gpu_spec, node, token_hash, instance_id, stage, service, version, tenure, check_at)
         values ($1, $2, $3, $4, '', $5, $6, 'ordered', $7, $8, $9, now() + make_interval(secs => $10))",
        id as WorkerId,
        pool as PoolId,
        // the end of the id is random
        format!("worker-{}", &id.uuid().simple().to_string()[20..]),
        new.gpu_spec,
        token_hash,
        InstanceId::new() as InstanceId,
        new.service,
        new.version,
        new.tenure as Tenure,
        time.as_secs_f64(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns an order that is not confirmed, and extends its time. None if it was given up.
pub(super) async fn extend_order(
    conn: &mut PgConnection,
    worker: WorkerId,
    time: Duration,
) -> sqlx::Result<Option<Order>> {
    sqlx::query_as!(
        Order,
        r#"update workers w set check_at = now() + make_interval(secs => $2)
           from pools p
           where w.id = $1 and w.stage = 'ordered' and p.id = w.pool_id
           returning w.pool_id as pool, w.instance_id as "instance!: InstanceId", p.owner_id as "owner!: TenantId", w.name,
                     w.gpu_spec, w.service as "service!", w.version, w.tenure, p.dedicated"#,
        worker as WorkerId,
        time.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await
}

/// Records that the gpu service has the order.
pub(super) async fn confirm(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<()> {
    sqlx::query!(
        "update workers set stage = 'placed', check_at = now() where id = $1 and stage = 'ordered'",
        worker as WorkerId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Lets the instance of a worker be deleted whose session has ended.
pub(super) async fn leave(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<()> {
    sqlx::query!(
        "update workers set stage = 'leaving', check_at = now() where id = $1 and state = 'offline' and stage is not null",
        worker as WorkerId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A worker to compare with its instance.
pub(super) struct Due {
    pub(super) id: WorkerId,
    pub(super) pool: PoolId,
    pub(super) instance: InstanceId,
    pub(super) stage: WorkerStage,
    pub(super) tenure: Tenure,
    pub(super) state: WorkerState,
    pub(super) node: String,
    pub(super) created_at: Timestamp,
    /// Seconds for which its instance has run while no process was registered; none if one is, or it does not run.
    pub(super) silent: Option<f64>,
}

/// Returns workers to compare with their instances, each to one caller. They are compared often until they
/// are ready, and rarely afterwards, in case an event was missed.
pub(super) async fn take_due(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Due>> {
    sqlx::query_as!(
        Due,
        r#"update workers w
           set check_at = now() + make_interval(secs => case when w.state = 'ready' then 30 else 2 end)
           where w.id in (select id from workers where check_at <= now() order by check_at limit $1
                          for update skip locked)
           returning w.id, w.pool_id as pool, w.instance_id as "instance!: InstanceId", w.stage as "stage!: WorkerStage",
                     w.tenure, w.state, w.node, w.created_at,
                     extract(epoch from now() - w.silent_since)::float8 as silent"#,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Makes the workers with these instances due for comparison in the next round.
pub(super) async fn check_now(conn: &mut PgConnection, instances: &[InstanceId]) -> sqlx::Result<()> {
    sqlx::query!(
        "update workers set check_at = now() where instance_id = any($1) and stage <> 'ordered' and check_at > now()",
        instances as &[InstanceId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Closes a worker for new jobs, as its instance has lost its unit, and makes it leave its job before
/// `leave_by`.
pub(super) async fn recall(
    conn: &mut PgConnection,
    pool: PoolId,
    worker: WorkerId,
    leave_by: Timestamp,
) -> sqlx::Result<()> {
    let job = sqlx::query_scalar!(
        "update workers
         set leave_by = $2, stage = case when stage = 'leaving' then stage else 'draining' end
         where id = $1 and leave_by is null
         returning current_job",
        worker as WorkerId,
        jiff_sqlx::Timestamp::from(leave_by) as _,
    );
    let Some(job) = job.fetch_optional(&mut *conn).await? else { return Ok(()) };
    sqlx::query!(
        "update jobs set leave_by = $2, generation = generation + 1
         where id = $1 and state in ('assigned', 'running', 'cancelling') and (leave_by is null or leave_by > $2)",
        job as Option<JobId>,
        jiff_sqlx::Timestamp::from(leave_by - LEAVES_BEFORE) as _,
    )
    .execute(&mut *conn)
    .await?;
    pool::publish(conn, pool, &pool::Changed::Worker(worker)).await
}

/// Stores the order in which lent workers are recalled.
pub async fn set_ranks(conn: &mut PgConnection, ranks: &[(WorkerId, i16)]) -> sqlx::Result<()> {
    let (workers, ranks): (Vec<WorkerId>, Vec<i16>) = ranks.iter().copied().unzip();
    sqlx::query!(
        "update workers w set recall_rank = r.rank from unnest($1::uuid[], $2::smallint[]) as r(id, rank)
         where w.id = r.id",
        &workers as &[WorkerId],
        &ranks,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// A lent worker whose rank the gpu service does not know.
pub(super) struct Untold {
    pub(super) id: WorkerId,
    pub(super) instance: InstanceId,
    pub(super) rank: i16,
}

/// Returns lent workers whose ranks the gpu service does not know.
pub(super) async fn untold(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Untold>> {
    sqlx::query_as!(
        Untold,
        r#"select id, instance_id as "instance!: InstanceId", recall_rank as rank from workers
           where recall_rank <> told_rank and stage in ('placed', 'draining') and leave_by is null order by id limit $1"#,
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Records the rank that the gpu service knows.
pub(super) async fn set_told(conn: &mut PgConnection, worker: WorkerId, rank: i16) -> sqlx::Result<()> {
    sqlx::query!("update workers set told_rank = $2 where id = $1", worker as WorkerId, rank)
        .execute(conn)
        .await
        .map(drop)
}

/// Records the node of a worker.
pub(super) async fn set_node(
    conn: &mut PgConnection,
    pool: PoolId,
    worker: WorkerId,
    node: &str,
) -> sqlx::Result<()> {
    sqlx::query!("update workers set node = $2 where id = $1", worker as WorkerId, node)
        .execute(&mut *conn)
        .await?;
    pool::publish(conn, pool, &pool::Changed::Worker(worker)).await
}

/// Records that the instance of a worker runs, and no process is registered.
pub(super) async fn begin_silence(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<()> {
    sqlx::query!(
        "update workers set silent_since = now() where id = $1 and state = 'offline' and silent_since is null",
        worker as WorkerId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes a worker without an instance.
pub(super) async fn delete(conn: &mut PgConnection, worker: WorkerId) -> sqlx::Result<()> {
    sqlx::query!("delete from workers where id = $1 and stage = 'leaving'", worker as WorkerId)
        .execute(conn)
        .await
        .map(drop)
}

/// Records that a worker has failed. Returns the number of failures in a row.
pub(super) async fn count_failure(conn: &mut PgConnection, pool: PoolId, problem: &str) -> sqlx::Result<u32> {
    let failures = sqlx::query_scalar!(
        "update pools set failures = failures + 1, problem = $2 where id = $1 returning failures",
        pool as PoolId,
        problem,
    );
    Ok(failures.fetch_optional(conn).await?.map_or(0, |count| u32::try_from(count).unwrap_or_default()))
}

/// Delays the next order by this time.
pub(super) async fn delay(conn: &mut PgConnection, pool: PoolId, time: Duration) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set retry_at = now() + make_interval(secs => $2) where id = $1",
        pool as PoolId,
        time.as_secs_f64(),
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Resets the number of failures: a worker is ready.
pub(super) async fn forget_failures(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set failures = 0, retry_at = null, problem = null where id = $1 and failures > 0",
        pool as PoolId,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Stores how many workers the queue needs, unless there is a later scheduler.
pub async fn set_wanted(conn: &mut PgConnection, pool: PoolId, epoch: i64, wanted: u32) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set wanted = $3 where id = $1 and epoch = $2 and wanted <> $3",
        pool as PoolId,
        epoch,
        i32::try_from(wanted).unwrap_or(i32::MAX),
    )
    .execute(conn)
    .await
    .map(drop)
}
