//! Calls of the storage service.

use ids::{DeploymentId, InstanceId, StorageId, TenantId};
use peer::{Endpoint, Error, NO_BODY, Peer};
use reqwest::Method;
use secrecy::SecretString;

use crate::{
    AttachRequest, Attachment, Deletion, Delivery, DeliveryRequest, Download, DownloadRequest, NewStorage,
    Objects, OutputBucket, SignedUrl, Storage, StorageSpec, UrlRequest,
};

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
        let path = format!("/v1/storage-specs/{}", peer::segment(id_or_name));
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
        let key = peer::new_key();
        self.0.call(Method::PUT, &path(storage, instance), Some(&key), Some(request)).await
    }

    /// Detaches the storage from the instance. Idempotent.
    ///
    /// # Errors
    /// Returns the errors of every call.
    pub async fn detach(&self, storage: StorageId, instance: InstanceId) -> Result<(), Error> {
        let key = peer::new_key();
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
    pub async fn sign_url(&self, bucket: StorageId, request: &UrlRequest) -> Result<SignedUrl, Error> {
        self.0.call(Method::POST, &format!("/internal/v1/buckets/{bucket}/urls"), None, Some(request)).await
    }

    /// Returns objects of a bucket, at most 1,000.
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
    pub async fn deliver(&self, bucket: StorageId, request: &DeliveryRequest) -> Result<Delivery, Error> {
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

    /// Downloads a file of a bucket to a volume, and returns the progress. Idempotent: repeat the call until it is done
    /// or failed.
    ///
    /// # Errors
    /// Returns the problems of the operation, or the errors of every call.
    pub async fn put_download(
        &self,
        storage: StorageId,
        id: DeploymentId,
        request: &DownloadRequest,
    ) -> Result<Download, Error> {
        self.0.call(Method::PUT, &download(storage, id), None, Some(request)).await
    }

    /// Deletes a download. Idempotent.
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
    let prefix = peer::query_value(prefix);
    format!("/internal/v1/buckets/{bucket}/{what}?tenant_id={tenant}&prefix={prefix}")
}

fn path(storage: StorageId, instance: InstanceId) -> String {
    format!("/internal/v1/storages/{storage}/attachments/{instance}")
}
