//! Records what a cluster reports about its units.
//!
//! Every replica watches: a row accepts only observations that are newer and different, so two replicas that record
//! the same write it once. A watch starts with a list, which covers changes during an outage; the
//! comparison finds objects that were deleted then.

use std::{collections::HashMap, time::Duration};

use api::ErrorChain;
use crds::GpuUnit;
use futures::StreamExt;
use ids::UnitId;
use kube::{
    Api, ResourceExt,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};
use service::{Duty, Task};

use super::{
    Parts,
    cluster_store::{self, MissingObject},
    object::{self, Observation},
};
use crate::repair::{self, Finding, RepairKind};

/// Maximum number of events that are recorded in one transaction.
const MAX_BATCH: usize = 500;
/// Failures in a row after which the cluster's credentials are read again.
const MAX_FAILURES: u32 = 3;
/// Pause before the cluster or the database is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// The task that watches a cluster.
pub(crate) fn task(parts: &Parts, cluster: &str) -> Task {
    let parts = (parts.clone(), cluster.to_owned());
    Task::new("units", Duty::Follow, &parts, |(parts, cluster)| async move {
        watch(&parts, &cluster).await;
        Ok(())
    })
    .of_cluster(cluster)
}

/// Watches the cluster. Never returns.
async fn watch(parts: &Parts, cluster: &str) {
    loop {
        match parts.clusters.client(cluster).await {
            Ok(client) => {
                record_events(parts, cluster, Api::all(client)).await;
                parts.clusters.forget(cluster);
            }
            Err(error) => {
                tracing::debug!(cluster, error = %ErrorChain(&error), "cluster cannot be watched yet");
            }
        }
        tokio::time::sleep(RETRY).await;
    }
}

/// Records events until the cluster has failed several times in a row.
async fn record_events(parts: &Parts, cluster: &str, units: Api<GpuUnit>) {
    let config = watcher::Config::default().labels(&object::selector());
    let mut events = watcher(units, config).default_backoff().ready_chunks(MAX_BATCH).boxed();
    let mut failures = 0;
    while let Some(chunk) = events.next().await {
        let mut batch = Batch::default();
        for event in chunk {
            match event {
                // precedes the first request, and does not show that the cluster answers
                Ok(Event::Init) => {}
                Ok(event) => {
                    failures = 0;
                    batch.add(event);
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!(cluster, error = %ErrorChain(&error), "watch of a cluster failed; retrying");
                }
            }
        }
        // a watch does not repeat an event
        while let Err(error) = record(parts, cluster, &batch).await {
            tracing::warn!(cluster, error = %ErrorChain(&error), "cannot record events; retrying");
            tokio::time::sleep(RETRY).await;
        }
        if failures >= MAX_FAILURES {
            return;
        }
    }
}

/// The last event of each unit.
#[derive(Debug, Default)]
struct Batch {
    observed: HashMap<UnitId, Observation>,
    deleted: HashMap<UnitId, Option<String>>,
}

impl Batch {
    fn add(&mut self, event: Event<GpuUnit>) {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                if let Some(observation) = object::observe(&object) {
                    self.deleted.remove(&observation.unit);
                    self.observed.insert(observation.unit, observation);
                }
            }
            Event::Delete(object) => {
                if let Ok(unit) = UnitId::from_k8s_name(&object.name_any()) {
                    self.observed.remove(&unit);
                    self.deleted.insert(unit, object.uid());
                }
            }
            Event::Init | Event::InitDone => {}
        }
    }
}

async fn record(parts: &Parts, cluster: &str, batch: &Batch) -> sqlx::Result<()> {
    if batch.observed.is_empty() && batch.deleted.is_empty() {
        return Ok(());
    }
    let observations: Vec<Observation> = batch.observed.values().cloned().collect();
    let mut tx = parts.db.worker().await?;
    cluster_store::record_observations(&mut tx, &observations).await?;
    let mut missing = Vec::new();
    if !batch.deleted.is_empty() {
        let units: Vec<UnitId> = batch.deleted.keys().copied().collect();
        let deleted: Vec<MissingObject> =
            batch.deleted.iter().map(|(unit, uid)| MissingObject { unit: *unit, uid: uid.clone() }).collect();
        cluster_store::record_removed(&mut tx, &units).await?;
        missing = cluster_store::record_missing(&mut tx, &deleted).await?;
        for unit in &missing {
            let detail = "The object was deleted in the cluster. It is created again.";
            let finding = Finding::of_unit(RepairKind::ObjectMissing, *unit, detail);
            repair::store::record(&mut tx, Some(cluster), &finding).await?;
        }
    }
    tx.commit().await?;
    for unit in &missing {
        tracing::warn!(cluster, unit.id = %unit, "object of a unit was deleted in the cluster");
        parts.metrics.repaired(RepairKind::ObjectMissing.as_str());
    }
    Ok(())
}
