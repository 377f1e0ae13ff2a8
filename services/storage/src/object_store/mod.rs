//! The object store: users and quotas by Ceph RGW's Admin Ops, bytes by S3.
//!
//! Each tenant has one user, named as the tenant's Kubernetes name. The platform works in its buckets with
//! a key of that user that nobody else has. Every call here may be repeated.

mod admin;
mod s3;

use std::time::Duration;

use ids::TenantId;
use rand::RngExt as _;

use crate::config::ObjectStoreConfig;

/// What begins the access key with which the platform itself acts for a tenant.
const PLATFORM_KEY: &str = "ATPLATFORM";

/// What begins the access key of a credential that was given to a tenant.
pub(crate) const CREDENTIAL_PREFIX: &str = "ATC";

/// Why the object store did not do it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It refused, with a code.
    #[error("the object store refused: {code} ({status})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// S3's or RGW's code.
        code: String,
    },
    /// It did not answer as it should.
    #[error("the object store does not answer")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Whether it refused with this code.
    pub(crate) fn is(&self, wanted: &str) -> bool {
        matches!(self, Self::Refused { code, .. } if code == wanted)
    }

    /// Whether trying again may go well: the user or the bucket went between two calls, as when the tenant's
    /// last bucket is removed while another is made, or clocks disagree for a moment.
    pub(crate) fn may_pass(&self) -> bool {
        ["InvalidAccessKeyId", "NoSuchUser", "NoSuchKey", "NoSuchBucket", "RequestTimeTooSkewed"]
            .iter()
            .any(|code| self.is(code))
    }
}

/// A key pair.
#[derive(Clone)]
pub(crate) struct KeyPair {
    pub(crate) access: String,
    pub(crate) secret: String,
}

impl KeyPair {
    /// A new pair whose access key begins with `prefix`.
    pub(crate) fn random(prefix: &str) -> Self {
        const UPPER: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const ANY: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
        let mut rng = rand::rng();
        let mut text = |alphabet: &[u8], length: usize| -> String {
            (0..length).map(|_| char::from(alphabet[rng.random_range(0..alphabet.len())])).collect()
        };
        Self {
            access: format!("{prefix}{}", text(UPPER, 20_usize.saturating_sub(prefix.len()))),
            secret: text(ANY, 40),
        }
    }
}

/// A bucket as the administration shows it.
pub(crate) struct Bucket {
    pub(crate) owner: String,
    /// The enforced limit in KiB; none when there is none.
    pub(crate) limit_kib: Option<i64>,
}

/// The client.
pub(crate) struct ObjectStore {
    pub(crate) config: ObjectStoreConfig,
    http: reqwest::Client,
    s3: aws_sdk_s3::Client,
}

/// Name of a tenant's user.
pub(crate) fn user_of(tenant: TenantId) -> String {
    tenant.k8s_name()
}

impl ObjectStore {
    pub(crate) fn new(config: ObjectStoreConfig, http: reqwest::Client) -> Self {
        Self { s3: s3::client(&config), config, http }
    }

    /// Makes the tenant's user unless it is there, and gives the platform's key of it.
    ///
    /// Buckets that nobody gave a limit take no byte: a tenant's own keys can make such.
    pub(crate) async fn ensure_user(&self, tenant: TenantId) -> Result<KeyPair, Error> {
        let uid = user_of(tenant);
        let keys = match self.user_keys(&uid).await {
            Err(error) if error.is("NoSuchUser") => match self.create_user(&uid).await {
                Err(error) if error.is("UserAlreadyExists") => self.user_keys(&uid).await?,
                created => created?,
            },
            found => found?,
        };
        self.limit_unknown_buckets(&uid).await?;
        if let Some(key) = keys.into_iter().find(|key| key.access.starts_with(PLATFORM_KEY)) {
            return Ok(key);
        }
        let key = KeyPair::random(PLATFORM_KEY);
        self.put_key(&uid, &key).await?;
        Ok(key)
    }

    /// The access keys of the credentials that the tenant's user has.
    pub(crate) async fn credentials_of(&self, tenant: TenantId) -> Result<Vec<String>, Error> {
        let keys = match self.user_keys(&user_of(tenant)).await {
            Err(error) if error.is("NoSuchUser") => Vec::new(),
            keys => keys?,
        };
        let access = keys.into_iter().map(|key| key.access);
        Ok(access.filter(|access| access.starts_with(CREDENTIAL_PREFIX)).collect())
    }

    /// Removes the tenant's user unless it still owns something that holds data. Buckets that the tenant
    /// made by itself go if they are empty, which they are ([`Self::ensure_user`]).
    pub(crate) async fn remove_user(&self, tenant: TenantId) -> Result<(), Error> {
        let uid = user_of(tenant);
        for bucket in self.buckets_of(&uid).await? {
            if ids::StorageId::from_k8s_name(&bucket).is_ok() {
                return Ok(());
            }
            match self.delete_bucket(&bucket, false, SHORT).await {
                Err(error) if error.is("NoSuchBucket") || error.is("BucketNotEmpty") => {}
                done => done?,
            }
        }
        match self.delete_user(&uid).await {
            // it owns a bucket: RGW's own word for it
            Err(error) if error.is("NoSuchUser") || error.is("BucketAlreadyExists") => Ok(()),
            done => done,
        }
    }
}

/// For calls that do little.
const SHORT: Duration = Duration::from_secs(15);
/// For calls that remove much.
const LONG: Duration = Duration::from_secs(600);
