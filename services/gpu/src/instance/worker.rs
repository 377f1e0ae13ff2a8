//! Who looks at which instance when: commands, the clusters' events, other replicas' notices and a slow
//! sweep all say "look at this one"; each instance is looked at by one task at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use api::ErrorChain;
use db::Db;
use ids::InstanceId;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use service::{Metrics, Shutdown};
use tokio::{
    sync::{Semaphore, mpsc},
    task::AbortHandle,
    time::{MissedTickBehavior, interval},
};

use super::{
    reconcile::{Looked, Reconciler},
    store,
};
use crate::{cluster::Clusters, route, usage};

/// Instances looked at at once.
const AT_ONCE: usize = 64;
/// How often what is due is looked for.
const SWEEP: Duration = Duration::from_secs(2);
/// How many of those at a time.
const SWEEP_LIMIT: i64 = 500;
/// How often running is confirmed and old rows are removed.
const KEEPING: Duration = Duration::from_secs(30);
/// The first pause before trying again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// Says "look at this instance" to this process's worker. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Wakes(mpsc::UnboundedSender<InstanceId>);

impl Wakes {
    /// Has the instance looked at soon.
    pub fn wake(&self, id: InstanceId) {
        // the worker goes only when the process ends; the row says that it is due
        let _ = self.0.send(id);
    }

    /// A receiver of wakes, and its sender.
    #[must_use]
    pub fn channel() -> (Self, mpsc::UnboundedReceiver<InstanceId>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// For who sends without knowing of workers.
    #[must_use]
    pub fn sender(&self) -> &mpsc::UnboundedSender<InstanceId> {
        &self.0
    }
}

/// An instance that is being looked at.
#[derive(Debug, Default)]
struct Slot {
    /// Something happened meanwhile: look once more.
    again: bool,
}

/// What is to be tried again. However many look at an instance in vain meanwhile, it is woken once.
#[derive(Clone)]
struct Retries {
    wakes: Wakes,
    pending: Arc<Mutex<HashMap<InstanceId, Retry>>>,
}

struct Retry {
    /// How long to wait when it fails next.
    pause: Duration,
    waits: AbortHandle,
}

impl Retries {
    /// Wakes the instance after a pause, which it gives; it grows with each failure in a row.
    fn after_a_pause(&self, id: InstanceId) -> Duration {
        let mut pending = lock(&self.pending);
        let before = pending.remove(&id);
        let pause = before.as_ref().map_or(FIRST_PAUSE, |before| before.pause);
        // half of it is left to chance, taken from the id, so that many do not come back at once
        let share = f64::from(id.uuid().as_bytes()[15]) / 255.0;
        let wait = pause.mul_f64(0.5 + share / 2.0);
        if let Some(before) = before {
            before.waits.abort();
        }
        let wakes = self.wakes.clone();
        // not waited for at the end: the row says that it is due
        let waits = tokio::spawn(async move {
            tokio::time::sleep(wait).await;
            wakes.wake(id);
        });
        let next = Retry { pause: (pause * 2).min(LONGEST_PAUSE), waits: waits.abort_handle() };
        pending.insert(id, next);
        wait
    }

