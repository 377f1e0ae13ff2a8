//! Reconciles units with their clusters: creates the objects of units in stock and deletes those of units that are
//! being removed. Takes no input but the queue's rows, and every step can be repeated.

use std::{sync::Arc, time::Duration};

use anyhow::Context;
use batch::{BatchWork, Batcher};
use crds::{ClusterError, GpuUnit, names::MANAGER_STOCK};
use db::{
    Db,
    queue::{Leased, Outcome, Queue},
};
use ids::UnitId;
use kube::{
    Api,
    api::{DeleteParams, Patch, PatchParams},
};
use service::{Process, Task, Tracer};
use traces::SpanKind;

use super::{
    Parts,
    cluster_store::{self, Delay, Work},
    model::UnitState,
    object,
    store::QUEUE,
};
use crate::{operation, reason::UnitReason};

/// When to check whether an object that is being deleted is gone, in case the watch misses the deletion.
const RECHECK: Duration = Duration::from_secs(1);
/// Maximum number of results that share one transaction.
const MAX_BATCH: usize = 64;

/// The tasks of the queue of units.
pub(crate) fn tasks(parts: &Parts, process: &Process) -> [Task; 2] {
    let settings = parts.config.queue(parts.clusters.names().count());
    let queue = Queue::new(&parts.db, QUEUE, settings, &process.metrics);
    let results = Batcher::new(Results { db: parts.db.clone() }, MAX_BATCH, 1);
    let reconciler = Reconciler { parts: parts.clone(), results, tracer: process.tracer.clone() };
    queue.tasks("units", move |leased| {
        let reconciler = reconciler.clone();
        async move { Box::pin(reconciler.reconcile(leased)).await }
    })
}

#[derive(Clone)]
struct Reconciler {
    parts: Parts,
    results: Batcher<Results>,
    tracer: Tracer,
}

/// The result of a call to the cluster.
enum Actual {
    /// The object exists as desired.
    Exists,
    /// The object is being deleted.
    Terminating,
    /// The object does not exist.
    Gone,
}

/// Errors of a cluster.
struct Refusal {
    reason: UnitReason,
    message: String,
}

impl Reconciler {
    async fn reconcile(&self, leased: Leased<UnitId>) -> anyhow::Result<Outcome> {
        let unit = leased.key;
        let mut tx = self.parts.db.worker().await?;
        let Some(work) = cluster_store::find_work(&mut tx, unit).await? else { return Ok(Outcome::Done) };
        let request = match self.tracer.is_on() {
            true => operation::store::open_trace(&mut tx, unit).await?,
            false => None,
        };
        tx.commit().await?;
        let mut span = self.tracer.reconcile("reconcile unit", request);
        span.set("atelier.unit.id", &unit);
        span.run(self.carry_out(leased, &work)).await
    }

    async fn carry_out(&self, leased: Leased<UnitId>, work: &Work) -> anyhow::Result<Outcome> {
        let unit = leased.key;
        let applied = tokio::time::timeout(self.parts.config.cluster_timeout(), self.apply(unit, work)).await;
        match applied.unwrap_or_else(|_| Err(unreachable("The cluster does not answer."))) {
            Ok(Actual::Exists) => {
                self.record(Event::Made(leased)).await?;
                Ok(Outcome::Released)
            }
            Ok(Actual::Gone) => {
                self.record(Event::Removed(unit)).await?;
                Ok(Outcome::Released)
            }
            Ok(Actual::Terminating) => {
                self.record(Event::Terminating(unit)).await?;
                Ok(Outcome::RequeueAfter(RECHECK))
            }
            Err(Refusal { reason, message }) => {
                let error = anyhow::anyhow!("{reason:?}: {message}");
                self.record(Event::Delayed(Delay { unit, reason, message })).await?;
                Err(error)
            }
        }
    }

    async fn record(&self, event: Event) -> anyhow::Result<()> {
        let recorded = self.results.submit((), event).await.context("the batch ended without an answer")?;
        recorded.context("cannot record the result")
    }

