//! What an administrator sets.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf, time::Duration};

use auth::{AuthConfig, Callers};
use db::DbConfig;
use secrecy::SecretString;
use serde::Deserialize;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The service's schema.
    pub database: DbConfig,
    /// Whose tokens are accepted.
    pub auth: AuthConfig,
    /// Services that may call internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// Clusters in which volumes are made: name → kubeconfig file, which is read again whenever the
    /// cluster does not answer. Without any, only buckets can be made.
    #[serde(default)]
    pub clusters: BTreeMap<String, PathBuf>,
    /// Datacenters that are not named as their cluster: datacenter → cluster.
    #[serde(default)]
    pub datacenters: BTreeMap<String, String>,
    /// Where buckets are made. Without it, only volumes can be made.
    #[serde(default)]
    pub object_store: Option<ObjectStoreConfig>,
    /// The reconciler.
    #[serde(default)]
    pub reconcile: ReconcileConfig,
}

/// An S3 with Ceph RGW's Admin Ops.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectStoreConfig {
    /// `http(s)://host:port` as this service reaches it.
    pub endpoint: String,
    /// The same as users reach it; by default as this service does.
    #[serde(default)]
    pub public_endpoint: Option<String>,
    /// Key of a user with the capabilities `users=*;buckets=*`.
    pub access_key: String,
    /// Its secret.
    pub secret_key: SecretString,
    /// The region that clients are told to sign with.
    #[serde(default = "default_region")]
    pub region: String,
}

fn default_region() -> String {
    "default".to_owned()
}

impl ObjectStoreConfig {
    /// The address users are told.
    #[must_use]
    pub fn public(&self) -> &str {
        self.public_endpoint.as_deref().unwrap_or(&self.endpoint)
    }
}

/// How the reconciler works.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReconcileConfig {
    /// Storages worked on at once (default 16).
    pub concurrency: usize,
    /// For how long a storage is a worker's alone unless it renews that; after a kill the others wait this
    /// long (default 5).
    pub lease_seconds: u32,
    /// How often due storages are looked for when nothing calls (default 1).
    pub poll_seconds: u32,
    /// How often each storage is compared with what is really there (default 300).
    pub compare_seconds: u32,
}

impl Default for ReconcileConfig {
    fn default() -> Self {
        Self { concurrency: 16, lease_seconds: 5, poll_seconds: 1, compare_seconds: 300 }
    }
}

impl ReconcileConfig {
    pub(crate) fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds.max(1).into())
    }

    pub(crate) fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.max(1).into())
    }

    pub(crate) fn compare(&self) -> Duration {
        Duration::from_secs(self.compare_seconds.max(1).into())
    }
}

impl Config {
    /// The cluster of a datacenter; of the only one when none is named.
    pub(crate) fn cluster_of(&self, datacenter: Option<&str>) -> Option<(String, String)> {
        if let Some(name) = datacenter {
            let cluster = self.datacenters.get(name).map_or(name, String::as_str);
            return self.clusters.contains_key(cluster).then(|| (name.to_owned(), cluster.to_owned()));
        }
        let mut clusters = self.clusters.keys();
        let (only, None) = (clusters.next()?, clusters.next()) else {
            return None;
        };
        let mut named = self.datacenters.iter().filter(|(_, cluster)| *cluster == only);
        let datacenter = match (named.next(), named.next()) {
            (Some((name, _)), None) => name,
            _ => only,
        };
        Some((datacenter.clone(), only.clone()))
    }
}
