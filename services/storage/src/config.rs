//! The configuration file.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use anyhow::ensure;
use auth::{AuthConfig, Callers};
use crds::ClusterConfig;
use db::{DbConfig, queue::Settings};
use peer::Endpoint;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// The service's schema.
    pub database: DbConfig,
    /// Whose access tokens are accepted.
    pub auth: AuthConfig,
    /// Services that may call internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// Clusters of volumes, by name. Without any, only buckets can be created.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// Clusters of datacenters whose name differs from that of their cluster: datacenter → cluster.
    #[serde(default)]
    pub datacenters: BTreeMap<String, String>,
    /// The gpu service, which knows the tenants whose budget is used up. Without it, budgets do not limit storages.
    #[serde(default)]
    pub gpu: Option<Endpoint>,
    /// The object store of buckets. Without one, only volumes can be created.
    #[serde(default)]
    pub object_store: Option<ObjectStoreConfig>,
    /// The reconciler.
    #[serde(default)]
    pub reconcile: ReconcileConfig,
    /// Quotas of each tenant.
    #[serde(default)]
    pub limits: LimitsConfig,
    /// How long entries of the audit log are kept.
    #[serde(default)]
    pub audit: audit::RetentionConfig,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<service::TelemetryConfig>,
}

/// Quotas of each tenant. A storage counts until it is gone.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// Storages (default 100).
    pub storages_per_tenant: i64,
    /// Sum of the sizes of all storages, in GiB (default 20480).
    pub gib_per_tenant: i64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self { storages_per_tenant: 100, gib_per_tenant: 20 * 1024 }
    }
}

/// An object store: S3 with the Admin Ops API of Ceph RGW.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectStoreConfig {
    /// Base URL for this service, `http(s)://host:port`.
    pub endpoint: String,
    /// Base URL for users. The default is `endpoint`.
    #[serde(default)]
    pub public_endpoint: Option<String>,
    /// Access key of a user with the capabilities `users=*;buckets=*`.
    pub access_key: String,
    /// Secret key of that user.
    pub secret_key: SecretString,
    /// Region for request signatures.
    #[serde(default = "default_region")]
    pub region: String,
    /// Origins of pages that read and write objects of output buckets by signed URLs: that of the console. None by default.
    #[serde(default)]
    pub allowed_origins: Vec<String>,
}

fn default_region() -> String {
    "default".to_owned()
}

impl ObjectStoreConfig {
    /// Base URL for users.
    #[must_use]
    pub fn public(&self) -> &str {
        self.public_endpoint.as_deref().unwrap_or(&self.endpoint)
    }
}

/// The reconciler. All times must be at least a second.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ReconcileConfig {
    /// Maximum number of storages reconciled at the same time (default 16). One cluster or the object store uses at
    /// most half of it.
    pub concurrency: usize,
    /// How long a lease lasts unless it is renewed. After a crash, other replicas wait this long (default 5).
    pub lease_seconds: u32,
    /// How often due storages are read without a notification (default 60).
    pub poll_seconds: u32,
    /// How often the actual state of each storage is compared with the desired state (default 300).
    pub compare_seconds: u32,
}

impl Default for ReconcileConfig {
    fn default() -> Self {
        Self { concurrency: 16, lease_seconds: 5, poll_seconds: 60, compare_seconds: 300 }
    }
}

impl ReconcileConfig {
    /// Limits of the row queue.
    pub(crate) fn queue(&self) -> Settings {
        Settings {
            concurrency: self.concurrency.max(1),
            lane_concurrency: self.concurrency.div_ceil(2).max(1),
            lease: seconds(self.lease_seconds),
            poll: seconds(self.poll_seconds),
            min_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(4),
        }
    }

    /// Time between two comparisons of a storage.
    pub(crate) fn compare(&self) -> Duration {
        seconds(self.compare_seconds)
    }
}

fn seconds(configured: u32) -> Duration {
    Duration::from_secs(configured.max(1).into())
}

impl Config {
    /// Checks constraints that the types do not express.
    ///
    /// # Errors
    /// If the cluster of a datacenter is not configured, or an origin is not valid. The error names it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        for (datacenter, cluster) in &self.datacenters {
            ensure!(
                self.clusters.contains_key(cluster),
                "datacenters.{datacenter} names the cluster {cluster:?}, which is not among `clusters`"
            );
        }
        for origin in self.object_store.iter().flat_map(|store| &store.allowed_origins) {
            // browsers compare origins byte by byte
            let is_origin = Url::parse(origin).is_ok_and(|url| url.origin().ascii_serialization() == *origin);
            ensure!(
                is_origin,
                "object_store.allowed_origins: {origin:?} is not an origin such as https://console.example"
            );
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn config(clusters: &[&str], datacenters: &[(&str, &str)], object_store: bool) -> Config {
        let text = |name: &str| name.to_owned();
        let objects = serde_json::json!({ "endpoint": "http://s3", "access_key": "a", "secret_key": "s" });
        Config {
            listen: "127.0.0.1:0".parse().unwrap(),
            database: serde_json::from_value(
                serde_json::json!({ "url": "postgres://db/x", "app_password": "", "worker_password": "" }),
            )
            .unwrap(),
            auth: serde_json::from_value(serde_json::json!({ "issuer": "x", "jwks_url": "http://x/" }))
                .unwrap(),
            callers: Callers::default(),
            clusters: clusters.iter().map(|name| (text(name), ClusterConfig::default())).collect(),
            datacenters: datacenters.iter().map(|(name, cluster)| (text(name), text(cluster))).collect(),
            object_store: object_store.then(|| serde_json::from_value(objects).unwrap()),
            gpu: None,
            reconcile: ReconcileConfig::default(),
            limits: LimitsConfig::default(),
            audit: audit::RetentionConfig::default(),
            telemetry: None,
        }
    }

    #[test]
    fn a_datacenter_without_its_cluster_is_refused() {
        assert!(config(&["east"], &[("de-1", "east")], false).check().is_ok());
        let error = config(&["east"], &[("de-1", "west")], false).check().unwrap_err();
        assert!(error.to_string().contains("de-1"), "{error}");
    }

    #[test]
    fn a_lane_gets_half_of_the_concurrency() {
        let lanes = |concurrency| {
            let settings = ReconcileConfig { concurrency, ..ReconcileConfig::default() }.queue();
            (settings.concurrency, settings.lane_concurrency)
        };
        assert_eq!([0, 1, 3, 16].map(lanes), [(1, 1), (1, 1), (3, 2), (16, 8)]);
    }
}
