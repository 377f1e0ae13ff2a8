//! SQL of the end of a tenant: deletes what this service has of it. The data that is kept is listed, with the
//! reasons, in `tests/isolation/tests/it/tenant_end.rs`.

use ids::TenantId;
use sqlx::PgConnection;

/// The number of objects left to delete.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    pub(super) jobs: i64,
    /// Folders of results, which the task of outputs deletes with their rows.
    pub(super) outputs: i64,
    /// Folders of uploads, likewise.
    pub(super) uploads: i64,
    /// Credentials whose connections are being closed.
    pub(super) mq_credentials: i64,
}

/// Deletes what the tenant has, at most `most` ended jobs at a time. `closes_connections`: whether
/// connections of credentials are being closed, for which their rows are kept until then.
pub(super) async fn erase(
    conn: &mut PgConnection,
    tenant: TenantId,
    most: i64,
    closes_connections: bool,
) -> sqlx::Result<Left> {
    // first, so that nothing refers to the results of jobs
    let deleted = [
        sqlx::query!("delete from deployments where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from models where tenant_id = $1", tenant as TenantId),
        sqlx::query!(
            "delete from jobs where id in (select id from jobs where tenant_id = $1 and ended_at is not null limit $2)",
            tenant as TenantId,
            most
        ),
        sqlx::query!("delete from request_numbers where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from progress where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from group_nodes where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from pool_use where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from budget_holds where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from mq_outbox where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from mq_dead where tenant_id = $1", tenant as TenantId),
        sqlx::query!(
            "update outputs set delete_at = now()
             where tenant_id = $1 and (delete_at is null or delete_at > now() + interval '1 minute')",
            tenant as TenantId
        ),
        sqlx::query!(
            "update uploads set delete_at = now() where tenant_id = $1 and delete_at > now()",
            tenant as TenantId
        ),
        sqlx::query!(
            "delete from mq_credentials c using tenants t
             where c.tenant_id = $1 and t.id = c.tenant_id
               and (not $2 or c.connections_closed_at >= greatest(c.deleted_at, t.updated_at) + interval '30 seconds')",
            tenant as TenantId,
            closes_connections
        ),
        sqlx::query!(
            "delete from idempotency_keys where scope = 'ten_' || replace($1::uuid::text, '-', '')",
            tenant as TenantId
        ),
    ];
    for statement in deleted {
        statement.execute(&mut *conn).await?;
    }
    sqlx::query_as!(
        Left,
        r#"select (select count(*) from jobs where tenant_id = $1) as "jobs!",
                  (select count(*) from outputs where tenant_id = $1) as "outputs!",
                  (select count(*) from uploads where tenant_id = $1) as "uploads!",
                  (select count(*) from mq_credentials where tenant_id = $1) as "mq_credentials!""#,
        tenant as TenantId,
    )
    .fetch_one(conn)
    .await
}

/// Ends the workers that the platform runs for the tenant's pools.
pub(super) async fn end_fleets(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!(
        "update pools set service = null, version = null, min_workers = 0, max_workers = 0, lent_max = 0
         where owner_id = $1 and service is not null",
        tenant as TenantId,
    )
    .execute(conn)
    .await
    .map(drop)
}
