//! The clusters in which instances run: observations of their units (by watch), and the calls that this service
//! makes. It writes `spec.instance` of a `GpuUnit`, and the Secrets of pods. Knows units, not the service's instances.
//!
//! No SQL, no HTTP of this service and no rule of instances may enter: this crate reads only what a cluster
//! reports.
//!
//! Slices, each of which imports only those before it:
//! - `observed`: a `GpuUnit` as the rules see it; `cache`: the newest version of each unit; `watch`: keeps the cache current, and
//!   reports which instances its events concern;
//! - `write`: `spec.instance` of a unit; `secret`: Secrets of pods;
//! - `pods`: logs of pods, and commands in them; `streams`: commands with separate streams, and connections to ports;
//! - `stats`: what a node reports of its pods.

mod cache;
mod observed;
mod pods;
mod secret;
mod stats;
mod streams;
mod watch;
mod write;

use std::{
    collections::BTreeMap,
    sync::{Arc, PoisonError, RwLock},
};

use crds::{ClusterConfig, ClusterError, GpuUnit};
use gpu_core::unit::{Observation, Unit, UnitRef};
use ids::InstanceId;
use kube::Api;
use service::{Health, health::DependencyKind};
use tokio::sync::watch::{Receiver, Sender};

use cache::Cache;
pub use pods::{Container, Exec, LogPart, PodError};
pub use secret::{NewSecretObject, SecretError};
pub use stats::{NetworkStats, PodStats, RunningPod};
pub use streams::{Command, ExecInput, ExecOutput, ExecStatus, Forward, Forwarded, Output};

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

    /// Returns the observation of a unit.
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
    pub fn is_vacated(&self, unit: &str, instance: InstanceId) -> bool {
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
    pub fn report_to(&self, health: &Health) {
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

    /// Returns the observation of a unit.
    #[must_use]
    pub fn observation(&self, unit: &UnitRef) -> Observation {
        self.get(&unit.cluster).map_or(Observation::Unknown, |cluster| cluster.observation(&unit.name))
    }

    /// Returns the units, other than `own`, that name the instance in their spec.
    #[must_use]
    pub fn unclaimed(&self, instance: InstanceId, own: Option<&UnitRef>) -> Vec<UnitRef> {
        let mut unclaimed = Vec::new();
        for cluster in self.iter() {
            cluster.read(|cache| {
                let units = cache.desired_in(instance);
                unclaimed
                    .extend(units.map(|name| UnitRef { cluster: cluster.name.clone(), name: name.clone() }));
            });
        }
        unclaimed.retain(|unit| Some(unit) != own);
        unclaimed.sort();
        unclaimed
    }

    /// Returns the newest known versions of all units.
    #[must_use]
    pub fn units(&self) -> Vec<Arc<Unit>> {
        self.iter()
            .flat_map(|cluster| cluster.read(|cache| cache.units.values().cloned().collect::<Vec<_>>()))
            .collect()
    }

    /// Returns the newest known versions of all units, and whether the watch of their cluster is connected.
    pub fn seen(&self) -> Vec<(Arc<Unit>, bool)> {
        let of = |cluster: &Arc<Cluster>| {
            cluster
                .read(|cache| cache.units.values().map(|unit| (Arc::clone(unit), cache.connected)).collect())
        };
        self.iter().flat_map(|cluster| -> Vec<(Arc<Unit>, bool)> { of(cluster) }).collect()
    }

    /// Returns the names of the clusters with a connected watch.
    #[must_use]
    pub fn connected(&self) -> Vec<String> {
        let connected = self.iter().filter(|cluster| cluster.read(|cache| cache.connected));
        connected.map(|cluster| cluster.name.clone()).collect()
    }

    /// Returns the clusters that have not listed their units yet.
    #[must_use]
    pub fn unsynced(&self) -> Vec<String> {
        let unsynced = self.iter().filter(|cluster| !cluster.read(|cache| cache.synced));
        unsynced.map(|cluster| cluster.name.clone()).collect()
    }

    /// Returns the instances that run now, according to the clusters with a connected watch.
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