    /// Applies or deletes the unit's object.
    async fn apply(&self, unit: UnitId, work: &Work) -> Result<Actual, Refusal> {
        let client = self.parts.clusters.client(&work.cluster).await.map_err(|error| match error {
            ClusterError::Unknown(name) => Refusal {
                reason: UnitReason::ClusterUnknown,
                message: format!("No cluster {name:?} is configured."),
            },
            ClusterError::Credentials { .. } => {
                tracing::debug!(cluster = work.cluster, error = %api::ErrorChain(&error), "no credentials");
                unreachable("The credentials of the cluster cannot be used.")
            }
        })?;
        let objects: Api<GpuUnit> = Api::all(client);
        let name = unit.k8s_name();
        if work.state == UnitState::Removing {
            return match objects.delete(&name, &DeleteParams::default()).await {
                Ok(deleted) => Ok(deleted.either(|_| Actual::Terminating, |_| Actual::Gone)),
                Err(kube::Error::Api(status)) if status.is_not_found() => Ok(Actual::Gone),
                Err(error) => Err(explain(error)),
            };
        }
        let desired = object::desired(unit, &work.spec, &work.datacenter);
        let params = PatchParams::apply(MANAGER_STOCK).force();
        let _span = traces::child(SpanKind::Client, "apply GpuUnit");
        objects.patch(&name, &params, &Patch::Apply(&desired)).await.map_err(explain)?;
        Ok(Actual::Exists)
    }
}

fn unreachable(message: &str) -> Refusal {
    Refusal { reason: UnitReason::ClusterUnreachable, message: object::storable(message) }
}

fn explain(error: kube::Error) -> Refusal {
    match error {
        kube::Error::Api(status) if (400..500).contains(&status.code) && status.code != 429 => {
            Refusal { reason: UnitReason::ClusterRefused, message: object::storable(&status.message) }
        }
        kube::Error::Api(status) => unreachable(&status.message),
        other => {
            tracing::debug!(error = %api::ErrorChain(&other), "call to the cluster failed");
            unreachable("The cluster does not answer.")
        }
    }
}

/// The result of a reconcile.
enum Event {
    /// The object exists; the lease ends with the record.
    Made(Leased<UnitId>),
    /// The object is gone.
    Removed(UnitId),
    /// The object is being deleted.
    Terminating(UnitId),
    /// The cluster did not carry out the call.
    Delayed(Delay),
}

impl Event {
    fn unit(&self) -> UnitId {
        match self {
            Self::Made(leased) => leased.key,
            Self::Removed(unit) | Self::Terminating(unit) => *unit,
            Self::Delayed(delay) => delay.unit,
        }
    }
}

/// Records results that arrive together in one transaction: additions have thousands of units.
struct Results {
    db: Db,
}

impl BatchWork for Results {
    type Key = ();
    type Item = Event;
    type Answer = Result<(), Arc<sqlx::Error>>;

    async fn run(&self, (): &(), events: Vec<Event>) -> Vec<Self::Answer> {
        let recorded = self.record(&events).await.map_err(Arc::new);
        events.iter().map(|_| recorded.clone()).collect()
    }
}

impl Results {
    async fn record(&self, events: &[Event]) -> sqlx::Result<()> {
        let units: Vec<UnitId> = events.iter().map(Event::unit).collect();
        let mut tx = self.db.worker().await?;
        operation::store::begin(&mut tx, &units).await?;
        let (mut made, mut removed) = (Vec::new(), Vec::new());
        for event in events {
            match event {
                Event::Made(leased) => {
                    leased.release(&mut tx, None).await?;
                    made.push(leased.key);
                }
                Event::Removed(unit) => removed.push(*unit),
                Event::Terminating(_) => {}
                Event::Delayed(delay) => cluster_store::record_delay(&mut tx, delay).await?,
            }
        }
        if !made.is_empty() {
            cluster_store::record_made(&mut tx, &made).await?;
        }
        if !removed.is_empty() {
            cluster_store::record_removed(&mut tx, &removed).await?;
        }
        tx.commit().await
    }
}
