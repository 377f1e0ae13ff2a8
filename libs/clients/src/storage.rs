//! The storage service, as the gpu service calls it.

use ids::{InstanceId, StorageId, TenantId};
use reqwest::Method;
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
    /// It may change files.
    ReadWrite,
    /// It may only read.
    ReadOnly,
}

/// Asks for a storage to be kept for an instance.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AttachRequest {
    /// Whose both are; another tenant's storage is not found.
    pub tenant_id: TenantId,
    /// How it will be used.
    pub mode: AttachmentMode,
}

/// Where an attached storage is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Attachment {
    /// Volume or bucket.
    pub kind: StorageKind,
    /// The configured name of the cluster that has the volume; null for a bucket.
    pub cluster: Option<String>,
    /// The name of the `GpuStorage`, or of the bucket.
    pub object_name: String,
}

/// A storage that a user may use.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct Storage {
    /// Its id.
    pub id: StorageId,
}

/// The storage service.
#[derive(Debug, Clone)]
pub struct Client(Peer);

impl Client {
    /// A client for the service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Peer::new(http, endpoint))
    }

    /// Whether a user sees the storage, asked as that user (`token` is the user's access token): what an
    /// instance is ordered with must exist and be the tenant's before anything is made.
    ///
    /// # Errors
    /// The problem `not-found`, and the errors of every call.
    pub async fn find(&self, storage: StorageId, token: &str) -> Result<Storage, Error> {
        self.0.call_as(token, Method::GET, &format!("/v1/storages/{storage}"), None, NO_BODY).await
    }

    /// Keeps the storage from being deleted while the instance exists. Repeatable.
    ///
    /// # Errors
    /// The problems `not-found` and `storage-not-available`, and the errors of every call.
    pub async fn attach(
        &self,
        storage: StorageId,
        instance: InstanceId,
        request: &AttachRequest,
    ) -> Result<Attachment, Error> {
        let key = crate::http::new_key();
        self.0.call(Method::PUT, &path(storage, instance), Some(&key), Some(request)).await
    }

    /// Lets go of the storage. Repeatable.
    ///
    /// # Errors
    /// Those of every call.
    pub async fn detach(&self, storage: StorageId, instance: InstanceId) -> Result<(), Error> {
        let key = crate::http::new_key();
        self.0.call(Method::DELETE, &path(storage, instance), Some(&key), NO_BODY).await
    }
}

fn path(storage: StorageId, instance: InstanceId) -> String {
    format!("/internal/v1/storages/{storage}/attachments/{instance}")
}
