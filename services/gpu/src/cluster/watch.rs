//! Following a cluster's units.

use std::{collections::HashSet, sync::Arc};

use crds::GpuUnit;
use futures::StreamExt;
use ids::InstanceId;
use kube::{
    Api, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};
use tokio::sync::mpsc;

use super::{Cluster, Unit};

/// Keeps the cluster's cache up to date for ever, with backoff while the cluster does not answer.
pub(super) async fn follow(cluster: &Cluster, woken: &mpsc::UnboundedSender<InstanceId>) {
    let api: Api<GpuUnit> = Api::all(cluster.client.clone());
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    let mut listed: Option<HashSet<String>> = None;
    while let Some(event) = events.next().await {
        cluster.change(|cache| cache.heard = event.is_ok());
        match event {
            Ok(watcher::Event::Init) => listed = Some(HashSet::new()),
            Ok(watcher::Event::InitApply(unit)) => {
                if let Some(listed) = &mut listed {
                    listed.insert(unit.name_any());
                }
                put(cluster, unit, woken);
            }
            Ok(watcher::Event::InitDone) => {
                let listed = listed.take().unwrap_or_default();
                let gone: Vec<String> = cluster.cached(|cache| {
                    cache.units.keys().filter(|name| !listed.contains(*name)).cloned().collect()
                });
                for name in gone {
                    remove(cluster, &name, woken);
                }
                cluster.change(|cache| cache.synced = true);
                tracing::info!(cluster = cluster.name, units = listed.len(), "units listed");
                // before, nothing could be said about units that are not there
                let known: Vec<Arc<Unit>> = cluster.cached(|cache| cache.units.values().cloned().collect());
                wake(known.iter().flat_map(|unit| unit.instances()), woken);
            }
            Ok(watcher::Event::Apply(unit)) => put(cluster, unit, woken),
            Ok(watcher::Event::Delete(unit)) => remove(cluster, &unit.name_any(), woken),
            Err(error) => {
                tracing::warn!(cluster = cluster.name, error = %api::ErrorChain(&error), "watch interrupted");
            }
        }
    }
}

fn put(cluster: &Cluster, unit: GpuUnit, woken: &mpsc::UnboundedSender<InstanceId>) {
    let unit = Arc::new(Unit::from(unit));
    let before = cluster.change(|cache| cache.put(Arc::clone(&unit)));
    let before = before.iter().flat_map(|unit| unit.instances());
    wake(unit.instances().chain(before), woken);
}

fn remove(cluster: &Cluster, name: &str, woken: &mpsc::UnboundedSender<InstanceId>) {
    if let Some(before) = cluster.change(|cache| cache.remove(name)) {
        wake(before.instances(), woken);
    }
}

fn wake(instances: impl Iterator<Item = InstanceId>, woken: &mpsc::UnboundedSender<InstanceId>) {
    for instance in instances.collect::<HashSet<_>>() {
        // the receiver goes only when the process ends
        let _ = woken.send(instance);
    }
}
