//! Configuration of the service.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use auth::{AuthConfig, Callers};
use cache::CacheConfig;
use crds::ClusterConfig;
use db::{DbConfig, queue};
use serde::Deserialize;

/// Configuration of the service.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port to listen on.
    #[serde(default = "default_listen")]
    pub listen: SocketAddr,
    /// The service's schema.
    pub database: DbConfig,
    /// Issuer of the accepted access tokens.
    pub auth: AuthConfig,
    /// Services that may call the internal operations: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// Clusters that datacenters may name.
    #[serde(default)]
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// The Valkey or Redis in which replicas share data that may be lost. Without it, each replica keeps it in memory.
    #[serde(default)]
    pub cache: Option<CacheConfig>,
    /// Deadlines, periods and limits.
    #[serde(default)]
    pub stock: StockConfig,
    /// How long entries of the audit log are kept.
    #[serde(default)]
    pub audit: audit::RetentionConfig,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<service::TelemetryConfig>,
}

fn default_listen() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8081))
}

/// Deadlines, periods and limits.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StockConfig {
    /// Seconds after which a unit of an addition counts as failed if it does not hold its resources. A unit whose
    /// object exists stays, and becomes available as soon as it is held; the others are withdrawn.
    pub hold_deadline_seconds: u32,
    /// Maximum number of additions in progress, and of removals in progress.
    pub max_open_operations: u32,
    /// Seconds between two full comparisons of a cluster with its units.
    pub compare_every_seconds: u32,
    /// Seconds between two counts of the units for the capacity over time.
    pub measure_every_seconds: u32,
    /// Maximum number of units of one cluster that are reconciled at the same time.
    pub cluster_concurrency: usize,
    /// Timeout of a call to a cluster, in seconds.
    pub cluster_timeout_seconds: u32,
    /// Minimum number of free units of a specification in a datacenter that interruptible claims do not get, so that
    /// most claims find a free one. More are held back if earlier claims suggest it.
    pub interruptible_hold_back: u32,
    /// Seconds within which the instance of an interruptible claim leaves its unit once another claim has it.
    pub recall_seconds: u32,
    /// Seconds for which a unit is leased to a worker, unless it renews the lease. After a crash its units wait this
    /// long.
    pub lease_seconds: u32,
}

impl Default for StockConfig {
    fn default() -> Self {
        Self {
            hold_deadline_seconds: 60,
            max_open_operations: 50,
            compare_every_seconds: 120,
            measure_every_seconds: 60,
            cluster_concurrency: 16,
            cluster_timeout_seconds: 5,
            interruptible_hold_back: 1,
            recall_seconds: 15,
            lease_seconds: 10,
        }
    }
}

impl StockConfig {
    pub(crate) fn compare_every(&self) -> Duration {
        seconds(self.compare_every_seconds)
    }

    pub(crate) fn measure_every(&self) -> Duration {
        seconds(self.measure_every_seconds)
    }

    pub(crate) fn cluster_timeout(&self) -> Duration {
        seconds(self.cluster_timeout_seconds)
    }

    /// Limits of the queue of units in `clusters` clusters.
    pub(crate) fn queue(&self, clusters: usize) -> queue::Settings {
        let lane_concurrency = self.cluster_concurrency.max(1);
        queue::Settings {
            concurrency: lane_concurrency * clusters.max(1),
            lane_concurrency,
            lease: seconds(self.lease_seconds),
            poll: queue::HEAL,
            min_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(60),
        }
    }
}

fn seconds(seconds: u32) -> Duration {
    Duration::from_secs(seconds.max(1).into())
}
