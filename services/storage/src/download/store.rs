//! The table of downloads.

use std::time::Duration;

use ids::{DeploymentId, StorageId, TenantId};
use sqlx::PgConnection;
use storage_api::DownloadRequest;

use super::{
    model::{Download, DownloadReason},
    view::DownloadView,
};

/// Returns the progress of the tenant's download with this content.
pub(super) async fn find(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    id: DeploymentId,
    request: &DownloadRequest,
    sha256: &[u8],
) -> sqlx::Result<Option<DownloadView>> {
    let found = sqlx::query!(
        "select state, reason, message, finished_at from downloads
         where tenant_id = $1 and storage_id = $2 and id = $3 and bucket_id = $4 and object = $5 and path = $6
           and bytes = $7 and sha256 = $8 and state <> 'removing'",
        tenant as TenantId,
        storage as StorageId,
        id as DeploymentId,
        request.bucket_id as StorageId,
        request.object,
        request.path,
        request.bytes,
        sha256,
    )
    .fetch_optional(conn)
    .await?;
    Ok(found.map(|row| DownloadView {
        state: row.state,
        reason: row.reason,
        message: row.message,
        finished_at: row.finished_at.map(jiff_sqlx::Timestamp::to_jiff),
    }))
}

/// Inserts a download. False if the id is taken.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    id: DeploymentId,
    request: &DownloadRequest,
    sha256: &[u8],
) -> sqlx::Result<bool> {
    sqlx::query!(
        "insert into downloads (id, storage_id, tenant_id, bucket_id, object, path, bytes, sha256, state)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'pending')
         on conflict (id) do nothing",
        id as DeploymentId,
        storage as StorageId,
        tenant as TenantId,
        request.bucket_id as StorageId,
        request.object,
        request.path,
        request.bytes,
        sha256,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Marks a download of the tenant for removal. False if there is none, or it is marked.
pub(super) async fn mark_removing(
    conn: &mut PgConnection,
    tenant: TenantId,
    storage: StorageId,
    id: DeploymentId,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "update downloads set state = 'removing'
         where tenant_id = $1 and storage_id = $2 and id = $3 and state <> 'removing'",
        tenant as TenantId,
        storage as StorageId,
        id as DeploymentId,
    )
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
}

/// Returns the downloads onto a storage that are not finished, oldest first, for workers.
pub(crate) async fn open(conn: &mut PgConnection, storage: StorageId) -> sqlx::Result<Vec<Download>> {
    sqlx::query_as!(
        Download,
        r#"select id, tenant_id as tenant, bucket_id as bucket, object, path, bytes,
                  encode(sha256, 'hex') as "sha256!", state, reason, message, attempt,
                  extract(epoch from attempt_at - now())::float8 as "due_in!",
                  extract(epoch from now() - signed_at)::float8 as signed_since
           from downloads where storage_id = $1 and state in ('pending', 'removing') order by id"#,
        storage as StorageId,
    )
    .fetch_all(conn)
    .await
}

/// Records that the address of an attempt was written.
pub(crate) async fn sign(conn: &mut PgConnection, download: &Download) -> sqlx::Result<()> {
    sqlx::query!(
        "update downloads set signed_at = now() where id = $1 and state = 'pending' and attempt = $2",
        download.id as DeploymentId,
        download.attempt,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records why a download waits, if that is new.
pub(crate) async fn wait(
    conn: &mut PgConnection,
    download: &Download,
    reason: DownloadReason,
    message: Option<&str>,
) -> sqlx::Result<()> {
    if download.reason == Some(reason) && download.message.as_deref() == message {
        return Ok(());
    }
    sqlx::query!(
        "update downloads set reason = $3, message = $4 where id = $1 and state = 'pending' and attempt = $2",
        download.id as DeploymentId,
        download.attempt,
        reason as DownloadReason,
        message,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Orders another attempt after a time.
pub(crate) async fn repeat(
    conn: &mut PgConnection,
    download: &Download,
    after: Duration,
    message: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update downloads set attempt = attempt + 1, attempt_at = now() + make_interval(secs => $3),
                signed_at = null, reason = $4, message = $5
         where id = $1 and state = 'pending' and attempt = $2",
        download.id as DeploymentId,
        download.attempt,
        after.as_secs_f64(),
        DownloadReason::Retrying as DownloadReason,
        message,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Records that the file exists on the volume.
pub(crate) async fn finish(conn: &mut PgConnection, download: &Download) -> sqlx::Result<()> {
    sqlx::query!(
        "update downloads set state = 'done', reason = null, message = null, finished_at = now()
         where id = $1 and state = 'pending' and attempt = $2",
        download.id as DeploymentId,
        download.attempt,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Marks a download as failed.
pub(crate) async fn fail(
    conn: &mut PgConnection,
    download: &Download,
    reason: DownloadReason,
    message: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update downloads set state = 'failed', reason = $3, message = $4, finished_at = now()
         where id = $1 and state = 'pending' and attempt = $2",
        download.id as DeploymentId,
        download.attempt,
        reason as DownloadReason,
        message,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Deletes the row of a download that is marked for deletion.
pub(crate) async fn delete_row(conn: &mut PgConnection, id: DeploymentId) -> sqlx::Result<()> {
    sqlx::query!("delete from downloads where id = $1 and state = 'removing'", id as DeploymentId)
        .execute(conn)
        .await
        .map(drop)
}
