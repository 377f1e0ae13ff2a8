//! The storage service, as the gpu service calls it.

use ids::{InstanceId, StorageId, TenantId};
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
}

fn path(storage: StorageId, instance: InstanceId) -> String {
    format!("/internal/v1/storages/{storage}/attachments/{instance}")
}
