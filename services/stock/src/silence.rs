//! Which clusters do not answer now. A claim that names no datacenter takes a unit of another cluster if it can: the
//! free units of a silent cluster look free, and no instance could start in them.
//!
//! Each replica finds out by itself, and no decision is final because of it.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use service::{Round, Workers};

use crate::AppState;

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

    /// Returns whether this is news.
    fn set(&self, cluster: &str, silent: bool) -> bool {
        if silent { self.lock().insert(cluster.to_owned()) } else { self.lock().remove(cluster) }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts the worker `stock.silence.<cluster>`.
pub(crate) fn start(state: &AppState, workers: &Workers, cluster: &str) {
    let (state, cluster) = (state.clone(), cluster.to_owned());
    workers.spawn_periodic(format!("stock.silence.{cluster}"), PERIOD, move || {
        let (state, cluster) = (state.clone(), cluster.clone());
        async move {
            let silent =
                !matches!(tokio::time::timeout(TIMEOUT, state.clusters.answers(&cluster)).await, Ok(Ok(())));
            state.metrics.cluster_answers(&cluster, !silent);
            if state.silence.set(&cluster, silent) {
                tracing::warn!(cluster, silent, "cluster stopped answering or answers again");
            }
            Ok(Round::Done)
        }
    });
}
