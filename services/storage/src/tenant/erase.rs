//! SQL of the end of a tenant without storages: deletes its remaining data. What is kept is listed, with the reasons,
//! in `tests/isolation/tests/it/tenant_end.rs`.

use ids::TenantId;
use sqlx::PgConnection;

/// Deletes the tenant's data other than storages.
pub(super) async fn erase(conn: &mut PgConnection, tenant: TenantId) -> sqlx::Result<()> {
    let deleted = [
        sqlx::query!("delete from operations where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from storage_events where tenant_id = $1", tenant as TenantId),
        sqlx::query!("delete from quotas where tenant_id = $1", tenant as TenantId),
        sqlx::query!(
            "delete from idempotency_keys where scope = 'ten_' || replace($1::uuid::text, '-', '')",
            tenant as TenantId
        ),
    ];
    for statement in deleted {
        statement.execute(&mut *conn).await?;
    }
    Ok(())
}
