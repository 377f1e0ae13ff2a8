//! Files in buckets of tenants, by signed URLs.

use clients::storage::{SignedUrl, UrlKind, UrlRequest};
use ids::{JobId, StorageId, TenantId};

use super::{model::folder, store::Stored};
use crate::{error::Error, state::AppState};

/// A file in a bucket.
#[derive(Debug, Clone)]
pub(crate) struct File<'a> {
    pub(crate) storage: StorageId,
    /// Name of the object.
    pub(crate) object: String,
    pub(crate) content_type: &'a str,
    pub(crate) bytes: i64,
}

/// Name of the object of a result.
pub(crate) fn object(job: JobId, attempt: i32, name: &str) -> String {
    format!("{}{name}", folder(job, attempt))
}

/// Signs a URL for the content of a file.
///
/// # Errors
/// [`Error::ArtifactGone`] if the bucket was deleted.
pub(crate) async fn download(
    state: &AppState,
    tenant: TenantId,
    file: &File<'_>,
) -> Result<SignedUrl, Error> {
    let request = UrlRequest {
        tenant_id: tenant,
        kind: UrlKind::Download,
        object: &file.object,
        content_type: file.content_type,
        bytes: file.bytes,
    };
    state.storage.sign_url(file.storage, &request).await.map_err(|error| match error {
        missing if missing.is_not_found() => Error::ArtifactGone,
        other => Error::Storage(other),
    })
}

impl Stored {
    /// Its content; none if it has no bucket.
    pub(crate) fn file(&self) -> Option<File<'_>> {
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
/// [`Error::ArtifactGone`] if the bucket was deleted.
pub(crate) async fn sign(state: &AppState, tenant: TenantId, result: &Stored) -> Result<SignedUrl, Error> {
    download(state, tenant, &result.file().ok_or(Error::ArtifactGone)?).await
}
