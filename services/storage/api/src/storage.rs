//! Storages, attachments and downloads, with the fields that other services read.

use ids::{StorageId, TenantId};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Kind of a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageKind {
    /// Mounted by one instance.
    Volume,
    /// Accessed over S3.
    Bucket,
}

/// How an instance uses a storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentMode {
    /// The instance may change files.
    ReadWrite,
    /// The instance may only read.
    ReadOnly,
}

/// A request to attach a storage to an instance.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AttachRequest {
    /// The owner of both; another tenant's storage is not found.
    pub tenant_id: TenantId,
    /// How the instance uses it.
    pub mode: AttachmentMode,
}

/// Where an attached storage is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Attachment {
    /// Volume or bucket.
    pub kind: StorageKind,
    /// Configured name of the volume's cluster; null for a bucket.
    pub cluster: Option<String>,
    /// Name of the `GpuStorage` or of the bucket.
    pub object_name: String,
}

/// A storage that the user can see.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Storage {
    /// Id of the storage.
    pub id: StorageId,
    /// Volume or bucket.
    pub kind: StorageKind,
    /// Name of the datacenter of a volume; null for a bucket.
    pub datacenter: Option<String>,
}

/// A storage specification.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct StorageSpec {
    /// Kind of its storages.
    pub kind: StorageKind,
}

/// A new storage.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NewStorage {
    /// Name, unique in the tenant.
    pub name: String,
    /// Id or name of the storage specification.
    pub storage_spec: String,
    /// Size in GiB. Optional if the size is fixed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_gib: Option<i64>,
    /// Name of the datacenter of a volume. Optional if there is only one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datacenter: Option<String>,
}

/// State of a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageState {
    /// Being created.
    Pending,
    /// Ready for use.
    Available,
    /// Growing; it can be used meanwhile.
    Resizing,
    /// Creation failed, or the bucket is missing in the object store.
    Failed,
    /// Being deleted.
    Deleting,
}

/// The output bucket of a tenant's jobs.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct OutputBucket {
    /// Storage id of the bucket.
    pub id: StorageId,
    /// Its state.
    pub state: StorageState,
    /// Why it is not available, or null.
    pub reason: Option<StorageReason>,
}

/// Why a bucket is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StorageReason {
    /// It has disappeared from the object store, and the platform did not delete it.
    BucketLost,
    /// Another one.
    #[serde(other)]
    #[schema(rename = "unknown")]
    Other,
}

/// A file of a bucket to download to a volume.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DownloadRequest<'a> {
    /// Owner of both.
    pub tenant_id: TenantId,
    /// Storage id of the bucket.
    pub bucket_id: StorageId,
    /// Name of the object, below `jobs/`.
    pub object: &'a str,
    /// Path of the file below the root of the volume.
    pub path: &'a str,
    /// Size of the object.
    pub bytes: i64,
    /// SHA-256 of the object, in hexadecimal.
    pub sha256: &'a str,
}

/// State of a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DownloadState {
    /// Not there yet.
    Pending,
    /// The file is on the volume.
    Done,
    /// Given up.
    Failed,
    /// To be deleted.
    Removing,
}

/// Why a download is pending or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
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
    #[schema(rename = "unknown")]
    Unknown,
}

/// Progress of a download.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Download {
    /// State.
    pub state: DownloadState,
    /// Why it is pending or failed.
    pub reason: Option<DownloadReason>,
    /// The reason in words.
    pub message: Option<String>,
}
