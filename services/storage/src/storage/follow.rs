//! Being called: by other replicas' and our own requests through Postgres, and by what happens in the
//! clusters. A call that is missed costs time and nothing else.

use std::time::Duration;

use crds::GpuStorage;
use futures::StreamExt as _;
use ids::StorageId;
use kube::{
    ResourceExt as _,
    runtime::{
        WatchStreamExt as _,
        watcher::{self, Event, watcher},
    },
};
use tokio_util::sync::CancellationToken;

use super::store;
use crate::app::App;

const RETRY: Duration = Duration::from_secs(1);
/// Events taken into one statement.
const BATCH: usize = 200;

/// Calls the reconciler for each notification, until `token` is cancelled.
pub(crate) async fn listen(app: App, token: CancellationToken) {
    loop {
        tokio::select! {
            () = token.cancelled() => return,
            heard = hear(&app) => {
                if let Err(error) = heard {
                    tracing::warn!(%error, "notifications are not heard; due storages are polled for");
                }
            }
        }
        tokio::select! {
            () = token.cancelled() => return,
            () = tokio::time::sleep(RETRY) => {}
        }
    }
}

async fn hear(app: &App) -> sqlx::Result<()> {
    let mut listener = app.db.listen(store::CHANNEL).await?;
    loop {
        listener.recv().await?;
        app.nudge.notify_one();
    }
}

/// Follows the volumes of a cluster until `token` is cancelled.
pub(crate) async fn follow_cluster(app: App, cluster: String, token: CancellationToken) {
    while !token.is_cancelled() {
        tokio::select! {
            () = token.cancelled() => return,
            () = follow(&app, &cluster) => {}
        }
        // the kubeconfig is read again: a development cluster may have come back elsewhere
        app.clusters.forget(&cluster);
        tokio::select! {
            () = token.cancelled() => return,
            () = tokio::time::sleep(RETRY) => {}
        }
    }
}

/// Follows until the watch breaks.
async fn follow(app: &App, cluster: &str) {
    let storages = match app.clusters.storages(cluster).await {
        Ok(storages) => storages,
        Err(error) => {
            tracing::warn!(cluster, %error, "the cluster cannot be followed");
            return;
        }
    };
    let events = watcher(storages, watcher::Config::default()).default_backoff().ready_chunks(BATCH);
    let mut events = std::pin::pin!(events);
    while let Some(batch) = events.next().await {
        let mut ids = Vec::new();
        for event in &batch {
            match event {
                Ok(Event::Apply(seen) | Event::InitApply(seen) | Event::Delete(seen)) => {
                    ids.extend(id_of(seen));
                }
                Ok(Event::Init | Event::InitDone) => {}
                Err(error) => {
                    tracing::warn!(cluster, %error, "the watch of the cluster broke");
                    return;
                }
            }
        }
        if ids.is_empty() {
            continue;
        }
        match wake(app, &ids).await {
            Ok(known) => {
                let removed = |id: &StorageId| {
                    batch.iter().any(|e| matches!(e, Ok(Event::Delete(seen)) if id_of(seen) == Some(*id)))
                };
                for id in ids.iter().filter(|id| !known.contains(id) && !removed(id)) {
                    // never removed by itself: it may hold a tenant's files
                    tracing::warn!(cluster, storage.id = %id, "a volume that no storage stands for");
                }
            }
            Err(error) => tracing::warn!(cluster, %error, "events cannot be noted; storages are polled for"),
        }
    }
}

/// The storage a resource was made for; none of one that somebody else made.
fn id_of(seen: &GpuStorage) -> Option<StorageId> {
    StorageId::from_k8s_name(&seen.name_any()).ok()
}

async fn wake(app: &App, ids: &[StorageId]) -> sqlx::Result<Vec<StorageId>> {
    let mut tx = app.db.worker().await?;
    let known = store::wake(&mut tx, ids).await?;
    tx.commit().await?;
    app.nudge.notify_one();
    Ok(known)
}