    /// It did not fail: there is nothing to try again.
    fn forget(&self, id: InstanceId) {
        if let Some(retry) = lock(&self.pending).remove(&id) {
            retry.waits.abort();
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StateLabel {
    state: String,
}

/// Looks at instances whenever there is reason to.
#[derive(Clone)]
pub struct Worker {
    db: Db,
    clusters: Clusters,
    reconciler: Reconciler,
    wakes: Wakes,
    slots: Arc<Mutex<HashMap<InstanceId, Slot>>>,
    retries: Retries,
    room: Arc<Semaphore>,
    failures: Counter,
    states: Family<StateLabel, Gauge>,
}

impl Worker {
    /// A worker; [`Worker::run`] starts it.
    #[must_use]
    pub fn new(db: Db, clusters: Clusters, reconciler: Reconciler, wakes: Wakes, metrics: &Metrics) -> Self {
        let (failures, states) = (Counter::default(), Family::<StateLabel, Gauge>::default());
        let retries = Retries { wakes: wakes.clone(), pending: Arc::default() };
        metrics.register(|registry| {
            registry.register(
                "instance_reconcile_failures",
                "Looks at an instance that have to be tried again",
                failures.clone(),
            );
            registry.register("instances", "Instances by state", states.clone());
        });
        Self {
            db,
            clusters,
            reconciler,
            wakes,
            slots: Arc::default(),
            retries,
            room: Arc::new(Semaphore::new(AT_ONCE)),
            failures,
            states,
        }
    }

    /// Starts everything that wakes and everything that works; returns at once.
    pub fn run(self, woken: mpsc::UnboundedReceiver<InstanceId>, shutdown: &Shutdown) {
        self.clusters.follow(self.wakes.sender(), shutdown);
        let until = |token: tokio_util::sync::CancellationToken,
                     work: futures::future::BoxFuture<'static, ()>| async move {
            tokio::select! {
                () = work => {}
                () = token.cancelled_owned() => {}
            }
        };
        let (listener, sweeper, keeper) = (self.clone(), self.clone(), self.clone());
        shutdown.track(until(shutdown.token(), Box::pin(async move { listener.listen().await })));
        shutdown.track(until(shutdown.token(), Box::pin(async move { sweeper.sweep().await })));
        shutdown.track(until(shutdown.token(), Box::pin(async move { keeper.keep().await })));
        let (token, tasks) = (shutdown.token(), shutdown.clone());
        shutdown.track(async move { self.work(woken, token, tasks).await });
    }

    async fn work(
        self,
        mut woken: mpsc::UnboundedReceiver<InstanceId>,
        token: tokio_util::sync::CancellationToken,
        tasks: Shutdown,
    ) {
        loop {
            let id = tokio::select! {
                id = woken.recv() => id,
                () = token.cancelled() => None,
            };
            let Some(id) = id else { return };
            if let Some(slot) = lock(&self.slots).get_mut(&id) {
                slot.again = true;
                continue;
            }
            lock(&self.slots).insert(id, Slot::default());
            let worker = self.clone();
            // what is begun is finished: the end of the process waits for it
            tasks.track(async move { worker.attend(id).await });
        }
    }

    /// Looks at one instance until nothing has happened meanwhile.
    async fn attend(&self, id: InstanceId) {
        let Ok(_room) = self.room.acquire().await else { return };
        loop {
            match Box::pin(self.reconciler.look(id)).await {
                Ok(Looked::Done | Looked::Missing | Looked::Elsewhere) => {
                    self.retries.forget(id);
                }
                Ok(Looked::Later { cause }) => self.later(id, &cause),
                Err(error) => self.later(id, &ErrorChain(&error).to_string()),
            }
            let mut slots = lock(&self.slots);
            match slots.get_mut(&id) {
                Some(slot) if slot.again => slot.again = false,
                _ => {
                    slots.remove(&id);
                    return;
                }
            }
        }
    }

    /// Looks again after a pause.
    fn later(&self, id: InstanceId, cause: &str) {
        self.failures.inc();
        let pause = self.retries.after_a_pause(id);
        tracing::warn!(instance.id = %id, cause, again_in_ms = pause.as_millis(), "to be tried again");
    }

    /// Hears what other replicas' requests have changed.
    async fn listen(&self) {
        loop {
            match self.db.listen(store::CHANNEL).await {
                Ok(mut listener) => {
                    while let Ok(notice) = listener.recv().await {
                        if let Ok(id) = notice.payload().parse() {
                            self.wakes.wake(id);
                        }
                    }
                }
                Err(error) => tracing::warn!(error = %ErrorChain(&error), "cannot listen to the database"),
            }
            // the sweep finds what is missed meanwhile
            tokio::time::sleep(SWEEP).await;
        }
    }

    /// Finds what is due without any event: after a crash, a lost event, a failure.
    async fn sweep(&self) {
        let mut ticks = interval(SWEEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            match self.due().await {
                Ok(due) => due.into_iter().for_each(|id| self.wakes.wake(id)),
                Err(error) => tracing::warn!(error = %ErrorChain(&error), "cannot look for what is due"),
            }
        }
    }

    async fn due(&self) -> sqlx::Result<Vec<InstanceId>> {
        let mut tx = self.db.worker().await?;
        let due = store::due(&mut tx, SWEEP_LIMIT).await?;
        tx.commit().await?;
        Ok(due)
    }

    /// Confirms what runs, counts for the metrics, and removes what is too old.
    async fn keep(&self) {
        let mut ticks = interval(KEEPING);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.keep_once().await {
                tracing::warn!(error = %ErrorChain(&error), "cannot keep the tables");
            }
        }
    }

    async fn keep_once(&self) -> sqlx::Result<()> {
        for running in self.clusters.running().chunks(1000) {
            let mut tx = self.db.worker().await?;
            usage::store::confirm(&mut tx, running).await?;
            tx.commit().await?;
        }
        let mut tx = self.db.worker().await?;
        route::store::forget_tickets(&mut tx).await?;
        api::idempotency::forget_old(&mut tx, 10_000).await?;
        let counts = store::count_by_state(&mut tx).await?;
        tx.commit().await?;
        self.states.clear();
        for (state, count) in counts {
            self.states.get_or_create(&StateLabel { state }).set(count);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn however_often_it_fails_it_is_tried_again_once() {
        let (wakes, mut woken) = Wakes::channel();
        let retries = Retries { wakes, pending: Arc::default() };
        let (often, once) = (InstanceId::new(), InstanceId::new());
        for _ in 0..3 {
            retries.after_a_pause(often);
        }
        retries.after_a_pause(once);
        retries.forget(once);
        // this one comes after all that any of those would have been woken for
        let last = InstanceId::new();
        while retries.after_a_pause(last) <= 4 * FIRST_PAUSE {}
        assert_eq!((woken.recv().await, woken.recv().await), (Some(often), Some(last)));
        assert!(woken.try_recv().is_err());
    }
}
