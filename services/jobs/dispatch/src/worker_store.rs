//! SQL of the workers of a pool, for its scheduler.

use std::time::Duration;

use ids::{InstanceId, PoolId, WorkerId};
use sqlx::PgConnection;

/// A lent worker.
pub(super) struct LentRow {
    pub(super) id: WorkerId,
    pub(super) instance: InstanceId,
    pub(super) gpu_spec: String,
    /// Whether it already returns its unit, after its job.
    pub(super) leaves: bool,
}

/// Returns the lent workers of a pool.
pub(super) async fn lent_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<LentRow>> {
    sqlx::query_as!(
        LentRow,
        r#"select id, instance_id as "instance!: InstanceId", gpu_spec, stage in ('draining', 'leaving') as "leaves!"
           from workers where pool_id = $1 and tenure = 'lent' and stage is not null and instance_id is not null
           order by id"#,
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Returns the workers of a pool whose job has not left in time.
pub(super) async fn overdue_workers(conn: &mut PgConnection, pool: PoolId) -> sqlx::Result<Vec<WorkerId>> {
    sqlx::query_scalar!(
        "select w.id from workers w join jobs j on j.id = w.current_job and j.attempt = w.current_attempt
         where w.pool_id = $1 and j.leave_by < now() order by w.id",
        pool as PoolId,
    )
    .fetch_all(conn)
    .await
}

/// Whether a locked worker is lost: silent for this long, or its job has not left in time.
pub(super) async fn is_lost(conn: &mut PgConnection, id: WorkerId, time: Duration) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select greatest(w.last_seen_at, w.present_until) < now() - make_interval(secs => $2)
                  or exists (select from jobs j where j.id = w.current_job and j.attempt = w.current_attempt
                                and j.leave_by < now()) as "lost!"
           from workers w where w.id = $1 and w.state = 'ready'"#,
        id as WorkerId,
        time.as_secs_f64(),
    )
    .fetch_optional(conn)
    .await
    .map(|lost| lost.unwrap_or(false))
}
