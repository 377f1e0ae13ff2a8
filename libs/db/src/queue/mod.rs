//! The row queue: rows of a table that need a reconcile, shared by all replicas.
//!
//! A queue table has four columns:
//! ```sql
//! wake_at     timestamptz,            -- when a reconcile is due; null: not until it is enqueued
//! lease_owner uuid,                   -- the worker that reconciles it now
//! lease_until timestamptz,            -- until when it has the row to itself
//! failures    int not null default 0, -- failed reconciles in a row
//! ```
//! and an index on `coalesce(lease_until, wake_at)` where that is not null: a leased row is due when its lease
//! expires, any other row at `wake_at`.
//!
//! Taking a row sets its lease and clears `wake_at`, so a time that is set while the row is leased is never lost:
//! releasing keeps the earlier one. A lease is renewed for as long as the work takes; the worker stops when it
//! cannot renew. A failed reconcile is repeated with backoff, and so is one that panics: a poison row delays no
//! other. Each *lane* of a queue (the rows of one cluster, say) may use a part of the concurrency only, so a lane
//! that hangs leaves room for the others.
//!
//! `NOTIFY` makes all replicas check for due rows at once; a slow poll covers lost notifications.
//!
//! The statements are built from the table's name, which is why they are not checked at compile time.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    fmt::Display,
    hash::Hash,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures::FutureExt;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use service::{Metrics, Workers, workers::panic_message};
use sqlx::{
    AssertSqlSafe, Decode, Encode, PgConnection, Postgres, Type,
    postgres::{PgHasArrayType, PgRow},
};
use tokio::{
    sync::Notify,
    task::{JoinError, JoinSet},
    time::{Instant, sleep_until},
};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{Db, lease};

/// The type of a queue's primary key: a typed id.
pub trait Key:
    Copy
    + Eq
    + Hash
    + Display
    + Send
    + Sync
    + Unpin
    + Type<Postgres>
    + PgHasArrayType
    + for<'q> Encode<'q, Postgres>
    + for<'r> Decode<'r, Postgres>
    + 'static
{
}

impl<T> Key for T where
    T: Copy
        + Eq
        + Hash
        + Display
        + Send
        + Sync
        + Unpin
        + Type<Postgres>
        + PgHasArrayType
        + for<'q> Encode<'q, Postgres>
        + for<'r> Decode<'r, Postgres>
        + 'static
{
}

/// A table whose rows are a queue.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Name of the table, whose primary key is `id`.
    pub name: &'static str,
    /// Channel on which replicas notify each other.
    pub channel: &'static str,
    /// The lane of a row: an SQL expression over the table's columns, qualified by `q`, of type text and never null.
    pub lane: &'static str,
}

impl Table {
    /// Makes the rows due now, for all replicas, when the transaction commits.
    ///
    /// # Errors
    /// The database's.
    pub async fn enqueue<K: Key>(&self, conn: &mut PgConnection, keys: &[K]) -> sqlx::Result<()> {
        let sql = format!("update {} set wake_at = now() where id = any($1)", self.name);
        sqlx::query(AssertSqlSafe(sql)).bind(keys.to_vec()).execute(&mut *conn).await?;
        self.notify(conn).await
    }

    /// Makes all replicas check for due rows when the transaction commits: for rows inserted with a `wake_at`.
    ///
    /// # Errors
    /// The database's.
    pub async fn notify(&self, conn: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query("select pg_notify($1, '')").bind(self.channel).execute(conn).await.map(drop)
    }
}

/// Limits of a queue.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Rows reconciled at a time.
    pub concurrency: usize,
    /// Rows of one lane reconciled at a time.
    pub lane_concurrency: usize,
    /// How long a lease lasts unless it is renewed. After a crash the row waits this long.
    pub lease: Duration,
    /// How often due rows are read without a notification.
    pub poll: Duration,
    /// Delay after the first failure; it doubles with each further one.
    pub min_delay: Duration,
    /// Longest delay after a failure.
    pub max_delay: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            concurrency: 64,
            lane_concurrency: 32,
            lease: Duration::from_secs(5),
            poll: Duration::from_secs(2),
            min_delay: Duration::from_millis(250),
            max_delay: Duration::from_secs(30),
        }
    }
}

