//! The table of attachments.

use ids::{InstanceId, StorageId, TenantId};
use sqlx::PgConnection;

use super::model::{AttachmentMode, AttachmentRef};

#[derive(sqlx::FromRow)]
struct Row {
    storage_id: StorageId,
    instance_id: InstanceId,
    mode: AttachmentMode,
    created_at: jiff_sqlx::Timestamp,
}

/// Keeps the storage for the instance. The caller has the storage locked.
pub(super) async fn put(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    instance: InstanceId,
    mode: AttachmentMode,
) -> sqlx::Result<()> {
    sqlx::query(
        "insert into attachments (storage_id, instance_id, tenant_id, mode) values ($1, $2, $3, $4)
         on conflict (storage_id, instance_id) do update set mode = excluded.mode",
    )
    .bind(storage)
    .bind(instance)
    .bind(tenant)
    .bind(mode)
    .execute(conn)
    .await
    .map(drop)
}

/// Lets go of it.
pub(super) async fn remove(
    conn: &mut PgConnection,
    storage: StorageId,
    instance: InstanceId,
) -> sqlx::Result<()> {
    sqlx::query("delete from attachments where storage_id = $1 and instance_id = $2")
        .bind(storage)
        .bind(instance)
        .execute(conn)
        .await
        .map(drop)
}

/// The attachments of these storages of the tenant, oldest first.
pub(crate) async fn of_storages(
    conn: &mut PgConnection,
    tenant: TenantId,
    storages: &[StorageId],
) -> sqlx::Result<Vec<(StorageId, AttachmentRef)>> {
    let rows: Vec<Row> = sqlx::query_as(
        "select storage_id, instance_id, mode, created_at from attachments
         where tenant_id = $1 and storage_id = any($2) order by created_at, instance_id",
    )
    .bind(tenant)
    .bind(storages)
    .fetch_all(conn)
    .await?;
    let attachment = |row: Row| {
        let since = row.created_at.to_jiff();
        (row.storage_id, AttachmentRef { instance_id: row.instance_id, mode: row.mode, since })
    };
    Ok(rows.into_iter().map(attachment).collect())
}
