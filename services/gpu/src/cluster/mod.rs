//! The clusters in which instances run: observations of their units (by watch), and the calls that this service
//! makes. It writes `spec.instance` of a `GpuUnit`, and the Secrets of pods. Knows units, not the service's instances.

mod cache;
mod pods;
mod secret;
mod stats;
mod streams;
mod unit;
mod watch;
mod write;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use crds::{ClusterConfig, ClusterError, GpuUnit};
use ids::InstanceId;
use kube::Api;
use service::{Health, health::DependencyKind};
use tokio::sync::watch::{Receiver, Sender};

use cache::Cache;
pub use pods::{Container, Exec, LogPart, PodError, PodRef};
pub(crate) use secret::{NewSecretObject, SecretError};
pub(crate) use stats::{NetworkStats, PodStats, RunningPod};
pub use streams::{Command, ExecInput, ExecOutput, ExecStatus, Forward, Forwarded, Output};
pub use unit::{Condition, DesiredInstance, Observation, Unit, UnitRef};
pub use write::WriteError;

/// One cluster: its clients, and the newest known version of each of its units.
pub struct Cluster {
    name: String,
    clients: crds::Clusters,
    cache: RwLock<Cache>,
    /// Marked as changed with each batch of observations.
    observed: Sender<()>,
}

impl Cluster {
    /// Returns the configured name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns what is known of a unit.
    #[must_use]
    pub fn observation(&self, unit: &str) -> Observation {
        self.read(|cache| match cache.units.get(unit) {
            Some(unit) => Observation::Unit(Arc::clone(unit)),
            None if cache.synced => Observation::Gone,
            None => Observation::Unknown,
        })
    }

    /// Returns a receiver that is marked as changed when the units may have changed.
    #[must_use]
    pub fn observed(&self) -> Receiver<()> {
        self.observed.subscribe()
    }

    async fn units(&self) -> Result<Api<GpuUnit>, ClusterError> {
        Ok(Api::all(self.clients.client(&self.name).await?))
    }

    fn read<T>(&self, read: impl FnOnce(&Cache) -> T) -> T {
        read(&self.cache.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether the unit's spec names no instance. Otherwise the watch reports the instance as soon as that is so.
    pub(crate) fn is_vacated(&self, unit: &str, instance: InstanceId) -> bool {
        self.change(|cache| cache.is_vacated(unit, instance))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Cache) -> T) -> T {
        change(&mut self.cache.write().unwrap_or_else(PoisonError::into_inner))
    }
}

/// All configured clusters. Clones share them.
#[derive(Clone)]
pub struct Clusters(Arc<BTreeMap<String, Arc<Cluster>>>);

impl Clusters {
    /// Returns the configured clusters. A kubeconfig is read when the cluster is first called, and may be missing
    /// until then.
    #[must_use]
    pub fn new(config: &BTreeMap<String, ClusterConfig>) -> Self {
        let clients = crds::Clusters::new(config);
        let cluster = |name: &String| {
            let cluster = Cluster {
                name: name.clone(),
                clients: clients.clone(),
                cache: RwLock::default(),
                observed: Sender::default(),
            };
            (name.clone(), Arc::new(cluster))
        };
        Self(Arc::new(config.keys().map(cluster).collect()))
    }

    /// Returns the clusters, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Cluster>> {
        self.0.values()
    }

    /// Adds the clusters to the dependencies of the process.
    pub(crate) fn report_to(&self, health: &Health) {
        for cluster in self.iter().cloned() {
            health.depends_on(format!("cluster:{}", cluster.name), DependencyKind::Cluster, move || {
                let cluster = Arc::clone(&cluster);
                async move { cluster.clients.answers(&cluster.name).await }
            });
        }
    }

    /// Returns the cluster of this name, if it is configured.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Cluster>> {
        self.0.get(name)
    }

    /// Returns what is known of a unit.
    #[must_use]
    pub fn observation(&self, unit: &UnitRef) -> Observation {
        self.get(&unit.cluster).map_or(Observation::Unknown, |cluster| cluster.observation(&unit.name))
    }

    /// Returns the units, other than `own`, whose spec names the instance.
    #[must_use]
    pub fn strays(&self, instance: InstanceId, own: Option<&UnitRef>) -> Vec<UnitRef> {
        let mut strays = Vec::new();
        for cluster in self.iter() {
            cluster.read(|cache| {
                let units = cache.desired_in(instance);
                strays
                    .extend(units.map(|name| UnitRef { cluster: cluster.name.clone(), name: name.clone() }));
            });
        }
        strays.retain(|unit| Some(unit) != own);
        strays.sort();
        strays
    }

    /// Returns the newest known versions of all units.
    #[must_use]
    pub fn units(&self) -> Vec<Arc<Unit>> {
        self.iter()
            .flat_map(|cluster| cluster.read(|cache| cache.units.values().cloned().collect::<Vec<_>>()))
            .collect()
    }

    /// Returns the newest known versions of all units, and whether the watch of their cluster is connected.
    pub(crate) fn seen(&self) -> Vec<(Arc<Unit>, bool)> {
        let of = |cluster: &Arc<Cluster>| {
            cluster
                .read(|cache| cache.units.values().map(|unit| (Arc::clone(unit), cache.connected)).collect())
        };
        self.iter().flat_map(|cluster| -> Vec<(Arc<Unit>, bool)> { of(cluster) }).collect()
    }

    /// Returns the names of the clusters whose watch is connected.
    #[must_use]
    pub fn connected(&self) -> Vec<String> {
        let connected = self.iter().filter(|cluster| cluster.read(|cache| cache.connected));
        connected.map(|cluster| cluster.name.clone()).collect()
    }

    /// Returns the clusters whose units have not been listed yet.
    #[must_use]
    pub fn unsynced(&self) -> Vec<String> {
        let unsynced = self.iter().filter(|cluster| !cluster.read(|cache| cache.synced));
        unsynced.map(|cluster| cluster.name.clone()).collect()
    }

    /// Returns the instances that run now, according to the clusters whose watch is connected.
    #[must_use]
    pub fn running(&self) -> Vec<InstanceId> {
        let mut running = Vec::new();
        for cluster in self.iter() {
            cluster.read(|cache| {
                let units = cache.units.values().filter(|_| cache.connected);
                running.extend(units.filter_map(|unit| unit.running_instance()));
            });
        }
        running
    }
}