impl Settings {
    /// The delay after `failures` failures in a row (at least one), with jitter.
    fn delay(&self, failures: i32) -> Duration {
        ExponentialBuilder::default()
            .with_min_delay(self.min_delay)
            .with_max_delay(self.max_delay)
            .with_factor(2.0)
            .with_jitter()
            .without_max_times()
            .build()
            .nth(usize::try_from(failures - 1).unwrap_or(0).min(32))
            .map_or(self.max_delay, |delay| delay.min(self.max_delay * 2))
    }
}

/// The result of a reconcile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do until the row is enqueued.
    Done,
    /// Reconcile again after this time, if the row is not enqueued before.
    RequeueAfter(Duration),
    /// The work has called [`Leased::release`] in a transaction of its own, or has deleted the row.
    Released,
}

/// A row that this worker has to itself.
#[derive(Debug, Clone, Copy)]
pub struct Leased<K> {
    /// The row.
    pub key: K,
    /// Failed reconciles in a row before this one.
    pub failures: i32,
    /// Whether the row was due; false if it was only poked.
    pub due: bool,
    table: Table,
    owner: Uuid,
}

impl<K: Key> Leased<K> {
    /// Ends the lease after a success, in the transaction that records the result. False if the lease is lost or
    /// the row is gone.
    ///
    /// # Errors
    /// The database's.
    pub async fn release(&self, conn: &mut PgConnection, after: Option<Duration>) -> sqlx::Result<bool> {
        self.end(conn, after, 0).await.map(|row| row.is_some())
    }

    /// Ends the lease; returns whether the row is due already, none if the lease is lost or the row is gone.
    async fn end(
        &self,
        conn: &mut PgConnection,
        after: Option<Duration>,
        failures: i32,
    ) -> sqlx::Result<Option<bool>> {
        let sql = format!(
            "update {} set lease_owner = null, lease_until = null, failures = $4,
                 wake_at = least(wake_at, now() + make_interval(secs => $3))
             where id = $1 and lease_owner = $2
             returning coalesce(wake_at <= now(), false)",
            self.table.name
        );
        sqlx::query_scalar(AssertSqlSafe(sql))
            .bind(self.key)
            .bind(self.owner)
            .bind(after.map(|after| after.as_secs_f64()))
            .bind(failures)
            .fetch_optional(conn)
            .await
    }

    async fn renew(&self, db: &Db, lease: Duration) -> sqlx::Result<bool> {
        let sql = format!(
            "update {} set lease_until = now() + make_interval(secs => $3) where id = $1 and lease_owner = $2",
            self.table.name
        );
        sqlx::query(AssertSqlSafe(sql))
            .bind(self.key)
            .bind(self.owner)
            .bind(lease.as_secs_f64())
            .execute(&db.worker)
            .await
            .map(|done| done.rows_affected() == 1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    queue: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    queue: &'static str,
}

/// A queue of one process. Clones share it.
pub struct Queue<K>(Arc<Inner<K>>);

impl<K> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

struct Inner<K> {
    db: Db,
    table: Table,
    settings: Settings,
    owner: Uuid,
    poked: Mutex<Poked<K>>,
    /// Due rows are to be read.
    nudge: Notify,
    results: Family<ResultLabels, Counter>,
    running: Gauge,
}

/// A row that may be taken.
#[derive(Debug, Clone)]
struct Candidate<K> {
    key: K,
    lane: String,
    /// Seconds until it is due; not above 0 for a row that is.
    due_in: f64,
}

impl<K: Key> Candidate<K> {
    fn read(row: &PgRow) -> sqlx::Result<Self> {
        use sqlx::Row;
        Ok(Self { key: row.try_get("id")?, lane: row.try_get("lane")?, due_in: row.try_get("due_in")? })
    }
}

/// Candidates, the chosen ones, the leased ones.
type Selected<K> = (Vec<Candidate<K>>, Vec<Candidate<K>>, Vec<Leased<K>>);

/// What filling the free slots has shown.
struct Filled {
    /// More rows are due than there were slots for.
    limited: bool,
    /// When to check for due rows again.
    next: Duration,
}

/// Rows to reconcile though they may not be due, oldest first, each once.
struct Poked<K> {
    order: VecDeque<K>,
    keys: HashSet<K>,
}

impl<K> Default for Poked<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), keys: HashSet::new() }
    }
}

