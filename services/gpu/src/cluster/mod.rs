//! The clusters that instances run in: what their units say (by watch), and the few things this service
//! does to them. It writes `spec.instance` of a `GpuUnit` and nothing else.

mod pods;
mod unit;
mod watch;
mod write;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use anyhow::Context;
use crds::ClusterConfig;
use ids::InstanceId;
use kube::Client;
use service::Shutdown;
use tokio::sync::mpsc;

pub use pods::{Exec, PodRef};
pub use unit::{Seen, Unit, Wanted};
pub use write::WriteError;

/// One cluster: clients, and the newest that is known of its units.
pub struct Cluster {
    name: String,
    client: Client,
    streams: Client,
    cache: RwLock<Cache>,
}

#[derive(Default)]
struct Cache {
    /// Whether all units have been listed once.
    synced: bool,
    /// Whether the watch goes on, as far as is known: what is here is so now.
    heard: bool,
    units: HashMap<String, Arc<Unit>>,
    /// Instance → the units whose spec names it.
    named: HashMap<InstanceId, HashSet<String>>,
}

impl Cache {
    /// Puts what is newer in the place of what is older. Gives the former.
    fn put(&mut self, unit: Arc<Unit>) -> Option<Arc<Unit>> {
        let before = self.units.get(&unit.name).cloned();
        if before.as_ref().is_some_and(|before| before.newer_than(&unit)) {
            return before;
        }
        self.unname(before.as_deref());
        if let Some(id) = unit.wanted_instance() {
            self.named.entry(id).or_default().insert(unit.name.clone());
        }
        self.units.insert(unit.name.clone(), unit);
        before
    }

    fn remove(&mut self, name: &str) -> Option<Arc<Unit>> {
        let before = self.units.remove(name);
        self.unname(before.as_deref());
        before
    }

    fn unname(&mut self, before: Option<&Unit>) {
        let Some((unit, id)) = before.and_then(|unit| Some((unit, unit.wanted_instance()?))) else { return };
        if let Some(units) = self.named.get_mut(&id) {
            units.remove(&unit.name);
            if units.is_empty() {
                self.named.remove(&id);
            }
        }
    }
}

impl Cluster {
    fn cached<T>(&self, read: impl FnOnce(&Cache) -> T) -> T {
        read(&self.cache.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn change<T>(&self, write: impl FnOnce(&mut Cache) -> T) -> T {
        write(&mut self.cache.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// What is known of a unit.
    #[must_use]
    pub fn seen(&self, unit: &str) -> Seen {
        self.cached(|cache| match cache.units.get(unit) {
            Some(unit) => Seen::Unit(Arc::clone(unit)),
            None if cache.synced => Seen::Gone,
            None => Seen::Unknown,
        })
    }
}

/// All configured clusters. Cheap to clone.
#[derive(Clone)]
pub struct Clusters(Arc<BTreeMap<String, Arc<Cluster>>>);

impl Clusters {
    /// Clients for the configured clusters; nothing is called yet.
    ///
    /// # Errors
    /// When a kubeconfig cannot be read.
    pub async fn connect(config: &BTreeMap<String, ClusterConfig>) -> anyhow::Result<Self> {
        let mut clusters = BTreeMap::new();
        for (name, config) in config {
            let clients = async { anyhow::Ok((config.client().await?, config.client_for_streams().await?)) };
            let (client, streams) = clients.await.with_context(|| format!("clusters.{name}"))?;
            let cluster = Cluster { name: name.clone(), client, streams, cache: RwLock::default() };
            clusters.insert(name.clone(), Arc::new(cluster));
        }
        Ok(Self(Arc::new(clusters)))
    }

    /// The cluster of this name, if it is configured.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Cluster>> {
        self.0.get(name)
    }

    /// What is known of a unit in a cluster.
    #[must_use]
    pub fn seen(&self, cluster: &str, unit: &str) -> Seen {
        self.get(cluster).map_or(Seen::Unknown, |cluster| cluster.seen(unit))
    }

    /// The units that name an instance, other than `own`: cluster and unit.
    #[must_use]
    pub fn strays(&self, instance: InstanceId, own: Option<(&str, &str)>) -> Vec<(String, String)> {
        let mut strays = Vec::new();
        for cluster in self.0.values() {
            cluster.cached(|cache| {
                for unit in cache.named.get(&instance).into_iter().flatten() {
                    if own != Some((cluster.name.as_str(), unit.as_str())) {
                        strays.push((cluster.name.clone(), unit.clone()));
                    }
                }
            });
        }
        strays.sort();
        strays
    }

    /// Follows the units of every cluster; tells `woken` which instances something happened to.
    pub fn follow(&self, woken: &mpsc::UnboundedSender<InstanceId>, shutdown: &Shutdown) {
        for cluster in self.0.values() {
            let (cluster, woken, token) = (Arc::clone(cluster), woken.clone(), shutdown.token());
            shutdown.track(async move {
                tokio::select! {
                    () = watch::follow(&cluster, &woken) => {}
                    () = token.cancelled() => {}
                }
            });
        }
    }

    /// Whether each cluster's units have been listed.
    #[must_use]
    pub fn unsynced(&self) -> Vec<String> {
        self.0.values().filter(|c| !c.cached(|cache| cache.synced)).map(|c| c.name.clone()).collect()
    }

    /// The instances that run now, as the clusters say that can be heard.
    #[must_use]
    pub fn running(&self) -> Vec<InstanceId> {
        let mut running = Vec::new();
        for cluster in self.0.values() {
            cluster.cached(|cache| {
                let units = cache.units.values().filter(|_| cache.heard);
                running.extend(units.filter_map(|unit| unit.running_instance()));
            });
        }
        running
    }
}
