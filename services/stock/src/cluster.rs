//! The clusters of the configuration, connected when first needed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use crds::{ClusterConfig, GpuUnit};
use kube::{Api, Client};

/// Why a cluster cannot be spoken to.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// A datacenter names it, the configuration does not.
    #[error("no cluster {0:?} is configured")]
    Unknown(String),
    /// Its kubeconfig cannot be used (yet).
    #[error("the credentials of the cluster cannot be used")]
    Credentials(#[source] anyhow::Error),
}

/// The configured clusters. Cheap to clone.
#[derive(Clone)]
pub struct Clusters(Arc<BTreeMap<String, Entry>>);

struct Entry {
    config: ClusterConfig,
    client: Mutex<Option<Client>>,
}

impl Clusters {
    /// Nothing is connected before it is needed: a cluster that is still starting is no error here.
    #[must_use]
    pub fn new(config: BTreeMap<String, ClusterConfig>) -> Self {
        let entries =
            config.into_iter().map(|(name, config)| (name, Entry { config, client: Mutex::default() }));
        Self(Arc::new(entries.collect()))
    }

    /// The names that datacenters may use.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether a cluster of this name is configured.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Has the credentials read anew when the cluster is needed next: it may have got others, or another
    /// address.
    pub(crate) fn forget(&self, name: &str) {
        if let Some(entry) = self.0.get(name) {
            *entry.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// The units of a cluster.
    ///
    /// # Errors
    /// When it is not configured or its credentials cannot be read.
    pub async fn units(&self, name: &str) -> Result<Api<GpuUnit>, ClusterError> {
        let entry = self.0.get(name).ok_or_else(|| ClusterError::Unknown(name.to_owned()))?;
        let known = entry.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let client = match known {
            Some(client) => client,
            None => {
                let client = entry.config.client().await.map_err(ClusterError::Credentials)?;
                *entry.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.clone());
                client
            }
        };
        Ok(Api::all(client))
    }
}