impl<K: Key> Poked<K> {
    fn push(&mut self, key: K) {
        if self.keys.insert(key) {
            self.order.push_back(key);
        }
    }

    fn pop(&mut self) -> Option<K> {
        let key = self.order.pop_front()?;
        self.keys.remove(&key);
        Some(key)
    }

    fn extend(&mut self, keys: impl IntoIterator<Item = K>) {
        keys.into_iter().for_each(|key| self.push(key));
    }

    fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// Rows being reconciled by this process.
struct Running<K> {
    tasks: JoinSet<(K, bool)>,
    lanes: HashMap<K, String>,
    /// Rows that were poked meanwhile.
    again: HashSet<K>,
}

impl<K: Key> Running<K> {
    fn in_lane(&self, lane: &str) -> usize {
        self.lanes.values().filter(|running| *running == lane).count()
    }
}

impl<K: Key> Queue<K> {
    /// The queue of `table` for this process.
    #[must_use]
    pub fn new(db: &Db, table: Table, settings: Settings, metrics: &Metrics) -> Self {
        let results = Family::default();
        let running = Family::<QueueLabels, Gauge>::default();
        metrics.register(|registry| {
            registry.register("queue_reconciles", "Reconciles by result", Family::clone(&results));
            registry.register("queue_running", "Rows being reconciled", Family::clone(&running));
        });
        Self(Arc::new(Inner {
            db: db.clone(),
            table,
            settings,
            owner: Uuid::now_v7(),
            poked: Mutex::default(),
            nudge: Notify::new(),
            results,
            running: running.get_or_create(&QueueLabels { queue: table.name }).clone(),
        }))
    }

    /// Reconciles the row soon, in this process and without a write. For events that every replica receives: a
    /// row that another replica has leased is left to it.
    pub fn poke(&self, key: K) {
        lock(&self.0.poked).push(key);
        self.0.nudge.notify_one();
    }

    /// Leases a row, due or not, for a caller that reconciles and releases it without [`Queue::start`]. Nothing renews
    /// the lease. None if the row is leased or does not exist.
    ///
    /// # Errors
    /// The database's.
    pub async fn lease(&self, key: K) -> sqlx::Result<Option<Leased<K>>> {
        let row = Candidate { key, lane: String::new(), due_in: 0.0 };
        Ok(self.take(&[row], &HashSet::from([key])).await?.pop())
    }

    /// Starts the workers `<name>.queue` and `<name>.listen`. `reconcile` is called for one row at a time per row.
    pub fn start<R>(
        &self,
        workers: &Workers,
        name: &str,
        reconcile: impl Fn(Leased<K>) -> R + Clone + Send + Sync + 'static,
    ) where
        R: Future<Output = anyhow::Result<Outcome>> + Send + 'static,
    {
        let queue = self.clone();
        workers.spawn(format!("{name}.queue"), move |stop| {
            let (queue, reconcile) = (queue.clone(), reconcile.clone());
            async move { queue.run(stop, reconcile).await }
        });
        let queue = self.clone();
        workers.spawn(format!("{name}.listen"), move |stop| {
            let queue = queue.clone();
            async move { stop.run_until_cancelled(queue.listen()).await.unwrap_or(Ok(())) }
        });
    }

