//! The storage service, as the gpu and jobs services call it.

use ids::{DeploymentId, InstanceId, StorageId, TenantId};
use reqwest::Method;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::http::{Endpoint, Error, NO_BODY, Peer};

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
    /// Why it is not available, or null. A service of the previous release does not say it.
    #[serde(default)]
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

/// What a signed URL allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UrlKind {
    /// PUT of exactly `bytes` bytes.
    Upload,
    /// As `upload`, but the object is out of the tenant's reach until it is delivered.
    Stage,
    /// GET as an attachment.
    Download,
}

/// A URL to sign.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UrlRequest<'a> {
    /// Owner of the bucket.
    pub tenant_id: TenantId,
    /// What it allows.
    pub kind: UrlKind,
    /// Name of the object, below `jobs/`.
    pub object: &'a str,
    /// Media type of the object.
    pub content_type: &'a str,
    /// Size of the object.
    pub bytes: i64,
}

/// A URL with a signature.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct SignedUrl {
    /// The URL.
    pub url: String,
    /// Until when it can be used.
    pub expires_at: jiff::Timestamp,
}

/// An object of a bucket.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct BucketObject {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: i64,
    /// Its ETag, with quotes, if it is known. A service of the previous release tells neither this nor the next.
    #[serde(default)]
    pub etag: Option<String>,
    /// When it was written, if that is known.
    #[serde(default)]
    pub written_at: Option<jiff::Timestamp>,
}

/// Objects of a bucket.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct Objects {
    /// The first 1,000, by name.
    pub items: Vec<BucketObject>,
}

/// A staged object that is to be delivered.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DeliveryRequest<'a> {
    /// Owner of the bucket.
    pub tenant_id: TenantId,
    /// Name of the object, below `jobs/`.
    pub object: &'a str,
    /// Size of the object.
    pub bytes: i64,
}

/// How a delivery has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryOutcome {
    /// The object is in the bucket.
    Delivered,
    /// Nothing of this name and size was staged.
    NotStaged,
    /// The bucket has no room for it.
    BucketFull,
    /// The bucket has disappeared from the object store.
    BucketMissing,
    /// A policy or setting of the bucket refuses it.
    Refused,
}

/// The end of a delivery.
#[derive(Debug, Clone, Deserialize, ToSchema)]
pub struct Delivery {
    /// How it has ended.
    pub outcome: DeliveryOutcome,
}

/// How far a deletion is.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
pub struct Deletion {
    /// Whether nothing is left.
    pub done: bool,
}

/// A file of a bucket that is to be on a volume.
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
    /// To be forgotten.
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

/// How far a download is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Download {
    /// State.
    pub state: DownloadState,
    /// Why it is pending or failed.
    pub reason: Option<DownloadReason>,
    /// The reason in words.
    pub message: Option<String>,
}

