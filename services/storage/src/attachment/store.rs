//! The table of attachments.

use ids::{InstanceId, StorageId, TenantId};
use sqlx::PgConnection;

use crate::storage::AttachmentMode;

/// Attaches a locked storage to the instance.
pub(super) async fn put(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    instance: InstanceId,
    mode: AttachmentMode,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into attachments (storage_id, instance_id, tenant_id, mode) values ($1, $2, $3, $4)
         on conflict (storage_id, instance_id) do update set mode = excluded.mode",
        storage as StorageId,
        instance as InstanceId,
        tenant as TenantId,
        mode as AttachmentMode,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Detaches the storage from the instance.
pub(super) async fn delete(
    conn: &mut PgConnection,
    storage: StorageId,
    instance: InstanceId,
) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from attachments where storage_id = $1 and instance_id = $2",
        storage as StorageId,
        instance as InstanceId,
    )
    .execute(conn)
    .await
    .map(drop)
}