    async fn listen(&self) -> anyhow::Result<()> {
        let mut listener = self.0.db.listen(self.0.table.channel).await?;
        // what was notified before the connection was made
        self.0.nudge.notify_one();
        loop {
            listener.recv().await?;
            self.0.nudge.notify_one();
        }
    }

    async fn run<R>(
        &self,
        stop: CancellationToken,
        reconcile: impl Fn(Leased<K>) -> R + Clone + Send + Sync + 'static,
    ) -> anyhow::Result<()>
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send + 'static,
    {
        let mut running = Running { tasks: JoinSet::new(), lanes: HashMap::new(), again: HashSet::new() };
        let (mut check, mut limited, mut deadline) = (true, false, Instant::now());
        while !stop.is_cancelled() {
            if check || !lock(&self.0.poked).is_empty() {
                let filled = self.fill(&mut running, &reconcile).await.unwrap_or_else(|error| {
                    tracing::warn!(queue = self.0.table.name, %error, "cannot read due rows");
                    Filled { limited: false, next: self.0.settings.poll }
                });
                (check, limited, deadline) = (false, filled.limited, Instant::now() + filled.next);
            }
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                Some(ended) = running.tasks.join_next() => check |= self.ended(&mut running, &ended) || limited,
                () = self.0.nudge.notified() => check = true,
                () = sleep_until(deadline) => check = true,
            }
        }
        // what has begun is finished
        while let Some(ended) = running.tasks.join_next().await {
            self.ended(&mut running, &ended);
        }
        Ok(())
    }

    /// Frees the slot of a task that has ended. Returns whether its row may be due again.
    fn ended(&self, running: &mut Running<K>, ended: &Result<(K, bool), JoinError>) -> bool {
        // the tasks catch panics and are never cancelled
        let Ok((key, due)) = ended else { return true };
        running.lanes.remove(key);
        self.report(running);
        if running.again.remove(key) {
            lock(&self.0.poked).push(*key);
        }
        *due
    }

    fn report(&self, running: &Running<K>) {
        self.0.running.set(i64::try_from(running.lanes.len()).unwrap_or(i64::MAX));
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
        let poked = self.poked(running, 4 * free);
        let asked = Instant::now();
        let result = self.select(running, free, &poked).await;
        let (candidates, chosen, taken) = match result {
            Ok(selected) => selected,
            Err(error) => {
                lock(&self.0.poked).extend(poked);
                return Err(error);
            }
        };
        let taken_keys: HashSet<K> = taken.iter().map(|leased| leased.key).collect();
        // poked rows that are leased elsewhere or gone are dropped; those that found no room stay
        let left = candidates.iter().map(|row| row.key).filter(|key| poked.contains(key));
        lock(&self.0.poked).extend(left.filter(|key| !taken_keys.contains(key)));
        let due = candidates.iter().filter(|row| row.due_in <= 0.0).count();
        let next = candidates.iter().map(|row| row.due_in).filter(|due_in| *due_in > 0.0).reduce(f64::min);
        let mut next =
            next.map_or(settings.poll, |due_in| settings.poll.min(Duration::from_secs_f64(due_in)));
        if taken.len() < chosen.len() {
            // locked for a moment, or taken by another replica
            next = next.min(Duration::from_millis(50));
        }
        let limited = due > chosen.len();
        for leased in taken {
            let lane = chosen.iter().find(|row| row.key == leased.key).map(|row| row.lane.clone());
            running.lanes.insert(leased.key, lane.unwrap_or_default());
            running.tasks.spawn(self.clone().hold(leased, asked, reconcile.clone()));
        }
        self.report(running);
        Ok(Filled { limited: limited || running.lanes.len() == settings.concurrency, next })
    }

