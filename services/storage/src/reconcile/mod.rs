//! The reconciler: takes due storages from the row queue and brings each one step closer to its desired state. Its
//! only input is the row and what it observes; a notification or a watch event only makes it run sooner.
//!
//! - [`volume`]: volumes, as `GpuStorage` resources ([`gpu_storage`]) of a cluster;
//! - [`download`]: files that are downloaded onto volumes;
//! - [`bucket`]: buckets and their credentials in the object store;
//! - [`watch`]: events of the clusters.

mod bucket;
mod download;
mod error;
mod gpu_storage;
mod volume;
mod watch;

use std::time::Duration;

use anyhow::ensure;
use api::{ErrorChain, OperationProgress, Problem, ProblemType};
use crds::Clusters;
use db::{
    Db,
    queue::{Leased, Outcome, Queue},
};
use ids::StorageId;
use operations::{End, Requests};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::{Metrics, Process, Task, Tracer};
use sqlx::PgConnection;

use crate::{
    config::ReconcileConfig,
    faults::Faults,
    object_store::OptionalObjectStore,
    storage::{self, Finding, Phase, QUEUE, Storage},
};

use error::{Error, Retry};

/// How long a cluster may take to answer the requests of one reconcile.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(5);
/// Time until a refused request is repeated.
const REFUSED_RETRY: Duration = Duration::from_secs(30);

/// The observations and effects of a reconcile.
enum Observation {
    /// The storage exists, or is on its way to.
    Found {
        finding: Finding,
        /// When to reconcile again without an event.
        requeue_after: Duration,
    },
    /// The storage's object is gone, as desired.
    Gone,
}

/// The parts of the reconciler.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) db: Db,
    pub(crate) clusters: Clusters,
    pub(crate) object_store: OptionalObjectStore,
    pub(crate) faults: Faults,
    pub(crate) config: ReconcileConfig,
}

/// The tasks of the queue of storages, and a watch for each cluster.
pub(crate) fn tasks(parts: Parts, process: &Process) -> Vec<Task> {
    let results = register(&process.metrics);
    let queue = Queue::new(&parts.db, QUEUE, parts.config.queue(), &process.metrics);
    let mut tasks = watch::tasks(&parts, &queue);
    let reconciler = Reconciler { parts, results, tracer: process.tracer.clone() };
    tasks.extend(queue.tasks("storages", move |leased| {
        let reconciler = reconciler.clone();
        async move { Box::pin(reconciler.reconcile(leased)).await }
    }));
    tasks
}

/// Registers the metrics of the reconciler.
pub(crate) fn register(metrics: &Metrics) -> Family<ResultLabels, Counter> {
    let results = Family::<ResultLabels, Counter>::default();
    for kind in ["volume", "bucket"] {
        for result in ["unchanged", "changed", "removed", "failed"] {
            // `increase` misses the first event of a counter that did not exist before
            results.get_or_create(&ResultLabels { kind, result }).inc_by(0);
        }
    }
    metrics.register(|registry| {
        registry.register(
            "storage_reconciles",
            "Reconciles of storages, by kind (volume, bucket) and result: unchanged, changed, removed, failed",
            &["kind", "result"],
            results.clone(),
        );
    });
    results
}

#[derive(Clone)]
struct Reconciler {
    parts: Parts,
    results: Family<ResultLabels, Counter>,
    tracer: Tracer,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ResultLabels {
    /// `volume` or `bucket`.
    kind: &'static str,
    /// `unchanged`, `changed`, `removed` or `failed`.
    result: &'static str,
}

impl Reconciler {
    async fn reconcile(&self, leased: Leased<StorageId>) -> anyhow::Result<Outcome> {
        let mut tx = self.parts.db.worker().await?;
        let Some(storage) = storage::find_any(&mut tx, leased.key).await? else {
            return Ok(Outcome::Released);
        };
        let requests = match self.tracer.is_on() {
            true => operations::requests(&mut tx, storage.operation_id).await?,
            false => Requests::default(),
        };
        tx.commit().await?;
        let mut span = self.tracer.reconcile("reconcile storage", requests.asked);
        requests.before.into_iter().for_each(|before| span.link(before));
        span.set("atelier.storage.id", &storage.id);
        span.run(Box::pin(self.carry_out(leased, &storage))).await
    }

    async fn carry_out(&self, leased: Leased<StorageId>, storage: &Storage) -> anyhow::Result<Outcome> {
        let observed = match &storage.place {
            Some(place) => {
                let observed = volume::reconcile(&self.parts, storage, &place.cluster);
                tokio::time::timeout(CLUSTER_TIMEOUT, observed).await.unwrap_or(Err(Error::Silent))
            }
            None => bucket::reconcile(&self.parts, storage).await,
        };
        match observed {
            Ok(Observation::Gone) => self.remove(leased, storage).await,
            Ok(Observation::Found { finding, requeue_after }) => {
                self.count(storage, if finding.changes(storage) { "changed" } else { "unchanged" });
                self.settle(leased, storage, &finding, requeue_after).await
            }
            Err(error) => {
                self.count(storage, "failed");
                self.failed(leased, storage, error).await
            }
        }
    }

