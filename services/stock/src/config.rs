//! What can be configured.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use auth::{AuthConfig, Callers};
use crds::ClusterConfig;
use db::DbConfig;
use serde::Deserialize;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where it listens.
    #[serde(default = "default_listen")]
    pub listen: SocketAddr,
    /// Its schema.
    pub database: DbConfig,
    /// Whose access tokens it accepts.
    pub auth: AuthConfig,
    /// The services that may call its internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// The clusters that datacenters may name.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// How patient and how thorough it is.
    #[serde(default)]
    pub stock: Tuning,
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8081))
}

/// How patient and how thorough the service is.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Tuning {
    /// Seconds after which a unit of an addition that is not held counts as failed. It stays, and becomes
    /// available as soon as it is held.
    pub hold_deadline_seconds: u32,
    /// Seconds between two full comparisons of a cluster with the units recorded here.
    pub compare_every_seconds: u32,
    /// Objects that are made or removed at a time.
    pub cluster_concurrency: usize,
    /// Seconds for which a worker has a unit to itself. One that was killed delays its units by so much.
    pub lease_seconds: u32,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            hold_deadline_seconds: 60,
            compare_every_seconds: 60,
            cluster_concurrency: 16,
            lease_seconds: 10,
        }
    }
}

impl Tuning {
    pub(crate) fn compare_every(&self) -> Duration {
        Duration::from_secs(u64::from(self.compare_every_seconds.max(1)))
    }
}
