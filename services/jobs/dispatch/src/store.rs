//! SQL of the scheduler.

use std::time::Duration;

use ids::{JobId, PoolId, TenantId, WorkerId};
use jiff::Timestamp;
use jobs_core::kind::{GroupMode, Level};
use sqlx::PgConnection;
use views::store::{SliceRow, UseRow};

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

/// Releases the lease.
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

/// Locks the epoch until the transaction ends: another leader begins only after it. False if there is a later
/// epoch.
pub(super) async fn fence(conn: &mut PgConnection, pool: PoolId, epoch: i64) -> sqlx::Result<bool> {
    let found = sqlx::query_scalar!(
        "select epoch from pools where id = $1 and epoch = $2 for share",
        pool as PoolId,
        epoch,
    );
    Ok(found.fetch_optional(conn).await?.is_some())
}

/// Stores for these queued jobs whether they may start, where that has changed.
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

/// Assigns a queued job of a pool. None if it is no longer queued there, or may not start.
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

/// Ends a queued job whose deadline has passed. False if it is no longer queued, or has another deadline.
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

/// Returns the jobs of a pool whose attempts have reached the cost limit and have not been told to leave.
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

/// Binds the node of its worker to the group of an assigned job, and unbinds other groups from it.
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

/// Releases a node from its group.
pub(super) async fn unbind_group(conn: &mut PgConnection, pool: PoolId, node: &str) -> sqlx::Result<()> {
    sqlx::query!("delete from group_nodes where pool_id = $1 and node = $2", pool as PoolId, node)
        .execute(conn)
        .await
        .map(drop)
}

/// Stores what tenants have used, except deleted tenants.
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
