//! Files in buckets of tenants, by signed URLs.

use ids::{JobId, StorageId, TenantId};
use storage_api::{SignedUrl, UrlKind, UrlRequest};

use super::{Parts, error::Error, model::folder, store::Stored};

/// A file in a bucket.
#[derive(Debug, Clone)]
pub struct File<'a> {
    pub storage: StorageId,
    /// Name of the object.
    pub object: String,
    pub content_type: &'a str,
    pub bytes: i64,
}

/// Name of the object of a result.
pub fn object(job: JobId, attempt: i32, name: &str) -> String {
    format!("{}{name}", folder(job, attempt))
}

/// Signs a URL for the content of a file.
///
/// # Errors
/// [`Error::Gone`] if the bucket was deleted.
pub async fn download(parts: &Parts, tenant: TenantId, file: &File<'_>) -> Result<SignedUrl, Error> {
    let request = UrlRequest {
        tenant_id: tenant,
        kind: UrlKind::Download,
        object: file.object.clone(),
        content_type: file.content_type.to_owned(),
        bytes: file.bytes,
    };
    parts.storage.sign_url(file.storage, &request).await.map_err(|error| match error {
        missing if missing.is_not_found() => Error::Gone,
        other => Error::Storage(other),
    })
}

impl Stored {
    /// Returns its content; none if it has no bucket.
    pub fn file(&self) -> Option<File<'_>> {
        Some(File {
            storage: self.storage?,
            object: object(self.job, self.attempt, &self.name),
            content_type: &self.content_type,
            bytes: self.bytes,
        })
    }
}

/// Signs a URL for the content of a result.
///
/// # Errors
/// [`Error::Gone`] if the bucket was deleted.
pub async fn sign(parts: &Parts, tenant: TenantId, result: &Stored) -> Result<SignedUrl, Error> {
    download(parts, tenant, &result.file().ok_or(Error::Gone)?).await
}
