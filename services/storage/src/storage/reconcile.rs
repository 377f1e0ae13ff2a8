//! The reconciler: takes storages that are due, from any replica, and moves each one step towards what is
//! wanted. It takes no input but the rows: being called only makes it look sooner.

use std::time::Duration;

use api::{ErrorChain, OperationProgress, OperationState, Problem, ProblemDetails, ProblemType};
use ids::StorageId;
use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use super::{
    bucket,
    model::{Phase, Storage, Why, reason},
    store::{self, Finding, Leased},
    volume,
};
use crate::{
    app::{App, PassLabels},
    cluster,
    faults::Killed,
    object_store, operation,
    storage_spec::Kind,
};

/// How long to wait after something did not answer.
const RETRY: Duration = Duration::from_secs(2);
/// How long to wait after something refused.
const REFUSED_RETRY: Duration = Duration::from_secs(30);

/// What a pass found.
pub(super) enum Outcome {
    /// The storage stands so.
    Stands { phase: Phase, capacity_gib: Option<i64>, again_in: Duration },
    /// Its object is gone, as wished.
    Gone,
}

/// Why a pass did not end.
#[derive(Debug, thiserror::Error)]
pub(super) enum Hitch {
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    #[error(transparent)]
    ObjectStore(#[from] object_store::Error),
    #[error("no object store is configured")]
    NoObjectStore,
    #[error("database")]
    Database(#[from] sqlx::Error),
    #[error("killed")]
    Killed,
}

impl From<Killed> for Hitch {
    fn from(Killed: Killed) -> Self {
        Self::Killed
    }
}

/// Works until `token` is cancelled.
pub(crate) async fn reconcile(app: App, token: CancellationToken) {
    let owner = uuid::Uuid::now_v7().simple().to_string();
    let settings = app.config.reconcile.clone();
    let mut passes = JoinSet::new();
    let mut poll = tokio::time::interval(settings.poll());
    poll.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        let free = settings.concurrency.max(1) - passes.len();
        if free > 0 {
            let asked = Instant::now();
            match take(&app, &owner, settings.lease(), free).await {
                Ok(leased) => {
                    for one in leased {
                        passes.spawn(held(app.clone(), owner.clone(), one, asked));
                    }
                }
                Err(error) => tracing::warn!(%error, "due storages cannot be read"),
            }
        }
        tokio::select! {
            biased;
            () = token.cancelled() => break,
            Some(done) = passes.join_next() => {
                if matches!(done, Ok(Err(Killed))) {
                    passes.abort_all();
                    return;
                }
            }
            () = app.nudge.notified() => {}
            _ = poll.tick() => {}
        }
    }
    while passes.join_next().await.is_some() {}
}

async fn take(app: &App, owner: &str, lease: Duration, limit: usize) -> sqlx::Result<Vec<Leased>> {
    let mut tx = app.db.worker().await?;
    let leased = store::take_due(&mut tx, owner, lease, i64::try_from(limit).unwrap_or(1)).await?;
    tx.commit().await?;
    Ok(leased)
}

async fn renew(app: &App, owner: &str, id: StorageId, lease: Duration) -> sqlx::Result<bool> {
    let mut tx = app.db.worker().await?;
    let renewed = store::renew(&mut tx, owner, id, lease).await?;
    tx.commit().await?;
    Ok(renewed)
}

/// A pass, for as long as its lease can be kept.
async fn held(app: App, owner: String, leased: Leased, asked: Instant) -> Result<(), Killed> {
    let (id, lease) = (leased.storage.id, app.config.reconcile.lease());
    let pass = pass(&app, &owner, &leased);
    let kept = db::lease::hold(asked, lease, || renew(&app, &owner, id, lease), pass).await;
    kept.unwrap_or_else(|| {
        tracing::warn!(storage.id = %id, "the lease on a storage was lost, and the pass given up");
        Ok(())
    })
}

async fn pass(app: &App, owner: &str, leased: &Leased) -> Result<(), Killed> {
    let storage = &leased.storage;
    let outcome = match storage.kind {
        Kind::Volume => volume::reconcile(app, storage).await,
        Kind::Bucket => bucket::reconcile(app, storage).await,
    };
    let (outcome, result) = match outcome {
        Ok(Outcome::Gone) => (Outcome::Gone, "removed"),
        Ok(Outcome::Stands { phase, capacity_gib, again_in }) => {
            let result = if phase == storage.phase { "unchanged" } else { "changed" };
            (Outcome::Stands { phase, capacity_gib, again_in }, result)
        }
        Err(Hitch::Killed) => return Err(Killed),
        Err(hitch) => (hindered(app, storage, &hitch), "hindered"),
    };
    app.passes.get_or_create(&PassLabels { kind: storage.kind.as_str(), result }).inc();
    if let Err(error) = record(app, owner, leased, &outcome).await {
        // the lease runs out, and the pass is made again
        tracing::warn!(storage.id = %storage.id, %error, "a storage's state cannot be recorded");
    }
    Ok(())
}

/// How a storage stands when nobody could be asked, or somebody refused.
fn hindered(app: &App, storage: &Storage, hitch: &Hitch) -> Outcome {
    let cause = ErrorChain(hitch);
    tracing::warn!(storage.id = %storage.id, tenant.id = %storage.tenant, %cause, "a storage is hindered");
    let stands = |phase, again_in| Outcome::Stands { phase, capacity_gib: storage.capacity_gib, again_in };
    let (unavailable, refused) = match storage.kind {
        Kind::Volume => (reason::CLUSTER_UNAVAILABLE, reason::CLUSTER_REFUSED),
        Kind::Bucket => (reason::OBJECT_STORE_UNAVAILABLE, reason::OBJECT_STORE_REFUSED),
    };
    let refusal = match hitch {
        Hitch::Cluster(error) if error.is_refusal() => Some(error.to_string()),
        Hitch::ObjectStore(error @ object_store::Error::Refused { .. }) => Some(error.to_string()),
        _ => None,
    };
    if let (Hitch::Cluster(error), Some(cluster)) = (hitch, &storage.cluster)
        && !error.is_refusal()
    {
        app.clusters.forget(cluster);
    }
    match (refusal, &storage.phase) {
        (None, phase) => {
            let text = "What makes it does not answer at the moment; it is asked again.";
            stands(phase.hindered(Why::new(unavailable, text)), RETRY)
        }
        (Some(text), phase) if matches!(hitch, Hitch::ObjectStore(error) if error.may_pass()) => {
            stands(phase.hindered(Why::new(refused, text)), RETRY)
        }
        (Some(text), Phase::Pending(_)) => stands(Phase::Failed(Why::new(refused, text)), REFUSED_RETRY),
        (Some(text), phase) => stands(phase.hindered(Why::new(refused, text)), REFUSED_RETRY),
    }
}

async fn record(app: &App, owner: &str, leased: &Leased, outcome: &Outcome) -> sqlx::Result<()> {
    let storage = &leased.storage;
    let mut tx = app.db.worker().await?;
    match outcome {
        Outcome::Gone => {
            if store::remove(&mut tx, owner, leased).await? {
                operation::finish(&mut tx, storage.operation_id, OperationState::Succeeded, None).await?;
                tracing::info!(storage.id = %storage.id, tenant.id = %storage.tenant, "storage removed");
            }
        }
        Outcome::Stands { phase, capacity_gib, again_in } => {
            let finding = Finding { phase, capacity_gib: *capacity_gib, again_in: *again_in };
            if store::settle(&mut tx, owner, leased, &finding).await? && *phase != storage.phase {
                let id = storage.operation_id;
                match phase {
                    Phase::Available => {
                        operation::finish(&mut tx, id, OperationState::Succeeded, None).await?;
                    }
                    Phase::Failed(why) => {
                        let problem = problem(why);
                        operation::finish(&mut tx, id, OperationState::Failed, Some(&problem)).await?;
                    }
                    Phase::Pending(_) | Phase::Resizing(_) | Phase::Deleting(_) => {
                        operation::progress(&mut tx, id, &progress(phase)).await?;
                    }
                }
                tracing::info!(
                    storage.id = %storage.id, tenant.id = %storage.tenant,
                    state = phase.state().as_str(), reason = phase.why().map(|w| w.reason.as_str()),
                    "storage stands"
                );
            }
        }
    }
    tx.commit().await
}

fn progress(phase: &Phase) -> OperationProgress {
    let why = phase.why();
    OperationProgress {
        phase: Some(phase.state().as_str().to_owned()),
        reason: why.map(|why| why.reason.clone()),
        message: why.map(|why| why.message.clone()),
        ..OperationProgress::default()
    }
}

fn problem(why: &Why) -> ProblemDetails {
    Problem::new(ProblemType::StorageFailed, &why.message).with("reason", &why.reason).into()
}
