//! SQL of moves between pools.

use std::time::Duration;

use ids::{JobId, PoolId, TenantId};
use jobs_core::{kind::Level, needs::Needs};
use records::pool::{self, Changed};
use sqlx::PgConnection;

/// Maximum number of jobs that are read at a time to be moved.
const MAX_MOVABLE: i64 = 2_000;

/// A job that may be moved to another pool.
pub(super) struct Movable {
    pub(super) id: JobId,
    pub(super) tenant_id: TenantId,
    pub(super) application: String,
    pub(super) base_model: Option<String>,
    pub(super) level: Level,
    pub(super) gang_size: i16,
    /// Whether its pool is dedicated.
    pub(super) is_dedicated: bool,
}

impl Movable {
    /// The base model that a worker must have.
    pub(super) fn needs(&self) -> Option<Needs> {
        Needs::of_job(&self.application, self.base_model.as_deref())
    }
}

/// Returns the jobs of a pool that may be moved, oldest first: jobs that name no pool, belong to no group,
/// have not been tried, may start, and have been queued for `waited`. None while workers of the pool that
/// were ordered within `ordered` are not ready, or if no other pool has its applications.
pub(super) async fn movable(
    conn: &mut PgConnection,
    pool: PoolId,
    waited: Duration,
    ordered: Duration,
) -> sqlx::Result<Vec<Movable>> {
    sqlx::query_as!(
        Movable,
        r#"select j.id, j.tenant_id, j.application, j.base_model, j.level, j.gang_size, p.dedicated as is_dedicated
           from pools p join jobs j on j.pool_id = p.id and j.ended_at is null
           where p.id = $1 and j.state = 'queued' and j.hold is null and j.may_move and j.group_name is null and j.attempt = 0
             and j.created_at < now() - make_interval(secs => $2)
             and exists (select from pools o where o.id <> p.id and o.applications && p.applications)
             and not exists (select from workers w
                             where w.pool_id = p.id and w.stage in ('ordered', 'placed') and w.state <> 'ready'
                               and w.created_at > now() - make_interval(secs => $3))
           order by j.id limit $4"#,
        pool as PoolId,
        waited.as_secs_f64(),
        ordered.as_secs_f64(),
        MAX_MOVABLE,
    )
    .fetch_all(conn)
    .await
}

/// Moves a queued job from a pool to another one, and notifies the schedulers of both. False if it is no
/// longer queued there.
pub(super) async fn move_job(
    conn: &mut PgConnection,
    job: JobId,
    from: PoolId,
    to: PoolId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update jobs set pool_id = $3, generation = generation + 1
         where id = $1 and pool_id = $2 and state = 'queued' and attempt = 0 and tenant_hold(tenant_id) is null",
        job as JobId,
        from as PoolId,
        to as PoolId,
    );
    if done.execute(&mut *conn).await?.rows_affected() == 0 {
        return Ok(false);
    }
    for pool in [from, to] {
        pool::publish(conn, pool, &Changed::Job(job)).await?;
    }
    Ok(true)
}
