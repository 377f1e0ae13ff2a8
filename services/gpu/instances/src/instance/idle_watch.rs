//! SQL of the queue in which the idle stop of instances is evaluated (`idle`).

use db::queue::Table;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use jiff_sqlx::ToSqlx;
use sqlx::PgConnection;

/// The queue of instances to evaluate.
pub const QUEUE: Table = Table { name: "idle_watches", channel: "atelier_gpu_idle", lane: "''::text" };

/// Begins to watch an instance, or restarts its idle time. The instance must be locked.
pub async fn watch(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: InstanceId,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into idle_watches (id, tenant_id, reset_at, wake_at) values ($1, $2, $3, now())
         on conflict (id) do update set reset_at = excluded.reset_at, wake_at = excluded.wake_at",
        id as InstanceId,
        tenant as TenantId,
        now.to_sqlx() as _,
    )
    .execute(&mut *conn)
    .await?;
    QUEUE.notify(conn).await
}

/// Ceases to watch an instance. The instance must be locked.
pub async fn forget(conn: &mut PgConnection, id: InstanceId) -> sqlx::Result<()> {
    sqlx::query!("delete from idle_watches where id = $1", id as InstanceId).execute(conn).await.map(drop)
}
