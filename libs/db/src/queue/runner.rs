//! The worker that fills free slots with due rows and reconciles them.

use std::{
    collections::{HashMap, HashSet},
    panic::AssertUnwindSafe,
    sync::atomic::Ordering,
    time::Duration,
};

use futures::FutureExt;
use service::panic_message;
use tokio::{
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;

use super::{
    Key, Outcome, Queue, ROWS_PER_SLOT,
    candidates::Selected,
    leased::Leased,
    lock,
    running::{Ended, Running},
};
use crate::lease;

/// The result of filling the free slots.
struct Filled {
    /// More rows may be due than there were slots for.
    limited: bool,
    /// When to check for due rows again.
    next: Duration,
}

impl<K: Key> Queue<K> {
    pub(super) async fn run<R>(
        &self,
        stop: CancellationToken,
        reconcile: impl Fn(Leased<K>) -> R + Clone + Send + Sync + 'static,
    ) -> anyhow::Result<()>
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send + 'static,
    {
        let mut running = Running { tasks: JoinSet::new(), lanes: HashMap::new(), again: HashSet::new() };
        let (mut check, mut limited, mut deadline) = (true, false, Instant::now());
        let mut measuring = std::pin::pin!(self.measure_regularly());
        while !stop.is_cancelled() {
            if check || !lock(&self.0.woken).is_empty() {
                let filled = self.fill(&mut running, &reconcile).await.unwrap_or_else(|error| {
                    tracing::warn!(queue = self.0.table.name, %error, "cannot read due rows");
                    Filled { limited: false, next: self.0.settings.poll }
                });
                (check, limited, deadline) = (false, filled.limited, Instant::now() + filled.next);
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                Some(ended) = running.tasks.join_next() => {
                    if let Some(due_in) = self.ended(&mut running, &ended) {
                        deadline = deadline.min(Instant::now() + due_in);
                    }
                    check |= limited;
                }
                () = self.0.nudge.notified() => check = true,
                () = sleep_until(deadline) => check = true,
                never = &mut measuring => match never {},
            }
        }
        // reconciles that have begun are finished
        while let Some(ended) = running.tasks.join_next().await {
            self.ended(&mut running, &ended);
        }
        Ok(())
    }

    /// Frees the slot of a task that has ended. Returns when its row may be due again.
    fn ended(&self, running: &mut Running<K>, ended: &Result<Ended<K>, JoinError>) -> Option<Duration> {
        // the tasks catch panics and are never cancelled
        let Ok(Ended { key, due_in }) = ended else { return Some(Duration::ZERO) };
        running.lanes.remove(key);
        self.report(running);
        if running.again.remove(key) {
            lock(&self.0.woken).push(*key);
        }
        *due_in
    }

    fn report(&self, running: &Running<K>) {
        self.0.metrics.running(running.lanes.len());
    }

    /// Takes rows for the free slots and starts to reconcile them.
    async fn fill<R>(
        &self,
        running: &mut Running<K>,
        reconcile: &(impl Fn(Leased<K>) -> R + Clone + Send + Sync + 'static),
    ) -> sqlx::Result<Filled>
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send + 'static,
    {
        let settings = &self.0.settings;
        let free = settings.concurrency.saturating_sub(running.lanes.len());
        if free == 0 {
            return Ok(Filled { limited: true, next: settings.poll });
        }
        let woken = lock(&self.0.woken).take(free.saturating_mul(ROWS_PER_SLOT), running);
        let asked = Instant::now();
        let result = self.select(running, free, &woken).await;
        let selected = match result {
            Ok(selected) => selected,
            Err(error) => {
                lock(&self.0.woken).extend(woken);
                return Err(error);
            }
        };
        let (limited, next) = (selected.is_limited(), selected.next(settings.poll));
        let Selected { candidates, chosen, leased, .. } = selected;
        self.0
            .is_empty
            .store(candidates.is_empty() && running.lanes.is_empty() && !limited, Ordering::Relaxed);
        let leased_keys: HashSet<K> = leased.iter().map(|leased| leased.key).collect();
        // woken rows that are leased elsewhere or gone are dropped; those without a free slot stay
        let left = candidates.iter().map(|row| row.key).filter(|key| woken.contains(key));
        lock(&self.0.woken).extend(left.filter(|key| !leased_keys.contains(key)));
        for leased in leased {
            let lane = chosen.iter().find(|row| row.key == leased.key).map(|row| row.lane.clone());
            running.lanes.insert(leased.key, lane.unwrap_or_default());
            running.tasks.spawn(self.clone().hold(leased, asked, reconcile.clone()));
        }
        self.report(running);
        Ok(Filled { limited, next })
    }

    /// Reconciles a row under its lease and releases it.
    async fn hold<R>(self, leased: Leased<K>, asked: Instant, reconcile: impl Fn(Leased<K>) -> R) -> Ended<K>
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send,
    {
        let (queue, key) = (self.0.table.name, leased.key);
        let lease = self.0.settings.lease;
        let work = AssertUnwindSafe(async { reconcile(leased).await }).catch_unwind();
        let Some(ended) = lease::hold(asked, lease, || leased.renew(&self.0.db, lease), work).await else {
            tracing::warn!(queue, %key, "lease lost, reconcile stopped");
            self.0.metrics.count("lease_lost");
            return Ended { key, due_in: None };
        };
        let result = ended.unwrap_or_else(|panic| Err(anyhow::anyhow!("panic: {}", panic_message(&*panic))));
        let (after, failures) = match result {
            Ok(Outcome::Done) => (None, 0),
            Ok(Outcome::RequeueAfter(after)) => (Some(after), 0),
            Ok(Outcome::Released) => {
                self.0.metrics.count("done");
                // it may have been enqueued meanwhile
                return Ended { key, due_in: Some(Duration::ZERO) };
            }
            Err(error) => {
                let failures = leased.failures.saturating_add(1);
                let delay = self.0.settings.delay(failures);
                self.0.health.failed(&format!("{key}: {error:#}"));
                tracing::warn!(
                    queue, %key, failures, retry_in_ms = delay.as_millis(), error = format!("{error:#}"),
                    "reconcile failed"
                );
                (Some(delay), failures)
            }
        };
        self.0.metrics.count(if failures > 0 { "failed" } else { "done" });
        let due_in = self.release(leased, after, failures).await;
        Ended { key, due_in }
    }

    /// Ends the lease. Returns when the row is due, if it is enqueued.
    async fn release(&self, leased: Leased<K>, after: Option<Duration>, failures: i32) -> Option<Duration> {
        let released = async {
            let mut conn = self.0.db.0.worker.acquire().await?;
            leased.end(&mut conn, after, failures).await
        };
        match released.await {
            Ok(released) => released.and_then(|released| released.due_in),
            Err(error) => {
                // the lease expires, and the row is reconciled again
                tracing::warn!(queue = self.0.table.name, key = %leased.key, %error, "cannot release a row");
                None
            }
        }
    }
}
