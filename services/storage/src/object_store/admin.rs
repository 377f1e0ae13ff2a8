//! Admin Ops calls. `Message` is usually empty there: only `Code` tells.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{
        PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, sign,
    },
    sign::v4,
};
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::Value;

use super::{Bucket, Error, KeyPair, LONG, ObjectStore, SHORT};

#[derive(Deserialize)]
struct Key {
    access_key: String,
    secret_key: String,
}

impl From<Key> for KeyPair {
    fn from(key: Key) -> Self {
        Self { access: key.access_key, secret: key.secret_key }
    }
}

#[derive(Deserialize)]
struct User {
    keys: Vec<Key>,
}

#[derive(Deserialize)]
struct BucketInfo {
    owner: String,
    bucket_quota: Quota,
}

#[derive(Deserialize)]
struct Quota {
    enabled: bool,
    max_size_kb: i64,
}

fn away(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    Error::Away(error.into())
}

fn read<T: serde::de::DeserializeOwned>(body: Value) -> Result<T, Error> {
    serde_json::from_value(body).map_err(away)
}

impl ObjectStore {
    /// The keys of a user. `NoSuchUser` when there is none.
    pub(super) async fn user_keys(&self, uid: &str) -> Result<Vec<KeyPair>, Error> {
        let user: User = read(self.admin(Method::GET, "user", &[("uid", uid)], SHORT).await?)?;
        Ok(user.keys.into_iter().map(Into::into).collect())
    }

    /// Makes a user with the platform's key. `UserAlreadyExists` when there is one.
    pub(super) async fn create_user(&self, uid: &str) -> Result<Vec<KeyPair>, Error> {
        let key = KeyPair::random(super::PLATFORM_KEY);
        let query =
            [("uid", uid), ("display-name", uid), ("access-key", &key.access), ("secret-key", &key.secret)];
        let user: User = read(self.admin(Method::PUT, "user", &query, SHORT).await?)?;
        Ok(user.keys.into_iter().map(Into::into).collect())
    }

    pub(super) async fn limit_unknown_buckets(&self, uid: &str) -> Result<(), Error> {
        let query = [
            ("quota", ""),
            ("uid", uid),
            ("quota-type", "bucket"),
            ("max-size", "0"),
            ("max-objects", "0"),
            ("enabled", "true"),
        ];
        self.admin(Method::PUT, "user", &query, SHORT).await.map(drop)
    }

    /// Gives the user this key; one with the same access key takes the new secret.
    pub(crate) async fn put_key(&self, uid: &str, key: &KeyPair) -> Result<(), Error> {
        let query = [
            ("key", ""),
            ("uid", uid),
            ("access-key", &key.access),
            ("secret-key", &key.secret),
            ("generate-key", "false"),
        ];
        self.admin(Method::PUT, "user", &query, SHORT).await.map(drop)
    }

    /// Takes a key from the user; gone already is as good.
    pub(crate) async fn remove_key(&self, uid: &str, access: &str) -> Result<(), Error> {
        let query = [("key", ""), ("uid", uid), ("access-key", access)];
        match self.admin(Method::DELETE, "user", &query, SHORT).await {
            Err(error) if error.is("InvalidAccessKeyId") || error.is("NoSuchUser") => Ok(()),
            done => done.map(drop),
        }
    }

    pub(super) async fn delete_user(&self, uid: &str) -> Result<(), Error> {
        self.admin(Method::DELETE, "user", &[("uid", uid)], SHORT).await.map(drop)
    }

    /// Names of a user's buckets; none for a user that is not there.
    pub(super) async fn buckets_of(&self, uid: &str) -> Result<Vec<String>, Error> {
        match self.admin(Method::GET, "bucket", &[("uid", uid)], SHORT).await {
            Err(error) if error.is("NoSuchUser") => Ok(Vec::new()),
            listed => read(listed?),
        }
    }

    /// The bucket, if it is there.
    pub(crate) async fn bucket(&self, name: &str) -> Result<Option<Bucket>, Error> {
        match self.admin(Method::GET, "bucket", &[("bucket", name), ("stats", "true")], SHORT).await {
            Err(error) if error.is("NoSuchBucket") => Ok(None),
            found => {
                let info: BucketInfo = read(found?)?;
                let limit = info.bucket_quota.enabled.then_some(info.bucket_quota.max_size_kb);
                Ok(Some(Bucket { owner: info.owner, limit_kib: limit }))
            }
        }
    }

    /// Sets a bucket's limit; 0 refuses every byte.
    pub(crate) async fn limit_bucket(&self, uid: &str, bucket: &str, kib: i64) -> Result<(), Error> {
        let kib = kib.to_string();
        let query = [
            ("quota", ""),
            ("uid", uid),
            ("bucket", bucket),
            ("max-size-kb", kib.as_str()),
            ("max-objects", "-1"),
            ("enabled", "true"),
        ];
        self.admin(Method::PUT, "bucket", &query, SHORT).await.map(drop)
    }

    pub(super) async fn delete_bucket(&self, name: &str, purge: bool, limit: Duration) -> Result<(), Error> {
        let query = [("bucket", name), ("purge-objects", if purge { "true" } else { "false" })];
        self.admin(Method::DELETE, "bucket", &query, limit).await.map(drop)
    }

    /// Removes an emptied bucket; gone already is as good. What S3 does not list (old versions), or does not
    /// let go (by a policy), goes too.
    pub(crate) async fn remove_bucket(&self, name: &str) -> Result<(), Error> {
        let first = match self.delete_bucket(name, false, SHORT).await {
            Err(error) if error.is("BucketNotEmpty") => self.delete_bucket(name, true, LONG).await,
            done => done,
        };
        match first {
            Err(error) if error.is("NoSuchBucket") => Ok(()),
            done => done,
        }
    }

    async fn admin(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        limit: Duration,
    ) -> Result<Value, Error> {
        let mut url =
            url::Url::parse(&format!("{}/admin/{path}", self.config.endpoint.trim_end_matches('/')))
                .map_err(away)?;
        url.query_pairs_mut().extend_pairs(query).append_pair("format", "json");
        let identity = Credentials::new(
            &self.config.access_key,
            self.config.secret_key.expose_secret(),
            None,
            None,
            "configuration",
        )
        .into();
        let mut settings = SigningSettings::default();
        settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.config.region)
            .name("s3")
            .time(SystemTime::now())
            .settings(settings)
            .build()
            .map_err(away)?
            .into();
        let signable =
            SignableRequest::new(method.as_str(), url.as_str(), [].into_iter(), SignableBody::Bytes(b""))
                .map_err(away)?;
        let (instructions, _) = sign(signable, &params).map_err(away)?.into_parts();
        let mut request = self.http.request(method, url).timeout(limit);
        for (name, value) in instructions.headers() {
            request = request.header(name, value);
        }
        let answer = request.send().await.map_err(|error| away(error.without_url()))?;
        let status = answer.status();
        let bytes = answer.bytes().await.map_err(|error| away(error.without_url()))?;
        let body = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap_or(Value::Null)
        };
        if status.is_success() {
            return Ok(body);
        }
        let code = body["Code"].as_str().unwrap_or("Unknown").to_owned();
        if status.is_server_error() {
            return Err(away(format!("{code} ({status})")));
        }
        Err(Error::Refused { status: status.as_u16(), code })
    }
}
