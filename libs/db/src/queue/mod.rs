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
//! Taking a row sets its lease and clears `wake_at`, so a time that is set while the row is leased is never
//! lost: releasing keeps the earlier one. A lease is renewed for as long as the work takes; the worker stops
//! when it cannot renew. A failed reconcile is repeated with backoff, and so is one that panics: a poison row
//! does not delay others. Each *lane* of a queue (for example the rows of one cluster) may use only a part of
//! the concurrency, so a lane that hangs leaves slots for the others.
//!
//! `NOTIFY` makes all replicas check for due rows at once; a slow poll covers lost notifications.
//!
//! The statements are built from the table's name, which is why they are not checked at compile time.

mod candidates;
mod leased;
mod metrics;
mod runner;
mod running;

use std::{
    collections::HashSet,
    fmt::Display,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicBool},
    time::Duration,
};

use backon::{BackoffBuilder, ExponentialBuilder};
use service::{Duty, Health, Metrics, Task, health::QueueHealth};
use sqlx::{AssertSqlSafe, Decode, Encode, PgConnection, Postgres, Type, postgres::PgHasArrayType};
use tokio::sync::Notify;
use uuid::Uuid;

pub use self::leased::Leased;
pub(crate) use self::metrics::QueueMetrics;
use self::{
    candidates::{Candidate, Woken},
    metrics::TableMetrics,
};
use crate::Db;

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
    /// If the database fails.
    pub async fn enqueue<K: Key>(&self, conn: &mut PgConnection, keys: &[K]) -> sqlx::Result<()> {
        let sql = format!("update {} set wake_at = now() where id = any($1)", self.name);
        sqlx::query(AssertSqlSafe(sql)).bind(keys.to_vec()).execute(&mut *conn).await?;
        self.notify(conn).await
    }

    /// Makes all replicas check for due rows when the transaction commits: for rows inserted with a `wake_at`.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn notify(&self, conn: &mut PgConnection) -> sqlx::Result<()> {
        sqlx::query("select pg_notify($1, '')").bind(self.channel).execute(conn).await.map(drop)
    }
}

/// Rows read for each free slot, as some may be in full lanes.
const ROWS_PER_SLOT: usize = 4;

/// How often due rows are read without a notification: for rows of a process that has crashed.
pub const HEAL: Duration = Duration::from_secs(60);

/// Limits of a queue.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Maximum number of rows reconciled at the same time.
    pub concurrency: usize,
    /// Maximum number of rows of one lane reconciled at the same time.
    pub lane_concurrency: usize,
    /// How long a lease lasts unless it is renewed. After a crash the row waits this long.
    pub lease: Duration,
    /// How often due rows are read without a notification; at least as often as the configuration of the database says. Rows that
    /// will be due before the next read are read, too, and reconciled on time.
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
            poll: HEAL,
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
    woken: Mutex<Woken<K>>,
    /// Due rows are to be read.
    nudge: Notify,
    /// The last read has found no row that is due, or will be before the next read.
    is_empty: AtomicBool,
    metrics: TableMetrics,
    health: Arc<QueueHealth>,
}

impl<K: Key> Queue<K> {
    /// The queue of `table` for this process.
    #[must_use]
    pub fn new(db: &Db, table: Table, mut settings: Settings, metrics: &Metrics) -> Self {
        settings.poll = settings.poll.min(db.heal());
        Self(Arc::new(Inner {
            db: db.clone(),
            table,
            settings,
            owner: Uuid::now_v7(),
            woken: Mutex::default(),
            nudge: Notify::new(),
            is_empty: AtomicBool::new(false),
            metrics: metrics.shared(QueueMetrics::register).of(table.name),
            health: Health::of(metrics).queue(table.name),
        }))
    }

    /// Reconciles the row soon, in this process and without a write. For events that every replica receives:
    /// a row that another replica has leased is skipped.
    pub fn wake(&self, key: K) {
        lock(&self.0.woken).push(key);
        self.0.nudge.notify_one();
    }

    /// Leases a row, due or not, for a caller that reconciles and releases it without [`Queue::tasks`]. Nothing renews
    /// the lease. None if the row is leased or does not exist.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn lease(&self, key: K) -> sqlx::Result<Option<Leased<K>>> {
        let row = Candidate { key, lane: String::new(), due_in: 0.0 };
        Ok(self.take(&[row], &HashSet::from([key])).await?.pop())
    }

    /// The tasks that reconcile due rows, and follow the notifications of new ones. `reconcile` is called for one row at a time
    /// per row.
    pub fn tasks<R>(
        &self,
        owner: &str,
        reconcile: impl Fn(Leased<K>) -> R + Clone + Send + Sync + 'static,
    ) -> [Task; 2]
    where
        R: Future<Output = anyhow::Result<Outcome>> + Send + 'static,
    {
        [
            Task::until_stop(owner, Duty::Reconcile, self, move |queue, stop| {
                let reconcile = reconcile.clone();
                async move { queue.run(stop, reconcile).await }
            }),
            Task::new(owner, Duty::Follow, self, |queue| async move { queue.listen().await }),
        ]
    }

    async fn listen(&self) -> anyhow::Result<()> {
        let mut listener = self.0.db.listen(self.0.table.channel).await?;
        // for notifications from before the connection
        self.0.nudge.notify_one();
        loop {
            listener.recv().await?;
            self.0.nudge.notify_one();
        }
    }
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
        fn the_delay_grows_and_stays_within_its_bounds(failures in prop_oneof![1i32..16, 1i32..1_000_000]) {
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
