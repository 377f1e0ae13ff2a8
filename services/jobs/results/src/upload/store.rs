//! The tables of uploads and of the jobs that use them.

use ids::{JobId, StorageId, TenantId, UploadId};
use jiff::Timestamp;
use sqlx::PgConnection;

use super::model::{UploadState, UploadView};

/// An upload, as it is stored.
#[derive(Debug, Clone)]
pub struct StoredUpload {
    pub id: UploadId,
    pub storage: StorageId,
    pub name: String,
    pub content_type: String,
    pub bytes: i64,
    pub sha256: Option<String>,
    pub is_uploaded: bool,
    /// ETag of the content that was seen in the bucket, if it is known.
    pub etag: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) delete_at: Timestamp,
}

impl StoredUpload {
    /// Name of the object in the bucket.
    pub fn object(&self) -> String {
        format!("{}{}", folder(self.id), self.name)
    }

    pub(super) fn view(self) -> UploadView {
        UploadView {
            id: self.id,
            name: self.name,
            content_type: self.content_type,
            bytes: self.bytes,
            sha256: self.sha256,
            state: if self.is_uploaded { UploadState::Ready } else { UploadState::Pending },
            expires_at: self.delete_at,
            created_at: self.created_at,
        }
    }
}

/// Prefix of the names of an upload's objects.
pub(super) fn folder(id: UploadId) -> String {
    format!("jobs/uploads/{id}/")
}

/// An upload to insert.
pub(super) struct Insertion<'a> {
    pub(super) id: UploadId,
    pub(super) storage: StorageId,
    pub(super) name: &'a str,
    pub(super) content_type: &'a str,
    pub(super) bytes: i64,
    pub(super) sha256: Option<&'a [u8]>,
}

/// Inserts an upload.
pub(super) async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    new: &Insertion<'_>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into uploads (id, tenant_id, storage_id, name, content_type, bytes, sha256)
         values ($1, $2, $3, $4, $5, $6, $7)",
        new.id as UploadId,
        tenant as TenantId,
        new.storage as StorageId,
        new.name,
        new.content_type,
        new.bytes,
        new.sha256,
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Returns those of these uploads of the tenant that exist.
pub async fn find_all(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &[UploadId],
) -> sqlx::Result<Vec<StoredUpload>> {
    sqlx::query_as!(
        StoredUpload,
        r#"select id, storage_id as storage, name, content_type, bytes,
                  encode(sha256, 'hex') as sha256, uploaded_at is not null as "is_uploaded!", etag, created_at,
                  delete_at
           from uploads where tenant_id = $1 and id = any($2)"#,
        tenant as TenantId,
        ids as &[UploadId],
    )
    .fetch_all(conn)
    .await
}

/// Records that the contents of uploads exist, and their ETags. Earlier records stay.
pub(super) async fn confirm(
    conn: &mut PgConnection,
    tenant: TenantId,
    seen: &[(UploadId, Option<String>)],
) -> sqlx::Result<()> {
    let (ids, etags): (Vec<UploadId>, Vec<Option<String>>) = seen.iter().cloned().unzip();
    sqlx::query!(
        "update uploads u set uploaded_at = now(), etag = seen.etag
         from unnest($2::uuid[], $3::text[]) as seen (id, etag)
         where u.tenant_id = $1 and u.id = seen.id and u.uploaded_at is null",
        tenant as TenantId,
        &ids as &[UploadId],
        &etags as &[Option<String>],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// Keeps uploads of the tenant for another day, for jobs that are submitted in this transaction. Returns the
/// usable ones: their contents exist, and they are not being deleted.
pub async fn take(
    conn: &mut PgConnection,
    tenant: TenantId,
    ids: &[UploadId],
) -> sqlx::Result<Vec<UploadId>> {
    sqlx::query_scalar!(
        "update uploads set delete_at = now() + interval '24 hours'
         where tenant_id = $1 and id in (
             -- in order, so that two transactions do not wait for each other
             select id from uploads
             where tenant_id = $1 and id = any($2) and uploaded_at is not null and delete_at > now()
             order by id for update)
         returning id",
        tenant as TenantId,
        ids as &[UploadId],
    )
    .fetch_all(conn)
    .await
}

/// Records which uploads jobs use: each of `jobs` uses the one at the same index of `uploads`.
pub async fn record_uses(
    conn: &mut PgConnection,
    tenant: TenantId,
    jobs: &[JobId],
    uploads: &[UploadId],
) -> sqlx::Result<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "insert into job_uploads (job_id, upload_id, tenant_id)
         select job, upload, $1 from unnest($2::uuid[], $3::uuid[]) as uses(job, upload)",
        tenant as TenantId,
        jobs as &[JobId],
        uploads as &[UploadId],
    )
    .execute(conn)
    .await
    .map(drop)
}

/// An upload to delete.
pub(super) struct Due {
    pub(super) id: UploadId,
    pub(super) tenant: TenantId,
    pub(super) storage: StorageId,
}

/// Postpones the deletion of uploads that open jobs use, and returns those to delete, due longest first. No
/// job can begin to use these.
pub(super) async fn due(conn: &mut PgConnection, limit: i64) -> sqlx::Result<Vec<Due>> {
    sqlx::query!(
        "update uploads u set delete_at = now() + interval '1 hour'
         where u.delete_at <= now()
           and exists (select from job_uploads used join jobs j on j.id = used.job_id
                       where used.upload_id = u.id and j.ended_at is null)",
    )
    .execute(&mut *conn)
    .await?;
    sqlx::query_as!(
        Due,
        "select id, tenant_id as tenant, storage_id as storage from uploads
         where delete_at <= now() order by delete_at limit $1",
        limit,
    )
    .fetch_all(conn)
    .await
}

/// Deletes the row of an upload that was deleted.
pub(super) async fn delete(conn: &mut PgConnection, id: UploadId) -> sqlx::Result<()> {
    sqlx::query!("delete from uploads where id = $1 and delete_at <= now()", id as UploadId)
        .execute(conn)
        .await
        .map(drop)
}