    /// Up to `limit` poked rows that do not run here; those that do are reconciled once more afterwards.
    fn poked(&self, running: &mut Running<K>, limit: usize) -> HashSet<K> {
        let mut poked = lock(&self.0.poked);
        let mut keys = HashSet::new();
        while keys.len() < limit {
            let Some(key) = poked.pop() else { break };
            if running.lanes.contains_key(&key) {
                running.again.insert(key);
            } else {
                keys.insert(key);
            }
        }
        keys
    }

    /// Candidates, those of them that fit into the free slots, and those of these that could be leased.
    async fn select(
        &self,
        running: &Running<K>,
        free: usize,
        poked: &HashSet<K>,
    ) -> sqlx::Result<Selected<K>> {
        let candidates = self.candidates(running, free, poked).await?;
        let due = candidates.iter().filter(|row| row.due_in <= 0.0);
        let chosen = choose(due, running, free, self.0.settings.lane_concurrency);
        let taken = self.take(&chosen, poked).await?;
        Ok((candidates, chosen, taken))
    }

    /// Rows that are due, soon due, or poked, of lanes that have room.
    async fn candidates(
        &self,
        running: &Running<K>,
        free: usize,
        poked: &HashSet<K>,
    ) -> sqlx::Result<Vec<Candidate<K>>> {
        let Table { name, lane, .. } = self.0.table;
        let settings = &self.0.settings;
        let full: HashSet<&String> = running
            .lanes
            .values()
            .filter(|lane| running.in_lane(lane) >= settings.lane_concurrency)
            .collect();
        let full: Vec<String> = full.into_iter().cloned().collect();
        let due_in = "extract(epoch from coalesce(q.lease_until, q.wake_at) - now())::float8 as due_in";
        let sql = format!(
            "select q.id, {lane} as lane, {due_in} from {name} q
             where coalesce(q.lease_until, q.wake_at) <= now() + make_interval(secs => $1)
               and {lane} <> all($2)
             order by coalesce(q.lease_until, q.wake_at) limit $3"
        );
        let mut rows = sqlx::query(AssertSqlSafe(sql))
            .bind(settings.poll.as_secs_f64())
            .bind(&full)
            .bind(i64::try_from(4 * free).unwrap_or(i64::MAX))
            .fetch_all(&self.0.db.worker)
            .await?;
        if !poked.is_empty() {
            let sql = format!(
                "select q.id, {lane} as lane, 0::float8 as due_in from {name} q
                 where q.id = any($1) and (q.lease_until is null or q.lease_until <= now())"
            );
            let keys: Vec<K> = poked.iter().copied().collect();
            let found = sqlx::query(AssertSqlSafe(sql)).bind(keys).fetch_all(&self.0.db.worker).await?;
            rows.splice(0..0, found);
        }
        rows.iter().map(Candidate::read).collect()
    }

