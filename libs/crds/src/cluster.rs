//! Configuration and clients of the clusters.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use anyhow::Context;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde::Deserialize;

/// Timeouts, so that a cluster that does not answer does not block a worker for long.
const CONNECT: Duration = Duration::from_secs(5);
const WRITE: Duration = Duration::from_secs(30);
/// Longer than a healthy watch can be silent: the API server ends each watch earlier.
const READ: Duration = Duration::from_secs(330);

/// The check of [`Clusters::checks`] for a cluster.
type Check = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// How to reach a cluster.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterConfig {
    /// Path of a kubeconfig; when absent, the service account of the service's pod.
    #[serde(default)]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; its current context when absent.
    #[serde(default)]
    pub context: Option<String>,
}

impl ClusterConfig {
    /// Creates a client that reads, watches and writes objects.
    ///
    /// # Errors
    /// If the credentials cannot be read.
    pub async fn client(&self) -> anyhow::Result<Client> {
        let mut config = self.config().await?;
        config.read_timeout = Some(READ);
        config.write_timeout = Some(WRITE);
        Ok(Client::try_from(config)?)
    }

    /// Creates a client without read timeout, for streams that may be silent: followed logs, terminals.
    ///
    /// # Errors
    /// If the credentials cannot be read.
    pub async fn client_for_streams(&self) -> anyhow::Result<Client> {
        Ok(Client::try_from(self.config().await?)?)
    }

    async fn config(&self) -> anyhow::Result<Config> {
        let mut config = match &self.kubeconfig {
            Some(path) => {
                let file = Kubeconfig::read_from(path)
                    .with_context(|| format!("cannot read the kubeconfig {}", path.display()))?;
                let options = KubeConfigOptions { context: self.context.clone(), ..Default::default() };
                Config::from_custom_kubeconfig(file, &options).await?
            }
            None => Config::incluster()?,
        };
        config.connect_timeout = Some(CONNECT);
        Ok(config)
    }
}

/// Why a cluster has no client.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No cluster of this name is configured.
    #[error("no cluster {0:?} is configured")]
    Unknown(String),
    /// The kubeconfig is missing or not valid.
    #[error("the credentials of cluster {cluster:?} cannot be used")]
    Credentials {
        /// Name of the cluster.
        cluster: String,
        /// Why they cannot be used.
        #[source]
        cause: anyhow::Error,
    },
}

/// The configured clusters. A client is created on first use and kept until [`Clusters::forget`], so a service can
/// start before its clusters and their kubeconfigs exist. Clones share the clients.
#[derive(Clone, Default)]
pub struct Clusters(Arc<BTreeMap<String, Cluster>>);

struct Cluster {
    config: ClusterConfig,
    clients: Mutex<Option<Clients>>,
}

#[derive(Clone)]
struct Clients {
    objects: Client,
    streams: Client,
}

impl Clusters {
    /// Creates the clusters from their configurations by name.
    #[must_use]
    pub fn new(config: &BTreeMap<String, ClusterConfig>) -> Self {
        let cluster = |config: &ClusterConfig| Cluster { config: config.clone(), clients: Mutex::default() };
        Self(Arc::new(config.iter().map(|(name, config)| (name.clone(), cluster(config))).collect()))
    }

    /// Returns the names of the clusters, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns a check for each cluster, by its name: see [`Self::answers`].
    pub fn checks(&self) -> impl Iterator<Item = (&str, impl Fn() -> Check + Send + Sync + 'static)> {
        self.names().map(move |name| {
            let (clusters, own) = (self.clone(), name.to_owned());
            let check = move || -> Check {
                let (clusters, own) = (clusters.clone(), own.clone());
                Box::pin(async move { clusters.answers(&own).await })
            };
            (name, check)
        })
    }

    /// Returns whether a cluster of this name is configured.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns a client that reads, watches and writes objects of the cluster.
    ///
    /// # Errors
    /// If the cluster is not configured or its credentials cannot be read.
    pub async fn client(&self, name: &str) -> Result<Client, ClusterError> {
        self.clients(name).await.map(|clients| clients.objects)
    }

    /// Returns a client for streams of the cluster that may be silent: followed logs, terminals.
    ///
    /// # Errors
    /// If the cluster is not configured or its credentials cannot be read.
    pub async fn client_for_streams(&self, name: &str) -> Result<Client, ClusterError> {
        self.clients(name).await.map(|clients| clients.streams)
    }

    /// Checks that the cluster's API server answers. An error response counts as an answer only if the server can serve
    /// other requests.
    ///
    /// # Errors
    /// Says why it does not, without its credentials.
    pub async fn answers(&self, name: &str) -> Result<(), String> {
        let client = self.client(name).await.map_err(|error| error.to_string())?;
        match client.apiserver_version().await {
            Ok(_) => Ok(()),
            Err(kube::Error::Api(status)) if status.code < 500 => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Drops the clients of the cluster; the next one reads the kubeconfig again. Call it when the cluster does not
    /// answer: its address or credentials may have changed.
    pub fn forget(&self, name: &str) {
        if let Some(cluster) = self.0.get(name) {
            *cluster.lock() = None;
        }
    }

    async fn clients(&self, name: &str) -> Result<Clients, ClusterError> {
        let cluster = self.0.get(name).ok_or_else(|| ClusterError::Unknown(name.to_owned()))?;
        let known = cluster.lock().clone();
        if let Some(clients) = known {
            return Ok(clients);
        }
        let unusable = |cause| ClusterError::Credentials { cluster: name.to_owned(), cause };
        let clients = Clients {
            objects: cluster.config.client().await.map_err(unusable)?,
            streams: cluster.config.client_for_streams().await.map_err(unusable)?,
        };
        *cluster.lock() = Some(clients.clone());
        Ok(clients)
    }
}

impl Cluster {
    fn lock(&self) -> MutexGuard<'_, Option<Clients>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
