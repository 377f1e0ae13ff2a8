//! Clusters that do not answer now. A claim that names no datacenter takes a unit of another cluster if it
//! can: the units of a silent cluster seem free, but no instance could start in them.
//!
//! Each replica detects it by itself, and no decision is final because of it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crds::Clusters;
use service::{Duty, Round, Task};

use crate::metrics::StockMetrics;

/// Time between two requests to a cluster.
const PERIOD: Duration = Duration::from_secs(2);
/// How long a cluster may take to answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The clusters that did not answer the last request. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Silence(Arc<Mutex<BTreeSet<String>>>);

impl Silence {
    /// Returns the silent clusters.
    pub(crate) fn clusters(&self) -> BTreeSet<String> {
        self.lock().clone()
    }

    /// Returns whether this is a change.
    fn set(&self, cluster: &str, silent: bool) -> bool {
        if silent { self.lock().insert(cluster.to_owned()) } else { self.lock().remove(cluster) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the task needs.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) clusters: Clusters,
    pub(crate) metrics: StockMetrics,
    pub(crate) silence: Silence,
}

/// The task that polls a cluster.
pub(crate) fn task(parts: &Parts, cluster: &str) -> Task {
    let parts = (parts.clone(), cluster.to_owned());
    Task::every("silence", Duty::Follow, PERIOD, &parts, |(parts, cluster)| async move {
        let silent =
            !matches!(tokio::time::timeout(TIMEOUT, parts.clusters.answers(&cluster)).await, Ok(Ok(())));
        parts.metrics.cluster_answers(&cluster, !silent);
        if parts.silence.set(&cluster, silent) {
            tracing::warn!(cluster, silent, "cluster stopped answering or answers again");
        }
        Ok(Round::Done)
    })
    .of_cluster(cluster)
}
