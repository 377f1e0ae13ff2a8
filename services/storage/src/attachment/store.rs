//! The table of attachments.

use ids::{InstanceId, StorageId, TenantId};
use sqlx::PgConnection;
use storage_api::AttachmentMode;

/// Attaches a locked storage to the instance. Returns false if it is attached in this mode.
pub(super) async fn put(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    instance: InstanceId,
    mode: AttachmentMode,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into attachments (storage_id, instance_id, tenant_id, mode) values ($1, $2, $3, $4)
         on conflict (storage_id, instance_id) do update set mode = excluded.mode
         where attachments.mode <> excluded.mode",
        storage as StorageId,
        instance as InstanceId,
        tenant as TenantId,
        mode as AttachmentMode,
    )
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Detaches the storage from the instance. Returns the owner, if it was attached.
pub(super) async fn delete(
    conn: &mut PgConnection,
    storage: StorageId,
    instance: InstanceId,
) -> sqlx::Result<Option<TenantId>> {
    sqlx::query_scalar!(
        r#"delete from attachments where storage_id = $1 and instance_id = $2 returning tenant_id as "tenant: TenantId""#,
        storage as StorageId,
        instance as InstanceId,
    )
    .fetch_optional(conn)
    .await
}
