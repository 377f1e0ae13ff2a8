//! Downloads in requests and responses.

use api::{Checks, Problem};
use ids::{StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::model::{DownloadReason, DownloadState};
use crate::object::check_name;

/// Longest path.
const MAX_PATH: usize = 512;
/// Longest name of a file or folder: `atelier-fetch` adds to it while it downloads.
const MAX_SEGMENT: usize = 200;

/// A file of a bucket to download to a volume.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DownloadRequest {
    /// Owner of both storages. A storage of another tenant is not found.
    pub(super) tenant_id: TenantId,
    /// Storage id of the bucket.
    pub(super) bucket_id: StorageId,
    /// Name of the object, below `jobs/`.
    #[schema(example = "jobs/job_0195b0c2/1/model.safetensors")]
    pub(super) object: String,
    /// Path of the file below the root of the volume. An existing file is replaced.
    #[schema(example = "models/Lora/dog.safetensors")]
    pub(super) path: String,
    /// Size of the object.
    #[schema(minimum = 0)]
    pub(super) bytes: i64,
    /// SHA-256 of the object, in hexadecimal.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(super) sha256: String,
}

/// Progress of a download.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Download)]
pub(super) struct DownloadView {
    /// State.
    pub(super) state: DownloadState,
    /// Why it is pending or failed; null if there is nothing to say.
    pub(super) reason: Option<DownloadReason>,
    /// The reason in words.
    pub(super) message: Option<String>,
    /// When it was done or failed.
    pub(super) finished_at: Option<Timestamp>,
}

impl DownloadRequest {
    /// Returns the SHA-256, if all is valid.
    pub(super) fn check(&self) -> Result<[u8; 32], Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, "/object", &self.object);
        let is_name =
            |name: &str| !name.is_empty() && name != "." && name != ".." && name.len() <= MAX_SEGMENT;
        let is_path = self.path.len() <= MAX_PATH
            && self.path.split('/').all(is_name)
            && !self.path.chars().any(char::is_control);
        checks.require(is_path, "/path", "must be a path below the root of the volume");
        checks.within("/bytes", self.bytes, 0, i64::MAX);
        let mut sha256 = [0; 32];
        let decoded = hex::decode_to_slice(&self.sha256, &mut sha256);
        checks.require(decoded.is_ok(), "/sha256", "must be 64 hexadecimal digits");
        checks.finish()?;
        Ok(sha256)
    }
}
