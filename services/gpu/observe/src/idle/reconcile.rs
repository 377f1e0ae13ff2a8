//! Evaluates instances: one replica at a time, when an instance could have been idle for long enough, and
//! more often once its stop is announced. Each evaluation is one transaction, which locks the instance: a
//! user's command runs before or after it.

use std::time::Duration;

use clusters::Clusters;
use db::{
    Db,
    queue::{Leased, Outcome, Queue, Settings},
};
use gpu_core::{
    event::By,
    idle::{Begin, Connections, Decision, Load, evaluate},
    instance::{Effects, IdleConfig, Instance, State},
    unit::Observation,
};
use ids::InstanceId;
use instances::instance::{self, idle_watch};
use jiff::{SignedDuration, Timestamp};
use service::{Metrics, Task};

use super::store;
use crate::monitoring::{self, Measured, Monitoring};

/// Maximum number of instances evaluated at the same time.
const CONCURRENCY: usize = 8;
/// Older samples are averaged over five minutes, and do not show what happened in between.
const SAMPLES: SignedDuration = SignedDuration::from_mins(49);
/// The instance was changed meanwhile.
const OVERTAKEN: Outcome = Outcome::RequeueAfter(Duration::ZERO);

/// Evaluates instances. Clones share connections.
#[derive(Clone)]
pub struct IdleStops {
    db: Db,
    clusters: Clusters,
    monitoring: Monitoring,
    queue: Queue<InstanceId>,
    config: IdleConfig,
    clock: fn() -> Timestamp,
}

impl IdleStops {
    /// Returns what stops idle instances. [`IdleStops::tasks`] do it.
    pub fn new(
        db: &Db,
        clusters: &Clusters,
        monitoring: &Monitoring,
        config: IdleConfig,
        clock: fn() -> Timestamp,
        metrics: &Metrics,
    ) -> Self {
        let settings =
            Settings { concurrency: CONCURRENCY, lane_concurrency: CONCURRENCY, ..Settings::default() };
        let queue = Queue::new(db, idle_watch::QUEUE, settings, metrics);
        let (db, clusters, monitoring) = (db.clone(), clusters.clone(), monitoring.clone());
        Self { db, clusters, monitoring, queue, config, clock }
    }

    /// The tasks of the queue of idle stops.
    pub fn tasks(&self) -> [Task; 2] {
        let stops = self.clone();
        self.queue.tasks("idle", move |leased| {
            let stops = stops.clone();
            async move { Box::pin(stops.reconcile(leased)).await }
        })
    }

    /// Evaluates an instance, due or not. Returns false if another worker has leased it, or it is not watched.
    pub async fn reconcile_once(&self, id: InstanceId) -> anyhow::Result<bool> {
        let Some(leased) = self.queue.lease(id).await? else { return Ok(false) };
        let after = match Box::pin(self.reconcile(leased)).await? {
            Outcome::Released => return Ok(true),
            Outcome::RequeueAfter(after) => Some(after),
            Outcome::Done => None,
        };
        let mut tx = self.db.worker().await?;
        leased.release(&mut tx, after).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn reconcile(&self, leased: Leased<InstanceId>) -> anyhow::Result<Outcome> {
        let id = leased.key;
        let mut tx = self.db.worker().await?;
        let read = instance::store::read(&mut tx, id).await?;
        let known_to = store::known_to(&mut tx, id).await?;
        tx.commit().await?;
        // until it runs, which wakes it
        let Some(read) = read.filter(|read| matches!(read.state, State::Running { .. })) else {
            return Ok(Outcome::Done);
        };
        let loads = self.loads(&read, known_to, (self.clock)()).await?;

        let mut tx = self.db.worker().await?;
        let Some(mut instance) = instance::store::lock_any(&mut tx, id).await? else {
            return Ok(Outcome::Done);
        };
        if instance.generation != read.generation {
            return Ok(OVERTAKEN);
        }
        let (State::Running { pod, .. }, Some(terms)) = (&instance.state, instance.idle_stop.clone()) else {
            return Ok(Outcome::Done);
        };
        let Some(watch) = store::lock(&mut tx, id).await? else { return Ok(Outcome::Done) };
        let now = (self.clock)();
        let reporters = store::reporters(&mut tx).await?;
        let connections = Connections::reported(watch.connected_at, &reporters, self.config, now);
        let begin = Begin::of(pod.since, watch.reset_at, &connections);
        let evaluation = evaluate(&terms, watch.progress, &loads, begin, &connections, self.config, now);
        tracing::debug!(
            instance.id = %id, idleness = ?evaluation.idleness, decision = ?evaluation.decision, "idle time evaluated"
        );
        store::advance(&mut tx, id, &evaluation.progress).await?;
        let after = match evaluation.decision {
            Decision::Stop => {
                tracing::info!(instance.id = %id, "idle instance stopped");
                instance::end::stop_idle(&mut tx, &mut instance).await?;
                None
            }
            decision => {
                let before = instance.clone();
                let effects = match decision {
                    Decision::Announce(data) => instance.announce_idle_stop(data),
                    Decision::Withdraw(cause) => Effects {
                        log: instance.withdraw_idle_stop(cause).into_iter().collect(),
                        ..Effects::default()
                    },
                    Decision::Keep | Decision::Stop => Effects::default(),
                };
                if effects != Effects::default() {
                    let by = By::system();
                    let stored =
                        instance::store::advance(&mut tx, &before, &mut instance, &effects, &by).await?;
                    anyhow::ensure!(stored, "a locked row has changed");
                }
                Some(Duration::try_from(evaluation.next)?)
            }
        };
        anyhow::ensure!(leased.release(&mut tx, after).await?, "lease lost");
        tx.commit().await?;
        Ok(Outcome::Released)
    }

    /// Returns what a running instance used since a time. Empty if that is not known now.
    async fn loads(
        &self,
        instance: &Instance,
        known_to: Option<Timestamp>,
        now: Timestamp,
    ) -> anyhow::Result<Vec<Load>> {
        let State::Running { claim, pod } = &instance.state else { return Ok(Vec::new()) };
        let Observation::Unit(unit) = self.clusters.observation(&claim.unit) else { return Ok(Vec::new()) };
        let Some(cores) = unit.cpu_cores else { return Ok(Vec::new()) };
        let oldest = now.checked_sub(SAMPLES).unwrap_or(Timestamp::MIN);
        let from = known_to.map_or(pod.since, |known_to| known_to.max(pod.since)).max(oldest);
        let measured = Measured {
            tenant: instance.tenant,
            instance: instance.id,
            attempt: instance.attempt,
            cluster: &claim.unit.cluster,
            pod: pod.object.as_ref(),
            since: pod.since,
            has_gpus: unit.gpus > 0,
        };
        let used = self.monitoring.loads(&self.db, &measured, from, now).await?;
        let load = |used: &monitoring::Load| Load {
            start: used.start,
            end: used.end,
            cpu_percent: used.cpu_cores / cores * 100.0,
            gpu_percent: used.gpu_percent,
        };
        Ok(used.iter().map(load).collect())
    }
}
