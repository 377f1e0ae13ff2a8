//! The object store: users and quotas by the Admin Ops API of Ceph RGW, buckets and objects by S3.
//!
//! Each tenant has one user, named like the tenant in Kubernetes. The platform works in the user's buckets with an
//! access key of its own. Every call can be repeated.

mod admin;
pub(crate) mod answers;
mod error;
mod pages;
mod s3;
mod staging;

use std::{sync::Arc, time::Duration};

use ids::TenantId;
use rand::RngExt as _;
use tokio::sync::OnceCell;

use crate::config::ObjectStoreConfig;

pub(crate) use error::{Code, Denial, Error, NotConfigured};
pub(crate) use s3::Access;
pub(crate) use staging::{Staging, Target};

/// Prefix of the access keys with which the platform itself acts for a tenant.
const PLATFORM_KEY: &str = "ATPLATFORM";

/// Prefix of the access keys of credentials.
pub(crate) const CREDENTIAL_PREFIX: &str = "ATC";

/// Timeout of short calls.
const SHORT: Duration = Duration::from_secs(15);
/// Timeout of calls that delete much. Deletions before the timeout persist, so that a repetition continues.
const LONG: Duration = Duration::from_secs(30);

/// An access key with its secret.
#[derive(Clone)]
pub(crate) struct KeyPair {
    pub(crate) access: String,
    pub(crate) secret: String,
}

impl KeyPair {
    /// A random pair whose access key starts with `prefix`.
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

/// A bucket as Admin Ops shows it.
pub(crate) struct Bucket {
    /// Name of the user who owns it.
    pub(crate) owner: String,
    /// The enforced quota in KiB, if one is set.
    pub(crate) limit_kib: Option<i64>,
}

/// A client of the object store.
pub(crate) struct ObjectStore {
    pub(crate) config: ObjectStoreConfig,
    http: reqwest::Client,
    s3: aws_sdk_s3::Client,
    staging: OnceCell<Staging>,
}

/// The object store, if one is configured. Clones share it.
#[derive(Clone)]
pub(crate) struct OptionalObjectStore(Option<Arc<ObjectStore>>);

impl OptionalObjectStore {
    pub(crate) fn new(config: Option<ObjectStoreConfig>, http: &reqwest::Client) -> Self {
        Self(config.map(|config| Arc::new(ObjectStore::new(config, http.clone()))))
    }

    pub(crate) fn get(&self) -> Result<&ObjectStore, NotConfigured> {
        self.0.as_deref().ok_or(NotConfigured)
    }
}

/// Name of the tenant's user.
pub(crate) fn user_of(tenant: TenantId) -> String {
    tenant.k8s_name()
}

impl ObjectStore {
    pub(crate) fn new(config: ObjectStoreConfig, http: reqwest::Client) -> Self {
        Self { s3: s3::client(&config), config, http, staging: OnceCell::new() }
    }

    /// Whether it answers a request. An error counts as an answer only if other requests can be served.
    pub(crate) async fn answers(&self, timeout: Duration) -> bool {
        let asked = self.http.get(&self.config.endpoint).timeout(timeout).send().await;
        asked.is_ok_and(|answer| !answer.status().is_server_error())
    }

    /// Creates the tenant's user unless it exists, and returns the platform's key of it.
    ///
    /// Buckets without a quota of their own accept no data: tenants can create such buckets with their keys.
    pub(crate) async fn ensure_user(&self, tenant: TenantId) -> Result<KeyPair, Error> {
        let uid = user_of(tenant);
        let key = self.ensure_key(&uid).await?;
        self.limit_buckets_without_quota(&uid).await?;
        Ok(key)
    }

    /// Creates a user unless it exists, and returns the platform's key of it.
    async fn ensure_key(&self, uid: &str) -> Result<KeyPair, Error> {
        let keys = match self.user_keys(uid).await {
            Err(error) if error.is(&Code::NoSuchUser) => match self.create_user(uid).await {
                Err(error) if error.is(&Code::UserAlreadyExists) => self.user_keys(uid).await?,
                created => created?,
            },
            found => found?,
        };
        if let Some(key) = keys.into_iter().find(|key| key.access.starts_with(PLATFORM_KEY)) {
            return Ok(key);
        }
        let key = KeyPair::random(PLATFORM_KEY);
        self.put_key(uid, &key).await?;
        Ok(key)
    }

    /// Returns the platform's key of the tenant's user; none if there is no such user.
    pub(crate) async fn platform_key(&self, tenant: TenantId) -> Result<Option<KeyPair>, Error> {
        match self.user_keys(&user_of(tenant)).await {
            Err(error) if error.is(&Code::NoSuchUser) => Ok(None),
            keys => Ok(keys?.into_iter().find(|key| key.access.starts_with(PLATFORM_KEY))),
        }
    }

    /// Returns the access keys of credentials that the tenant's user has.
    pub(crate) async fn credentials_of(&self, tenant: TenantId) -> Result<Vec<String>, Error> {
        let keys = match self.user_keys(&user_of(tenant)).await {
            Err(error) if error.is(&Code::NoSuchUser) => Vec::new(),
            keys => keys?,
        };
        let access = keys.into_iter().map(|key| key.access);
        Ok(access.filter(|access| access.starts_with(CREDENTIAL_PREFIX)).collect())
    }

    /// Removes the tenant's user unless it owns a bucket of the platform. Buckets that the tenant created are
    /// removed if they are empty, which they are ([`Self::ensure_user`]).
    pub(crate) async fn remove_user(&self, tenant: TenantId) -> Result<(), Error> {
        let uid = user_of(tenant);
        for bucket in self.buckets_of(&uid).await? {
            if ids::StorageId::from_k8s_name(&bucket).is_ok() {
                return Ok(());
            }
            match self.delete_bucket(&bucket, false, SHORT).await {
                Err(error) if error.is(&Code::NoSuchBucket) || error.is(&Code::BucketNotEmpty) => {}
                done => done?,
            }
        }
        match self.delete_user(&uid).await {
            // RGW's answer if the user owns a bucket
            Err(error) if error.is(&Code::NoSuchUser) || error.is(&Code::BucketAlreadyExists) => Ok(()),
            done => done,
        }
    }
}
