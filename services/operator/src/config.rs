//! The operator's configuration.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use auth::Callers;
use crds::ClusterConfig;
use plans::settings::Settings;
use serde::Deserialize;

use crate::controller::election::LeaseSettings;

/// The configuration of the operator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address of the Operator API.
    pub listen: SocketAddr,
    /// Callers of the Operator API: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// Kubeconfig file; without one, the service account of the operator's pod.
    #[serde(default)]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; the current one if absent.
    #[serde(default)]
    pub context: Option<String>,
    /// Name of this replica in the election; random if absent.
    #[serde(default)]
    pub identity: Option<String>,
    /// Install the custom resource definitions at startup. For development clusters: it needs additional permissions.
    #[serde(default)]
    pub install: bool,
    /// Number of objects that are reconciled at the same time.
    #[serde(default = "default_workers")]
    pub workers: usize,
    /// Duration of the election's lease in seconds, at least 3.
    #[serde(default = "default_lease")]
    pub lease_seconds: u64,
    /// The extended resource of units that are created through the Operator API.
    #[serde(default = "default_gpu_resource")]
    pub gpu_resource: String,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<service::TelemetryConfig>,
    /// Settings of the operator.
    #[serde(default)]
    pub settings: Settings,
}

const fn default_workers() -> usize {
    32
}

fn default_lease() -> u64 {
    LeaseSettings::default().duration.as_secs()
}

fn default_gpu_resource() -> String {
    "nvidia.com/gpu".to_owned()
}

impl Config {
    /// The lease of the election.
    #[must_use]
    pub fn lease(&self) -> LeaseSettings {
        LeaseSettings { duration: Duration::from_secs(self.lease_seconds.max(3)), ..LeaseSettings::default() }
    }

    /// A client for the configured cluster.
    ///
    /// # Errors
    /// If the credentials cannot be read.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        let cluster = ClusterConfig { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        cluster.client().await
    }
}