/// Client of the storage service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Returns the storage, for the user whose access token is `subject`. Used to check that the storages of a new instance
    /// exist and belong to its tenant.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn find(&self, storage: StorageId, subject: &SecretString) -> Result<Storage, Error> {
        self.0.call_for(Some(subject), Method::GET, &format!("/v1/storages/{storage}"), None, NO_BODY).await
    }

    /// Returns the specification with this id or name, for a user.
    ///
    /// # Errors
    /// Returns the problem `not-found`, or the errors of every call.
    pub async fn spec(&self, id_or_name: &str, subject: &SecretString) -> Result<StorageSpec, Error> {
        let path = format!("/v1/storage-specs/{}", crate::http::segment(id_or_name));
        self.0.call_for(Some(subject), Method::GET, &path, None, NO_BODY).await
    }

    /// Creates a storage, for a user. A repetition with the same key returns the same storage.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn create(
        &self,
        new: &NewStorage,
        key: &str,
        subject: &SecretString,
    ) -> Result<Storage, Error> {
        self.0.call_for(Some(subject), Method::POST, "/v1/storages", Some(key), Some(new)).await
    }

    /// Attaches the storage to the instance. An attached storage cannot be deleted. Idempotent.
    ///
    /// # Errors
    /// Returns the problem `not-found` or `storage-not-available`, or the errors of every call.
    pub async fn attach(
        &self,
        storage: StorageId,
        instance: InstanceId,
        request: &AttachRequest,
    ) -> Result<Attachment, Error> {
        let key = crate::http::new_key();
        self.0.call(Method::PUT, &path(storage, instance), Some(&key), Some(request)).await
    }

    /// Detaches the storage from the instance. Idempotent.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn detach(&self, storage: StorageId, instance: InstanceId) -> Result<(), Error> {
        let key = crate::http::new_key();
        self.0.call(Method::DELETE, &path(storage, instance), Some(&key), NO_BODY).await
    }

    /// Returns the output bucket of the tenant's jobs, creating it if necessary. Idempotent.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn output_bucket(&self, tenant: TenantId) -> Result<OutputBucket, Error> {
        let path = format!("/internal/v1/tenants/{tenant}/output-bucket");
        self.0.call(Method::PUT, &path, None, NO_BODY).await
    }

    /// Signs a URL for one object of a bucket.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn sign_url(&self, bucket: StorageId, request: &UrlRequest<'_>) -> Result<SignedUrl, Error> {
        self.0.call(Method::POST, &format!("/internal/v1/buckets/{bucket}/urls"), None, Some(request)).await
    }

    /// Returns objects of a bucket, 1,000 at most.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn objects(&self, bucket: StorageId, tenant: TenantId, prefix: &str) -> Result<Objects, Error> {
        self.0.call(Method::GET, &below(bucket, "objects", tenant, prefix), None, NO_BODY).await
    }

    /// Deletes objects of a bucket. Repeat the call until it is done.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn delete_objects(
        &self,
        bucket: StorageId,
        tenant: TenantId,
        prefix: &str,
    ) -> Result<Deletion, Error> {
        self.0.call(Method::DELETE, &below(bucket, "objects", tenant, prefix), None, NO_BODY).await
    }

    /// Copies a staged object into its bucket. Can be repeated.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn deliver(&self, bucket: StorageId, request: &DeliveryRequest<'_>) -> Result<Delivery, Error> {
        self.0
            .call(Method::POST, &format!("/internal/v1/buckets/{bucket}/deliveries"), None, Some(request))
            .await
    }

    /// Deletes staged objects of a bucket, which need not exist any more. Repeat the call until it is done.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn delete_staged(
        &self,
        bucket: StorageId,
        tenant: TenantId,
        prefix: &str,
    ) -> Result<Deletion, Error> {
        self.0.call(Method::DELETE, &below(bucket, "staged", tenant, prefix), None, NO_BODY).await
    }

    /// Has a file of a bucket laid onto a volume, and returns how far that is. Idempotent: repeat the call until it is done or
    /// failed.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn put_download(
        &self,
        storage: StorageId,
        id: DeploymentId,
        request: &DownloadRequest<'_>,
    ) -> Result<Download, Error> {
        self.0.call(Method::PUT, &download(storage, id), None, Some(request)).await
    }

    /// Forgets a download. Idempotent.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn delete_download(
        &self,
        storage: StorageId,
        id: DeploymentId,
        tenant: TenantId,
    ) -> Result<(), Error> {
        let path = format!("{}?tenant_id={tenant}", download(storage, id));
        self.0.call(Method::DELETE, &path, None, NO_BODY).await
    }
}

fn download(storage: StorageId, id: DeploymentId) -> String {
    format!("/internal/v1/storages/{storage}/downloads/{id}")
}

fn below(bucket: StorageId, what: &str, tenant: TenantId, prefix: &str) -> String {
    let prefix = crate::http::query_value(prefix);
    format!("/internal/v1/buckets/{bucket}/{what}?tenant_id={tenant}&prefix={prefix}")
}

fn path(storage: StorageId, instance: InstanceId) -> String {
    format!("/internal/v1/storages/{storage}/attachments/{instance}")
}
