//! The objects of the archive: a bucket of the platform, in which each tenant has a prefix.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sdk_s3::{
    Client,
    config::{
        BehaviorVersion, Region, RequestChecksumCalculation, ResponseChecksumValidation,
        timeout::TimeoutConfig,
    },
    error::{ProvideErrorMetadata, SdkError},
    primitives::ByteStream,
};
use bytes::Bytes;
use ids::{InstanceId, TenantId};
use secrecy::ExposeSecret;

use super::config::LogArchiveConfig;

/// Maximum number of bytes of an object that is read.
const MAX_OBJECT: i64 = 16 * 1024 * 1024;

/// The object store does not answer, or refuses a call.
#[derive(Debug, thiserror::Error)]
#[error("the object store of logs does not answer as expected")]
pub(crate) struct ObjectError(#[source] Box<dyn std::error::Error + Send + Sync>);

impl ObjectError {
    fn of(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

/// A client of the bucket.
pub(super) struct Objects {
    s3: Client,
    bucket: String,
}

/// Returns the prefix of the objects of an instance.
fn instance_prefix(tenant: TenantId, instance: InstanceId) -> String {
    format!("{}/{}/", tenant.k8s_name(), instance.k8s_name())
}

/// Returns the prefix of the objects that could be this chunk. Each upload has a key of its own: a replica that lost its
/// lease during an upload must not replace what another has stored meanwhile.
pub(super) fn chunk_prefix(tenant: TenantId, instance: InstanceId, attempt: i64, number: i64) -> String {
    format!("{}{attempt}/{number:08}-", instance_prefix(tenant, instance))
}

impl Objects {
    pub(super) fn new(config: &LogArchiveConfig) -> Self {
        let timeouts = TimeoutConfig::builder()
            .connect_timeout(Duration::from_secs(2))
            .operation_timeout(Duration::from_secs(20))
            .build();
        let key = Credentials::new(
            &config.access_key,
            config.secret_key.expose_secret(),
            None,
            None,
            "log_archive",
        );
        let s3 = Client::from_conf(
            aws_sdk_s3::Config::builder()
                .behavior_version(BehaviorVersion::latest())
                .endpoint_url(&config.endpoint)
                .region(Region::new(config.region.clone()))
                .credentials_provider(key)
                .force_path_style(true)
                .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
                .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
                .timeout_config(timeouts)
                .build(),
        );
        Self { s3, bucket: config.bucket.clone() }
    }

    /// Creates the bucket, unless it exists.
    pub(super) async fn create_bucket(&self) -> Result<(), ObjectError> {
        match self.s3.create_bucket().bucket(&self.bucket).send().await {
            Err(error) if error.code() == Some("BucketAlreadyOwnedByYou") => Ok(()),
            done => done.map(drop).map_err(ObjectError::of),
        }
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), ObjectError> {
        let call = self.s3.put_object().bucket(&self.bucket).key(key).content_type("application/gzip");
        call.body(ByteStream::from(bytes)).send().await.map(drop).map_err(ObjectError::of)
    }

    /// Returns an object; none if it does not exist.
    pub(super) async fn get(&self, key: &str) -> Result<Option<Bytes>, ObjectError> {
        let found = match self.s3.get_object().bucket(&self.bucket).key(key).send().await {
            Err(SdkError::ServiceError(error)) if error.err().is_no_such_key() => return Ok(None),
            found => found.map_err(ObjectError::of)?,
        };
        if found.content_length().is_none_or(|length| length > MAX_OBJECT) {
            return Err(ObjectError("an object of logs is too large".into()));
        }
        Ok(Some(found.body.collect().await.map_err(ObjectError::of)?.into_bytes()))
    }

    /// Deletes an object, if it exists.
    pub(super) async fn delete(&self, key: &str) -> Result<(), ObjectError> {
        let call = self.s3.delete_object().bucket(&self.bucket).key(key);
        call.send().await.map(drop).map_err(ObjectError::of)
    }

    /// Deletes a page of the objects with a prefix. Returns whether none is left.
    pub(super) async fn delete_all(&self, prefix: &str) -> Result<bool, ObjectError> {
        let call = self.s3.list_objects_v2().bucket(&self.bucket).prefix(prefix);
        let page = call.send().await.map_err(ObjectError::of)?;
        for key in page.contents().iter().filter_map(|object| object.key()) {
            self.delete(key).await?;
        }
        Ok(page.is_truncated() != Some(true))
    }

    /// Approximate number of bytes that are sent together.
    pub(super) async fn delete_instance(
        &self,
        tenant: TenantId,
        instance: InstanceId,
    ) -> Result<bool, ObjectError> {
        self.delete_all(&instance_prefix(tenant, instance)).await
    }
}
