//! S3 calls as a tenant's user.

use std::time::{Duration, Instant};

use aws_credential_types::Credentials;
use aws_sdk_s3::{
    Client,
    config::{
        BehaviorVersion, Builder, Region, RequestChecksumCalculation, ResponseChecksumValidation,
        timeout::TimeoutConfig,
    },
    error::{ProvideErrorMetadata, SdkError},
    types::{Delete, ObjectIdentifier},
};

use super::{Code, Error, KeyPair, ObjectStore};
use crate::config::ObjectStoreConfig;

/// One client for all users: each call has its user's key.
pub(super) fn client(config: &ObjectStoreConfig) -> Client {
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_timeout(Duration::from_secs(60))
        .build();
    Client::from_conf(
        aws_sdk_s3::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&config.endpoint)
            .region(Region::new(config.region.clone()))
            .force_path_style(true)
            .request_checksum_calculation(RequestChecksumCalculation::WhenRequired)
            .response_checksum_validation(ResponseChecksumValidation::WhenRequired)
            .timeout_config(timeouts)
            .build(),
    )
}

fn as_user(key: &KeyPair) -> Builder {
    Builder::new().credentials_provider(Credentials::new(&key.access, &key.secret, None, None, "tenant"))
}

fn refused<E, R>(error: SdkError<E, R>) -> Error
where
    SdkError<E, R>: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    R: HasStatus,
{
    let status = error.raw_response().map_or(0, HasStatus::status);
    match error.code() {
        Some(code) if (400..500).contains(&status) => Error::Refused { status, code: code.into() },
        _ => Error::unavailable(error),
    }
}

/// The HTTP status of a raw response.
trait HasStatus {
    fn status(&self) -> u16;
}

impl HasStatus for aws_sdk_s3::config::http::HttpResponse {
    fn status(&self) -> u16 {
        self.status().as_u16()
    }
}

impl ObjectStore {
    /// Creates the bucket, unless the user has it.
    pub(crate) async fn create_bucket(&self, key: &KeyPair, bucket: &str) -> Result<(), Error> {
        let call = self.s3.create_bucket().bucket(bucket).customize().config_override(as_user(key));
        match call.send().await.map_err(refused) {
            Err(error) if error.is(&Code::BucketAlreadyOwnedByYou) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Deletes objects and unfinished uploads for about `budget`. Returns whether none is left.
    pub(crate) async fn empty_bucket(
        &self,
        key: &KeyPair,
        bucket: &str,
        budget: Duration,
    ) -> Result<bool, Error> {
        let started = Instant::now();
        loop {
            let call = self.s3.list_objects_v2().bucket(bucket).max_keys(1000);
            let page = match call.customize().config_override(as_user(key)).send().await.map_err(refused) {
                Err(error) if error.is(&Code::NoSuchBucket) => return Ok(true),
                page => page?,
            };
            let objects: Vec<_> = page
                .contents()
                .iter()
                .filter_map(|object| ObjectIdentifier::builder().key(object.key()?).build().ok())
                .collect();
            if objects.is_empty() {
                return self.abort_uploads(key, bucket).await;
            }
            self.delete_objects(key, bucket, objects).await?;
            if started.elapsed() > budget {
                return Ok(false);
            }
        }
    }

    async fn delete_objects(
        &self,
        key: &KeyPair,
        bucket: &str,
        objects: Vec<ObjectIdentifier>,
    ) -> Result<(), Error> {
        let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
        let call = self.s3.delete_objects().bucket(bucket).delete(delete.map_err(Error::unavailable)?);
        let done = call.customize().config_override(as_user(key)).send().await.map_err(refused)?;
        // the response as a whole is 200 all the same
        match done.errors().first() {
            Some(error) => Err(Error::Refused { status: 200, code: error.code().unwrap_or_default().into() }),
            None => Ok(()),
        }
    }

    /// Aborts a page of unfinished uploads. Returns whether none is left.
    async fn abort_uploads(&self, key: &KeyPair, bucket: &str) -> Result<bool, Error> {
        let call = self.s3.list_multipart_uploads().bucket(bucket).customize();
        let uploads = call.config_override(as_user(key)).send().await.map_err(refused)?;
        for upload in uploads.uploads() {
            let (Some(name), Some(id)) = (upload.key(), upload.upload_id()) else { continue };
            let call = self.s3.abort_multipart_upload().bucket(bucket).key(name).upload_id(id);
            match call.customize().config_override(as_user(key)).send().await.map_err(refused) {
                Err(error) if error.is(&Code::NoSuchUpload) => {}
                done => done.map(drop)?,
            }
        }
        Ok(uploads.is_truncated() != Some(true))
    }
}
