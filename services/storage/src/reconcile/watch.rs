//! Watches the volumes of each cluster: an event makes this replica reconcile the storage. A missed event costs time
//! only.

use std::time::Duration;

use api::ErrorChain;
use crds::GpuStorage;
use db::queue::Queue;
use futures::StreamExt as _;
use ids::StorageId;
use kube::{
    ResourceExt as _,
    runtime::watcher::{self, Event, watcher},
};
use service::Workers;

use super::gpu_storage::GpuStorages;
use crate::{state::AppState, storage};

/// Pause before a broken watch is resumed.
const RETRY: Duration = Duration::from_secs(1);
/// Events handled together, at most.
const BATCH: usize = 200;

/// Starts the worker `storage.watch.<cluster>` for each cluster.
pub(super) fn start(state: &AppState, workers: &Workers, queue: &Queue<StorageId>) {
    for cluster in state.clusters.names() {
        let watch = Watch { state: state.clone(), queue: queue.clone(), cluster: cluster.to_owned() };
        workers.spawn(format!("storage.watch.{cluster}"), move |stop| {
            let watch = watch.clone();
            async move {
                stop.run_until_cancelled(watch.run()).await;
                Ok(())
            }
        });
    }
}

#[derive(Clone)]
struct Watch {
    state: AppState,
    queue: Queue<StorageId>,
    cluster: String,
}

impl Watch {
    /// Watches forever. A cluster that does not respond is no failure of this worker.
    async fn run(&self) {
        loop {
            if let Err(error) = self.follow().await {
                tracing::warn!(cluster = self.cluster, error = format!("{error:#}"), "watch interrupted");
            }
            // read its kubeconfig again: a development cluster may have another address
            self.state.clusters.forget(&self.cluster);
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Watches until the watch breaks.
    async fn follow(&self) -> anyhow::Result<()> {
        let storages = GpuStorages::of(&self.state.clusters, &self.cluster).await?.into_api();
        let events = watcher(storages, watcher::Config::default()).ready_chunks(BATCH);
        let mut events = std::pin::pin!(events);
        while let Some(batch) = events.next().await {
            let mut seen = Vec::new();
            for event in batch {
                match event? {
                    Event::Apply(resource) | Event::InitApply(resource) => seen.extend(id_of(&resource)),
                    Event::Delete(resource) => {
                        if let Some(id) = id_of(&resource) {
                            self.queue.poke(id);
                        }
                    }
                    Event::Init | Event::InitDone => {}
                }
            }
            for id in &seen {
                self.queue.poke(*id);
            }
            self.report_orphans(&seen).await;
        }
        Ok(())
    }

    /// Logs volumes without a storage. They are never deleted automatically: they may have a tenant's files.
    async fn report_orphans(&self, seen: &[StorageId]) {
        let existing = async {
            let mut tx = self.state.db.worker().await?;
            storage::exist(&mut tx, seen).await
        };
        match existing.await {
            Ok(existing) => {
                for id in seen.iter().filter(|id| !existing.contains(id)) {
                    tracing::warn!(cluster = self.cluster, storage.id = %id, "volume without a storage");
                }
            }
            Err(error) => {
                let error = ErrorChain(&error);
                tracing::warn!(cluster = self.cluster, %error, "cannot check for orphaned volumes");
            }
        }
    }
}

/// The storage that a resource belongs to; none for a resource of another origin.
fn id_of(resource: &GpuStorage) -> Option<StorageId> {
    StorageId::from_k8s_name(&resource.name_any()).ok()
}
