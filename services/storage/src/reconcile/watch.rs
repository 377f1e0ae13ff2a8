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
use service::{Duty, Task};

use super::{Parts, gpu_storage::GpuStorages};
use crate::storage;

/// Pause before a broken watch is resumed.
const RETRY: Duration = Duration::from_secs(1);
/// Maximum number of events handled together.
const BATCH: usize = 200;

/// The task that watches a cluster, for each.
pub(super) fn tasks(parts: &Parts, queue: &Queue<StorageId>) -> Vec<Task> {
    let of_cluster = |cluster: &str| {
        let watch = Watch { parts: parts.clone(), queue: queue.clone(), cluster: cluster.to_owned() };
        Task::new("storages", Duty::Follow, &watch, |watch| async move {
            watch.run().await;
            Ok(())
        })
        .of_cluster(cluster)
    };
    parts.clusters.names().map(of_cluster).collect()
}

#[derive(Clone)]
struct Watch {
    parts: Parts,
    queue: Queue<StorageId>,
    cluster: String,
}

impl Watch {
    /// Watches forever. A cluster that does not respond is not a failure of this worker.
    async fn run(&self) {
        loop {
            if let Err(error) = self.follow().await {
                tracing::warn!(cluster = self.cluster, error = format!("{error:#}"), "watch interrupted");
            }
            // read its kubeconfig again: a development cluster may have another address
            self.parts.clusters.forget(&self.cluster);
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Watches until the watch breaks.
    async fn follow(&self) -> anyhow::Result<()> {
        let storages = GpuStorages::of(&self.parts.clusters, &self.cluster).await?.into_api();
        let events = watcher(storages, watcher::Config::default()).ready_chunks(BATCH);
        let mut events = std::pin::pin!(events);
        while let Some(batch) = events.next().await {
            let mut seen = Vec::new();
            for event in batch {
                match event? {
                    Event::Apply(resource) | Event::InitApply(resource) => seen.extend(id_of(&resource)),
                    Event::Delete(resource) => {
                        if let Some(id) = id_of(&resource) {
                            self.queue.wake(id);
                        }
                    }
                    Event::Init | Event::InitDone => {}
                }
            }
            for id in &seen {
                self.queue.wake(*id);
            }
            self.report_orphans(&seen).await;
        }
        Ok(())
    }

    /// Logs volumes without a storage. They are never deleted automatically: they may have a tenant's files.
    async fn report_orphans(&self, seen: &[StorageId]) {
        let existing = async {
            let mut tx = self.parts.db.worker().await?;
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