    async fn take(&self, chosen: &[Candidate<K>], poked: &HashSet<K>) -> sqlx::Result<Vec<Leased<K>>> {
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let Table { name, .. } = self.0.table;
        let sql = format!(
            "with free as (
                 select id, coalesce(coalesce(lease_until, wake_at) <= now(), false) as due from {name}
                 where id = any($1) and (lease_until is null or lease_until <= now())
                   and (id = any($2) or coalesce(lease_until, wake_at) <= now())
                 order by id for update skip locked)
             update {name} q set lease_owner = $3, lease_until = now() + make_interval(secs => $4), wake_at = null
             from free where q.id = free.id
             returning q.id, q.failures, free.due"
        );
        let rows: Vec<(K, i32, bool)> = sqlx::query_as(AssertSqlSafe(sql))
            .bind(chosen.iter().map(|row| row.key).collect::<Vec<_>>())
            .bind(poked.iter().copied().collect::<Vec<_>>())
            .bind(self.0.owner)
            .bind(self.0.settings.lease.as_secs_f64())
            .fetch_all(&self.0.db.worker)
            .await?;
        let leased =
            |(key, failures, due)| Leased { key, failures, due, table: self.0.table, owner: self.0.owner };
        Ok(rows.into_iter().map(leased).collect())
    }

    /// Reconciles a row under its lease and releases it. Returns the row and whether it is due again.
    async fn hold<R>(self, leased: Leased<K>, asked: Instant, reconcile: impl Fn(Leased<K>) -> R) -> (K, bool)
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send,
    {
        let (queue, key) = (self.0.table.name, leased.key);
        let lease = self.0.settings.lease;
        let work = AssertUnwindSafe(async { reconcile(leased).await }).catch_unwind();
        let Some(ended) = lease::hold(asked, lease, || leased.renew(&self.0.db, lease), work).await else {
            tracing::warn!(queue, %key, "lease lost, reconcile stopped");
            self.count("lease_lost");
            return (key, false);
        };
        let result = ended.unwrap_or_else(|panic| Err(anyhow::anyhow!("panic: {}", panic_message(&*panic))));
        let (after, failures) = match result {
            Ok(Outcome::Done) => (None, 0),
            Ok(Outcome::RequeueAfter(after)) => (Some(after), 0),
            Ok(Outcome::Released) => {
                self.count("done");
                // it may have been enqueued meanwhile
                return (key, true);
            }
            Err(error) => {
                let failures = leased.failures.saturating_add(1);
                let delay = self.0.settings.delay(failures);
                tracing::warn!(
                    queue, %key, failures, retry_in_ms = delay.as_millis(), error = format!("{error:#}"),
                    "reconcile failed"
                );
                (Some(delay), failures)
            }
        };
        self.count(if failures > 0 { "failed" } else { "done" });
        let due = self.release(leased, after, failures).await;
        (key, due)
    }

    async fn release(&self, leased: Leased<K>, after: Option<Duration>, failures: i32) -> bool {
        let released = async {
            let mut conn = self.0.db.worker.acquire().await?;
            leased.end(&mut conn, after, failures).await
        };
        match released.await {
            Ok(due) => due.unwrap_or(false),
            Err(error) => {
                // the lease expires, and the row is reconciled again
                tracing::warn!(queue = self.0.table.name, key = %leased.key, %error, "cannot release a row");
                false
            }
        }
    }

    fn count(&self, result: &'static str) {
        self.0.results.get_or_create(&ResultLabels { queue: self.0.table.name, result }).inc();
    }
}

/// The first rows that fit into the free slots, each lane within its limit.
fn choose<'c, K: Key>(
    due: impl Iterator<Item = &'c Candidate<K>>,
    running: &Running<K>,
    free: usize,
    lane_limit: usize,
) -> Vec<Candidate<K>> {
    let mut lanes: HashMap<String, usize> = HashMap::new();
    let mut seen = HashSet::new();
    due.filter(|row| seen.insert(row.key) && !running.lanes.contains_key(&row.key))
        .filter(|row| {
            let used = lanes.entry(row.lane.clone()).or_insert_with(|| running.in_lane(&row.lane));
            *used += 1;
            *used <= lane_limit
        })
        .take(free)
        .cloned()
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_delay_grows_and_stays_within_its_bounds(failures in 1i32..1_000_000) {
            let settings = Settings::default();
            let delay = settings.delay(failures);
            prop_assert!(delay >= settings.min_delay, "{delay:?}");
            prop_assert!(delay <= settings.max_delay * 2, "{delay:?}");
            if failures < 6 {
                let doubled = settings.min_delay * 2u32.pow(u32::try_from(failures).unwrap());
                prop_assert!(delay <= doubled, "{delay:?}");
            } else if failures > 10 {
                prop_assert!(delay >= settings.max_delay, "{delay:?}");
            }
        }
    }
}
