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
    presigning::PresigningConfig,
    types::{Delete, EncodingType, ObjectIdentifier},
};
use futures::{StreamExt as _, TryFutureExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use storage_api::BucketObject;

use super::{Code, Error, KeyPair, ObjectStore};
use crate::config::ObjectStoreConfig;

/// Objects of a bucket that are deleted one by one at the same time.
const DELETIONS: usize = 16;

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

/// What a signed URL allows.
pub(crate) enum Access {
    /// PUT of exactly `bytes` bytes.
    Upload { content_type: String, bytes: i64 },
    /// GET as an attachment.
    Download { content_type: String, file_name: String },
}

pub(super) fn as_user(key: &KeyPair) -> Builder {
    Builder::new().credentials_provider(Credentials::new(&key.access, &key.secret, None, None, "tenant"))
}

pub(super) fn refused<E, R>(error: SdkError<E, R>) -> Error
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
pub(super) trait HasStatus {
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

    /// Deletes objects and unfinished uploads for about `budget`. Returns whether none is left, except what only the
    /// removal of the bucket deletes.
    pub(crate) async fn empty_bucket(
        &self,
        key: &KeyPair,
        bucket: &str,
        budget: Duration,
    ) -> Result<bool, Error> {
        let started = Instant::now();
        let mut before = Vec::new();
        loop {
            let objects: Vec<String> = match self.objects(key, bucket, None).await {
                Err(error) if error.is(&Code::NoSuchBucket) => return Ok(true),
                listed => listed?.into_iter().map(|object| object.name).collect(),
            };
            // if the deletion of a page has no effect, the removal of the bucket deletes its objects
            if objects.is_empty() || objects == before {
                return self.abort_uploads(key, bucket).await;
            }
            self.delete_objects(key, bucket, &objects).await?;
            if started.elapsed() > budget {
                return Ok(false);
            }
            before = objects;
        }
    }

    /// Returns a page of objects, by name: those whose names begin with `prefix`.
    pub(crate) async fn objects(
        &self,
        key: &KeyPair,
        bucket: &str,
        prefix: Option<&str>,
    ) -> Result<Vec<BucketObject>, Error> {
        // unencoded, names with control characters would make the response unreadable
        let call = self.s3.list_objects_v2().bucket(bucket).set_prefix(prefix.map(str::to_owned));
        let call = call.encoding_type(EncodingType::Url).max_keys(1000);
        let page = call.customize().config_override(as_user(key)).send().await.map_err(refused)?;
        let object = |object: &aws_sdk_s3::types::Object| {
            let written_at = object.last_modified();
            Some(BucketObject {
                name: decoded(object.key()?)?,
                bytes: object.size().unwrap_or_default(),
                etag: object.e_tag().map(str::to_owned),
                written_at: written_at.and_then(|at| Timestamp::from_millisecond(at.to_millis().ok()?).ok()),
            })
        };
        Ok(page.contents().iter().filter_map(object).collect())
    }

    /// Returns a URL by which anybody can access one object for a time, at the address for users.
    pub(crate) async fn sign_url(
        &self,
        key: &KeyPair,
        bucket: &str,
        object: &str,
        access: Access,
        lifetime: Duration,
    ) -> Result<String, Error> {
        let signing = PresigningConfig::expires_in(lifetime).map_err(Error::unavailable)?;
        let user = as_user(key).endpoint_url(self.config.public());
        let signed = match access {
            Access::Upload { content_type, bytes } => {
                let call = self.s3.put_object().bucket(bucket).key(object);
                let call = call.content_type(content_type).content_length(bytes);
                call.customize().config_override(user).presigned(signing).await.map_err(Error::unavailable)
            }
            Access::Download { content_type, file_name } => {
                let call =
                    self.s3.get_object().bucket(bucket).key(object).response_content_type(content_type);
                let call = call.response_content_disposition(attachment(&file_name));
                call.customize().config_override(user).presigned(signing).await.map_err(Error::unavailable)
            }
        };
        Ok(signed?.uri().to_owned())
    }

    /// Deletes objects.
    pub(crate) async fn delete_objects(
        &self,
        key: &KeyPair,
        bucket: &str,
        names: &[String],
    ) -> Result<(), Error> {
        let addressable = names.iter().filter(|name| is_addressable(name));
        let (together, alone): (Vec<_>, Vec<_>) = addressable.partition(|name| is_plain(name));
        let deletions: Vec<_> = alone
            .into_iter()
            .map(|name| {
                let call = self.s3.delete_object().bucket(bucket).key(name).customize();
                call.config_override(as_user(key)).send().map_err(refused).map_ok(drop)
            })
            .collect();
        stream::iter(deletions).buffer_unordered(DELETIONS).try_collect::<()>().await?;
        let objects: Vec<_> = together
            .into_iter()
            .filter_map(|name| ObjectIdentifier::builder().key(name).build().ok())
            .collect();
        if objects.is_empty() {
            return Ok(());
        }
        let delete = Delete::builder().set_objects(Some(objects)).quiet(true).build();
        let call = self.s3.delete_objects().bucket(bucket).delete(delete.map_err(Error::unavailable)?);
        let done = call.customize().config_override(as_user(key)).send().await.map_err(refused)?;
        // the response as a whole is still 200
        match done.errors().first() {
            Some(error) => Err(Error::Refused { status: 200, code: error.code().unwrap_or_default().into() }),
            None => Ok(()),
        }
    }

    /// Aborts a page of unfinished uploads. Returns whether none is left.
    async fn abort_uploads(&self, key: &KeyPair, bucket: &str) -> Result<bool, Error> {
        let call =
            self.s3.list_multipart_uploads().bucket(bucket).encoding_type(EncodingType::Url).customize();
        let uploads = call.config_override(as_user(key)).send().await.map_err(refused)?;
        let mut aborted = false;
        for upload in uploads.uploads() {
            let name = upload.key().and_then(decoded).filter(|name| is_addressable(name));
            let (Some(name), Some(id)) = (name, upload.upload_id()) else { continue };
            let call = self.s3.abort_multipart_upload().bucket(bucket).key(name).upload_id(id);
            match call.customize().config_override(as_user(key)).send().await.map_err(refused) {
                Err(error) if error.is(&Code::NoSuchUpload) => {}
                done => done.map(drop)?,
            }
            aborted = true;
        }
        Ok(uploads.is_truncated() != Some(true) || !aborted)
    }
}

/// The header for a file that is saved under this name (RFC 6266): a name that is not plain ASCII is encoded
/// as in RFC 8187, after a fallback name for other clients.
fn attachment(file_name: &str) -> String {
    let is_plain = |c: char| (c.is_ascii_graphic() || c == ' ') && !"\"\\%".contains(c);
    let plain = file_name.replace(|c| !is_plain(c), "_");
    if plain == file_name {
        return format!("attachment; filename=\"{plain}\"");
    }
    let encoded = utf8_percent_encode(file_name, NON_ALPHANUMERIC);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// Returns a name from a list with `encoding-type=url`: a space is `%20` in Ceph and `+` in AWS.
fn decoded(name: &str) -> Option<String> {
    percent_decode_str(&name.replace('+', " ")).decode_utf8().map(Into::into).ok()
}

/// Whether the client accepts the name in the path of a request. The removal of the bucket deletes the others.
fn is_addressable(name: &str) -> bool {
    !name.trim().is_empty()
}

/// Whether the name survives as text in XML, unlike control characters and spaces at its ends. Other names are deleted
/// one by one: in the path of a request they are percent-encoded.
fn is_plain(name: &str) -> bool {
    let fits = |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{fffe}' | '\u{ffff}');
    name.trim() == name && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_as_ceph_and_as_aws_encode_them() {
        for (encoded, name) in [
            ("a/b.png", "a/b.png"),
            ("%01%7F", "\u{1}\u{7f}"),
            ("a%20b", "a b"),
            ("a+b", "a b"),
            ("a%2Bb%252F", "a+b%2F"),
            ("%EF%BF%BE", "\u{fffe}"),
        ] {
            assert_eq!(decoded(encoded).as_deref(), Some(name));
        }
        assert_eq!(decoded("%FF"), None);
        assert!(is_addressable("a ") && !is_addressable(" \u{85}"));
    }

    #[test]
    fn a_file_is_saved_under_its_name() {
        for (name, header) in [
            ("0.png", "attachment; filename=\"0.png\""),
            ("a b.png", "attachment; filename=\"a b.png\""),
            ("\u{fc} \".png", "attachment; filename=\"_ _.png\"; filename*=UTF-8''%C3%BC%20%22%2Epng"),
            ("50%.txt", "attachment; filename=\"50_.txt\"; filename*=UTF-8''50%25%2Etxt"),
        ] {
            assert_eq!(attachment(name), header);
        }
    }

    #[test]
    fn a_name_that_xml_alters_is_not_plain() {
        for plain in ["a", "a/../b", "<&>\"'", "π😀", "a b"] {
            assert!(is_plain(plain), "{plain:?}");
        }
        for other in ["\u{1}", "a\rb", "\n", "\u{7f}", "\u{85}", "\u{fffe}", " a", "a ", "\t"] {
            assert!(!is_plain(other), "{other:?}");
        }
    }
}
