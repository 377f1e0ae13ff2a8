//! The clusters in which volumes are made, and the `GpuStorage` resources in them.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use crds::{ClusterConfig, GpuStorage, names};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};

/// The configured clusters, with a client for each that has answered once.
pub(crate) struct Clusters(BTreeMap<String, Cluster>);

struct Cluster {
    config: ClusterConfig,
    client: Arc<Mutex<Option<Client>>>,
}

/// Why a cluster could not be spoken to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// It is not configured (any more).
    #[error("the cluster {0:?} is not configured")]
    Unknown(String),
    /// Its kubeconfig is missing or wrong.
    #[error("the credentials of the cluster {0:?} cannot be used")]
    Credentials(String, #[source] anyhow::Error),
    /// It refused, or did not answer.
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

impl Error {
    /// Whether the request itself is wrong, so that it would be refused again.
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self, Self::Kube(kube::Error::Api(status)) if matches!(status.code, 400 | 403 | 422))
    }
}

impl Clusters {
    pub(crate) fn new(kubeconfigs: &BTreeMap<String, PathBuf>) -> Self {
        let cluster = |path: &PathBuf| Cluster {
            config: ClusterConfig { kubeconfig: Some(path.clone()), context: None },
            client: Arc::default(),
        };
        Self(kubeconfigs.iter().map(|(name, path)| (name.clone(), cluster(path))).collect())
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The storages of a cluster.
    pub(crate) async fn storages(&self, name: &str) -> Result<Api<GpuStorage>, Error> {
        let cluster = self.0.get(name).ok_or_else(|| Error::Unknown(name.to_owned()))?;
        let known = cluster.client.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(client) = known {
            return Ok(Api::all(client));
        }
        let wrong = |error| Error::Credentials(name.to_owned(), error);
        let client = cluster.config.client().await.map_err(wrong)?;
        *cluster.client.lock().unwrap_or_else(PoisonError::into_inner) = Some(client.clone());
        Ok(Api::all(client))
    }

    /// Reads the kubeconfig again next time: the cluster may have moved.
    pub(crate) fn forget(&self, name: &str) {
        if let Some(cluster) = self.0.get(name) {
            *cluster.client.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    /// The resource, if it is there.
    pub(crate) async fn get(&self, cluster: &str, name: &str) -> Result<Option<GpuStorage>, Error> {
        Ok(self.storages(cluster).await?.get_opt(name).await?)
    }

    /// Makes it as given, whatever was there before (server-side apply of our fields).
    pub(crate) async fn apply(&self, cluster: &str, wanted: &GpuStorage) -> Result<GpuStorage, Error> {
        let name = wanted.metadata.name.as_deref().unwrap_or_default();
        let params = PatchParams::apply(names::MANAGER_STORAGE).force();
        Ok(self.storages(cluster).await?.patch(name, &params, &Patch::Apply(wanted)).await?)
    }

    /// Asks for its removal; gone already is as good.
    pub(crate) async fn remove(&self, cluster: &str, name: &str) -> Result<(), Error> {
        match self.storages(cluster).await?.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }
}
