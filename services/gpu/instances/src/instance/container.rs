//! The container of a running instance.

use std::sync::Arc;

use clusters::{Cluster, Clusters};
use gpu_core::{instance::Instance, unit::PodRef};

/// The pod of an instance, and the cluster that it is in.
pub struct Container {
    pub cluster: Arc<Cluster>,
    pub pod: PodRef,
}

/// Returns the container that an instance has now.
pub fn container_of(clusters: &Clusters, instance: &Instance) -> Option<Container> {
    let unit = instance.state.unit()?;
    let cluster = clusters.get(&unit.cluster)?;
    let pod = cluster.pod(&unit.name, instance.id)?;
    Some(Container { cluster: Arc::clone(cluster), pod })
}
