//! The operator's configuration.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use auth::Callers;
use crds::ClusterConfig;
use serde::Deserialize;

use crate::controller::election::LeaseSettings;
use crate::settings::Settings;

/// All of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the Operator API listens.
    pub listen: SocketAddr,
    /// Who may call the Operator API: name → token.
    #[serde(default)]
    pub callers: Callers,
    /// A kubeconfig file; without one, the service account of the pod the operator runs in.
    #[serde(default)]
    pub kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context; its current one when absent.
    #[serde(default)]
    pub context: Option<String>,
    /// Name of this replica in the election; made up when absent.
    #[serde(default)]
    pub identity: Option<String>,
    /// Install the definitions of the custom resources at the start. For development clusters: it needs
    /// rights that the operator otherwise does without.
    #[serde(default)]
    pub install: bool,
    /// How many objects are looked at at a time.
    #[serde(default = "default_workers")]
    pub workers: usize,
    /// Seconds that a silent leader keeps its place.
    #[serde(default = "default_lease")]
    pub lease_seconds: u64,
    /// The extended resource that units made through the Operator API ask for.
    #[serde(default = "default_gpu_resource")]
    pub gpu_resource: String,
    /// What decisions depend on.
    #[serde(default)]
    pub settings: Settings,
}

const fn default_workers() -> usize {
    32
}

const fn default_lease() -> u64 {
    15
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
    /// When the credentials cannot be read.
    pub async fn client(&self) -> anyhow::Result<kube::Client> {
        let cluster = ClusterConfig { kubeconfig: self.kubeconfig.clone(), context: self.context.clone() };
        cluster.client().await
    }
}
