//! Storages, attachments and downloads.

use ids::{StorageId, TenantId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kind of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum StorageKind {
    /// A file system that instances mount.
    Volume,
    /// A bucket of an S3 object store.
    Bucket,
}

impl StorageKind {
    /// The name in JSON and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Volume => "volume",
            Self::Bucket => "bucket",
        }
    }
}

/// How an instance uses a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum AttachmentMode {
    /// The instance reads and writes.
    ReadWrite,
    /// The instance only reads.
    ReadOnly,
}

/// Attaches a storage to an instance.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachRequest {
    /// Owner of both. A storage of another tenant is not found.
    pub tenant_id: TenantId,
    /// How the instance uses the storage.
    pub mode: AttachmentMode,
}

/// The object behind an attached storage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Attachment {
    /// Volume or bucket.
    pub kind: StorageKind,
    /// Configured name of the cluster of a volume. Null for a bucket.
    pub cluster: Option<String>,
    /// Name of the `GpuStorage`, or of the bucket.
    pub object_name: String,
}

/// A storage that the user can see: the fields that callers read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Storage {
    /// Id of the storage.
    pub id: StorageId,
    /// Volume or bucket.
    pub kind: StorageKind,
    /// Name of the datacenter of a volume; null for a bucket.
    pub datacenter: Option<String>,
}

/// A storage specification: the field that callers read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StorageSpec {
    /// Kind of its storages.
    pub kind: StorageKind,
}

/// A new storage.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewStorage {
    /// 1 to 100 characters, unique in the tenant without regard to case.
    #[serde(deserialize_with = "api::text::nfc")]
    pub name: String,
    /// Id or name of the storage specification.
    pub storage_spec: String,
    /// Size in GiB, within the sizes of the specification. Optional if the size is fixed.
    #[serde(default)]
    pub size_gib: Option<i64>,
    /// Datacenter of a volume. Optional if there is only one.
    #[serde(default)]
    pub datacenter: Option<String>,
}

/// State of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum StorageState {
    /// Being created.
    Pending,
    /// Ready for use.
    Available,
    /// Growing; it can be used meanwhile.
    Resizing,
    /// It could not be created, or is lost.
    Failed,
    /// Being deleted with its data.
    Deleting,
}

impl StorageState {
    /// The name in JSON and messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Available => "available",
            Self::Resizing => "resizing",
            Self::Failed => "failed",
            Self::Deleting => "deleting",
        }
    }
}

/// The output bucket of a tenant's jobs, with the reasons that callers tell apart.
#[derive(Debug, Clone, Deserialize)]
pub struct OutputBucket {
    /// Storage id of the bucket.
    pub id: StorageId,
    /// Its state.
    pub state: StorageState,
    /// Why it is not available, or null.
    pub reason: Option<StorageReason>,
}

/// Why a bucket is not available: the reasons that callers tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StorageReason {
    /// It has disappeared from the object store, and the platform did not delete it.
    BucketLost,
    /// Another one.
    #[serde(other)]
    Other,
}

/// A file of a bucket to download to a volume.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DownloadRequest {
    /// Owner of both storages. A storage of another tenant is not found.
    pub tenant_id: TenantId,
    /// Storage id of the bucket.
    pub bucket_id: StorageId,
    /// Name of the object, below `jobs/`.
    #[schema(example = "jobs/job_0195b0c2/1/model.safetensors")]
    pub object: String,
    /// Path of the file below the root of the volume. An existing file is replaced.
    #[schema(example = "models/Lora/dog.safetensors")]
    pub path: String,
    /// Size of the object.
    #[schema(minimum = 0)]
    pub bytes: i64,
    /// SHA-256 of the object, in hexadecimal.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub sha256: String,
}

/// State of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum DownloadState {
    /// Not there yet.
    Pending,
    /// The file is on the volume, complete and verified.
    Done,
    /// Given up; nothing was changed on the volume.
    Failed,
    /// To be deleted.
    Removing,
}

/// Why a download is pending or failed, as callers read it: the service has the same codes without [`Self::Unknown`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DownloadReason {
    /// Pending: the volume is not available.
    VolumeUnavailable,
    /// Pending: other downloads onto the volume come first.
    Queued,
    /// Pending: the tenant is suspended.
    TenantSuspended,
    /// Pending: the object store does not respond.
    ObjectStoreUnavailable,
    /// Pending: it was requested from the cluster.
    Requested,
    /// Pending: its pod waits for a node.
    Scheduling,
    /// Pending: its pod is being started.
    Starting,
    /// Pending: the file is being downloaded.
    Downloading,
    /// Pending: an attempt has failed; another one follows.
    Retrying,
    /// Failed: the bucket does not have the object.
    ObjectGone,
    /// Failed: the object store refuses the address.
    UrlRefused,
    /// Failed: the object store cannot be reached from the cluster.
    Unreachable,
    /// Failed: the object has other content.
    ContentMismatch,
    /// Failed: no space is left on the volume.
    VolumeFull,
    /// Failed: the path cannot be written.
    PathNotWritable,
    /// Failed: the pod has failed.
    PodFailed,
    /// Failed: no attempt ended in time.
    TimedOut,
    /// A code of a later release.
    #[serde(other)]
    Unknown,
}

/// Progress of a download: the fields that callers read.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Download {
    /// State.
    pub state: DownloadState,
    /// Why it is pending or failed.
    pub reason: Option<DownloadReason>,
    /// The reason in words.
    pub message: Option<String>,
}
