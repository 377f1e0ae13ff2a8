//! Admin Ops calls. In error responses, `Message` is usually empty; `Code` names the error.

use std::time::{Duration, SystemTime};

use aws_credential_types::Credentials;
use aws_sigv4::{
    http_request::{
        PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, sign,
    },
    sign::v4,
};
use ids::TenantId;
use reqwest::Method;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{Bucket, Code, Error, KeyPair, LONG, ObjectStore, SHORT};

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
    /// 0 or 1.
    suspended: i64,
}

#[derive(Deserialize)]
struct UserPage {
    keys: Vec<String>,
    truncated: bool,
    #[serde(default)]
    marker: Option<String>,
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

fn read<T: serde::de::DeserializeOwned>(body: Value) -> Result<T, Error> {
    serde_json::from_value(body).map_err(Error::unavailable)
}

impl ObjectStore {
    /// Returns the keys of a user, or `NoSuchUser`.
    pub(super) async fn user_keys(&self, uid: &str) -> Result<Vec<KeyPair>, Error> {
        let user: User = read(self.admin(Method::GET, "user", &[("uid", uid)], SHORT).await?)?;
        Ok(user.keys.into_iter().map(Into::into).collect())
    }

    /// Suspends the tenant's user, so that none of its keys is accepted, or resumes it. Does nothing if there is no such
    /// user.
    pub(crate) async fn suspend_user(&self, tenant: TenantId, suspended: bool) -> Result<(), Error> {
        let uid = super::user_of(tenant);
        let user: User = match self.admin(Method::GET, "user", &[("uid", &uid)], SHORT).await {
            Err(error) if error.is(&Code::NoSuchUser) => return Ok(()),
            found => read(found?)?,
        };
        if (user.suspended != 0) == suspended {
            return Ok(());
        }
        let suspended = if suspended { "true" } else { "false" };
        match self.admin(Method::POST, "user", &[("uid", &uid), ("suspended", suspended)], SHORT).await {
            Err(error) if error.is(&Code::NoSuchUser) => Ok(()),
            done => done.map(drop),
        }
    }

    /// Creates a user with a key of the platform, or returns `UserAlreadyExists`.
    pub(super) async fn create_user(&self, uid: &str) -> Result<Vec<KeyPair>, Error> {
        let key = KeyPair::random(super::PLATFORM_KEY);
        let query =
            [("uid", uid), ("display-name", uid), ("access-key", &key.access), ("secret-key", &key.secret)];
        let user: User = read(self.admin(Method::PUT, "user", &query, SHORT).await?)?;
        Ok(user.keys.into_iter().map(Into::into).collect())
    }

    /// Sets the quota of the user's buckets that have none of their own to 0.
    pub(super) async fn limit_buckets_without_quota(&self, uid: &str) -> Result<(), Error> {
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

    /// Adds the key to the user. If the user has the access key, its secret is replaced.
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

    /// Removes a key from the user, if the user has it.
    pub(crate) async fn remove_key(&self, uid: &str, access: &str) -> Result<(), Error> {
        let query = [("key", ""), ("uid", uid), ("access-key", access)];
        match self.admin(Method::DELETE, "user", &query, SHORT).await {
            Err(error) if error.is(&Code::InvalidAccessKeyId) || error.is(&Code::NoSuchUser) => Ok(()),
            done => done.map(drop),
        }
    }

    pub(super) async fn delete_user(&self, uid: &str) -> Result<(), Error> {
        self.admin(Method::DELETE, "user", &[("uid", uid)], SHORT).await.map(drop)
    }

    /// Returns names of users after a position, and the next position unless they were the last.
    pub(crate) async fn users(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<(Vec<String>, Option<String>), Error> {
        let limit = limit.to_string();
        let mut query = vec![("max-entries", limit.as_str())];
        query.extend(after.map(|after| ("marker", after)));
        let page: UserPage = read(self.admin(Method::GET, "metadata/user", &query, SHORT).await?)?;
        let next = page.marker.filter(|_| page.truncated);
        Ok((page.keys, next))
    }

    /// Returns the names of a user's buckets; none if the user does not exist.
    pub(crate) async fn buckets_of(&self, uid: &str) -> Result<Vec<String>, Error> {
        match self.admin(Method::GET, "bucket", &[("uid", uid)], SHORT).await {
            Err(error) if error.is(&Code::NoSuchUser) => Ok(Vec::new()),
            listed => read(listed?),
        }
    }

    /// Returns the bucket, if it exists.
    pub(crate) async fn bucket(&self, name: &str) -> Result<Option<Bucket>, Error> {
        match self.admin(Method::GET, "bucket", &[("bucket", name), ("stats", "true")], SHORT).await {
            Err(error) if error.is(&Code::NoSuchBucket) => Ok(None),
            found => {
                let info: BucketInfo = read(found?)?;
                let limit = info.bucket_quota.enabled.then_some(info.bucket_quota.max_size_kb);
                Ok(Some(Bucket { owner: info.owner, limit_kib: limit }))
            }
        }
    }

    /// Sets the quota of a bucket. With 0, it accepts no data.
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

    /// Removes an emptied bucket, if it exists, with what S3 did not list (old versions) or did not delete (because
    /// of a policy).
    pub(crate) async fn remove_bucket(&self, name: &str) -> Result<(), Error> {
        let first = match self.delete_bucket(name, false, SHORT).await {
            Err(error) if error.is(&Code::BucketNotEmpty) => self.delete_bucket(name, true, LONG).await,
            done => done,
        };
        match first {
            Err(error) if error.is(&Code::NoSuchBucket) => Ok(()),
            done => done,
        }
    }

    async fn admin(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, &str)],
        timeout: Duration,
    ) -> Result<Value, Error> {
        let endpoint = self.config.endpoint.trim_end_matches('/');
        let mut url = Url::parse(&format!("{endpoint}/admin/{path}")).map_err(Error::unavailable)?;
        url.query_pairs_mut().extend_pairs(query).append_pair("format", "json");
        let headers = self.sign(&method, &url)?;
        let mut request = self.http.request(method, url).timeout(timeout);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| Error::unavailable(error.without_url()))?;
        let status = response.status();
        let body = response.bytes().await.map_err(|error| Error::unavailable(error.without_url()))?;
        // empty after some calls
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if status.is_success() {
            return Ok(body);
        }
        let code = Code::from(body["Code"].as_str().unwrap_or("Unknown"));
        if status.is_server_error() {
            return Err(Error::unavailable(format!("{code} ({status})")));
        }
        Err(Error::Refused { status: status.as_u16(), code })
    }

    /// Returns the headers that sign a request without a body, as the configured user.
    fn sign(&self, method: &Method, url: &Url) -> Result<Vec<(String, String)>, Error> {
        let secret = self.config.secret_key.expose_secret();
        let identity = Credentials::new(&self.config.access_key, secret, None, None, "configuration").into();
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
            .map_err(Error::unavailable)?
            .into();
        let body = SignableBody::Bytes(b"");
        let request = SignableRequest::new(method.as_str(), url.as_str(), [].into_iter(), body);
        let signed = sign(request.map_err(Error::unavailable)?, &params).map_err(Error::unavailable)?;
        let (instructions, _) = signed.into_parts();
        Ok(instructions.headers().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }
}