    fn count(&self, storage: &Storage, result: &'static str) {
        self.results.get_or_create(&ResultLabels { kind: storage.kind.as_str(), result }).inc();
    }

    /// Records a finding and ends the lease, in one transaction. A storage that has changed since it was read is due
    /// at once.
    async fn settle(
        &self,
        leased: Leased<StorageId>,
        storage: &Storage,
        finding: &Finding,
        requeue_after: Duration,
    ) -> anyhow::Result<Outcome> {
        let mut tx = self.parts.db.worker().await?;
        let current = !finding.changes(storage) || record(&mut tx, storage, finding).await?;
        let after = if current { requeue_after } else { Duration::ZERO };
        ensure!(leased.release(&mut tx, Some(after)).await?, "lease lost");
        tx.commit().await?;
        Ok(Outcome::Released)
    }

    /// Deletes the row of a storage that is gone, which ends the lease as well. A storage that has changed since it
    /// was read is due at once.
    async fn remove(&self, leased: Leased<StorageId>, storage: &Storage) -> anyhow::Result<Outcome> {
        let mut tx = self.parts.db.worker().await?;
        ensure!(leased.release(&mut tx, Some(Duration::ZERO)).await?, "lease lost");
        if storage::delete_row(&mut tx, storage).await? {
            operations::finish(&mut tx, storage.operation_id, &End::Succeeded).await?;
            self.count(storage, "removed");
            tracing::info!(storage.id = %storage.id, tenant.id = %storage.tenant, "storage removed");
        }
        tx.commit().await?;
        Ok(Outcome::Released)
    }

    /// Records why a storage waits. A transient error is returned, and retried by the queue with backoff; a refusal is
    /// a result, which fails a new storage.
    async fn failed(
        &self,
        leased: Leased<StorageId>,
        storage: &Storage,
        error: Error,
    ) -> anyhow::Result<Outcome> {
        let (reason, retry) = error.explain(storage.kind);
        if let (Some(place), Retry::Backoff) = (&storage.place, retry) {
            self.parts.clusters.forget(&place.cluster);
        }
        let Some(reason) = reason else { return Err(error.into()) };
        let phase = match (retry, &storage.phase) {
            (Retry::Later, Phase::Pending(_)) => Phase::Failed(reason),
            (_, phase) => phase.waiting(reason),
        };
        let finding = Finding { phase, capacity_gib: storage.capacity_gib };
        match retry {
            Retry::Later => {
                tracing::warn!(
                    storage.id = %storage.id, tenant.id = %storage.tenant, error = %ErrorChain(&error),
                    "storage refused"
                );
                self.settle(leased, storage, &finding, REFUSED_RETRY).await
            }
            Retry::Backoff => {
                if finding.changes(storage) {
                    let mut tx = self.parts.db.worker().await?;
                    record(&mut tx, storage, &finding).await?;
                    tx.commit().await?;
                }
                Err(error.into())
            }
        }
    }
}

/// Records a finding with the storage and its operation. False if the storage has changed since it was read.
async fn record(conn: &mut PgConnection, storage: &Storage, finding: &Finding) -> sqlx::Result<bool> {
    if !storage::record(conn, storage, finding).await? {
        return Ok(false);
    }
    let phase = &finding.phase;
    if *phase == storage.phase {
        return Ok(true);
    }
    let (operation, reason) = (storage.operation_id, phase.reason());
    match phase {
        Phase::Available => {
            operations::finish(conn, operation, &End::Succeeded).await?;
        }
        Phase::Failed(reason) => {
            let problem = Problem::new(ProblemType::StorageFailed, &reason.message)
                .with("reason", reason.code.to_string());
            operations::finish(conn, operation, &End::Failed(Box::new(problem.into()))).await?;
        }
        Phase::Pending(_) | Phase::Resizing(_) | Phase::Deleting(_) => {
            let progress = OperationProgress {
                phase: Some(phase.state().as_str().to_owned()),
                reason: reason.map(|reason| reason.code.to_string()),
                message: reason.map(|reason| reason.message.clone()),
                ..OperationProgress::default()
            };
            operations::report(conn, operation, &progress).await?;
        }
    }
    tracing::info!(
        storage.id = %storage.id, tenant.id = %storage.tenant, state = phase.state().as_str(),
        reason = reason.map(|reason| reason.code.to_string()), "storage state changed"
    );
    Ok(true)
}
