//! Writes up what a cluster says of its units, as it says it.
//!
//! Every replica watches: a row takes only what is newer than what it has and says something else, so that
//! two that write the same write it once, and one that lags writes nothing. What was missed while nobody
//! watched comes with the list that each watch begins with; what even that cannot show (an object deleted
//! meanwhile) is the comparison's.

use std::{collections::HashMap, time::Duration};

use crds::GpuUnit;
use futures::StreamExt;
use ids::UnitId;
use kube::{
    ResourceExt,
    runtime::{WatchStreamExt, watcher, watcher::Event},
};
use tokio_util::sync::CancellationToken;

use super::{
    cluster_store,
    object::{self, Observation},
};
use crate::App;

/// Events written up in one transaction, at most.
const BATCH: usize = 500;
/// Failures in a row after which the cluster's credentials are read anew.
const FAILURES: u32 = 3;
/// Between two tries to reach a cluster or the database.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) async fn run(app: App, cluster: String, stop: CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = watch(&app, &cluster) => {}
    }
}

async fn watch(app: &App, cluster: &str) {
    loop {
        match app.clusters().units(cluster).await {
            Ok(units) => {
                let config = watcher::Config::default().labels(&object::selector());
                let mut events = watcher(units, config).default_backoff().ready_chunks(BATCH).boxed();
                let mut failures = 0;
                while let Some(chunk) = events.next().await {
                    let mut batch = Batch::default();
                    for event in chunk {
                        match event {
                            Ok(event) => {
                                failures = 0;
                                batch.add(event);
                            }
                            Err(error) => {
                                failures += 1;
                                tracing::warn!(cluster, %error, "watch of a cluster broke; it goes on");
                            }
                        }
                    }
                    write_up(app, cluster, &batch).await;
                    if failures >= FAILURES {
                        app.clusters().forget(cluster);
                        break;
                    }
                }
            }
            Err(error) => tracing::debug!(cluster, %error, "cluster cannot be watched yet"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// The last word on each unit among some events.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    seen: HashMap<UnitId, Observation>,
    gone: HashMap<UnitId, Option<String>>,
}

impl Batch {
    fn add(&mut self, event: Event<GpuUnit>) {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                if let Some(sight) = object::observe(&object) {
                    self.gone.remove(&sight.unit);
                    self.seen.insert(sight.unit, sight);
                }
            }
            Event::Delete(object) => {
                if let Ok(unit) = UnitId::from_k8s_name(&object.name_any()) {
                    self.seen.remove(&unit);
                    self.gone.insert(unit, object.uid());
                }
            }
            Event::Init | Event::InitDone => {}
        }
    }
}

/// Until it is written: what a watch has told it does not tell again.
async fn write_up(app: &App, cluster: &str, batch: &Batch) {
    if batch.seen.is_empty() && batch.gone.is_empty() {
        return;
    }
    while let Err(error) = try_write_up(app, cluster, batch).await {
        tracing::warn!(cluster, %error, "what the cluster says could not be written up; trying again");
        tokio::time::sleep(AGAIN).await;
    }
}

async fn try_write_up(app: &App, cluster: &str, batch: &Batch) -> sqlx::Result<()> {
    let sights: Vec<Observation> = batch.seen.values().cloned().collect();
    let (units, uids): (Vec<UnitId>, Vec<Option<String>>) =
        batch.gone.iter().map(|(unit, uid)| (*unit, uid.clone())).unzip();
    let mut tx = app.db().worker().await?;
    let changed = cluster_store::seen(&mut tx, &sights).await?;
    let (mut removed, mut lost) = (0, Vec::new());
    if !units.is_empty() {
        removed = cluster_store::removed(&mut tx, &units).await?;
        lost = cluster_store::lost(&mut tx, &units, &uids).await?;
        for unit in &lost {
            let detail = "its object was deleted in the cluster; it is made again";
            cluster_store::record_repair(&mut tx, Some(cluster), "object_missing", Some(*unit), detail)
                .await?;
        }
    }
    tx.commit().await?;
    if !changed.is_empty() || removed > 0 {
        app.settle().notify_one();
    }
    for unit in &lost {
        tracing::warn!(cluster, unit.id = %unit, "object of a unit was deleted in the cluster");
        app.counters().repaired("object_missing");
    }
    if !lost.is_empty() {
        app.work().notify_one();
    }
    Ok(())
}
