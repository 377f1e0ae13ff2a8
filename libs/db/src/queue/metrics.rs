//! Metrics of the queues of one process.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
};
use service::{health::cause, metrics::Registrar};
use sqlx::AssertSqlSafe;

use super::{Key, Queue};

/// Time between two measurements of a queue.
const MEASURE_EVERY: Duration = Duration::from_secs(15);
/// Due rows are counted up to this number, so that counting has a bounded cost.
const MOST_COUNTED: i64 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    queue: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    queue: &'static str,
}

/// Metrics of all queues of a process. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct QueueMetrics {
    results: Family<ResultLabels, Counter>,
    running: Family<QueueLabels, Gauge>,
    due: Family<QueueLabels, Gauge>,
    oldest: Family<QueueLabels, Gauge<f64, AtomicU64>>,
}

impl QueueMetrics {
    pub(crate) fn register(registry: &mut Registrar<'_>) -> Self {
        let own = Self::default();
        registry.register(
            "queue_reconciles",
            "Reconciles by result: done, failed, lease_lost",
            &["queue", "result"],
            own.results.clone(),
        );
        registry.register("queue_running", "Rows being reconciled", &["queue"], own.running.clone());
        registry.register(
            "queue_due_rows",
            "Rows that wait for a reconcile in any replica, counted up to 10000",
            &["queue"],
            own.due.clone(),
        );
        registry.register(
            "queue_oldest_due_seconds",
            "How long the oldest due row has waited",
            &["queue"],
            own.oldest.clone(),
        );
        own
    }

    pub(super) fn of(&self, queue: &'static str) -> TableMetrics {
        for result in ["done", "failed", "lease_lost"] {
            // `increase` misses the first event of a counter that did not exist before
            self.results.get_or_create(&ResultLabels { queue, result }).inc_by(0);
        }
        let labels = QueueLabels { queue };
        TableMetrics {
            queue,
            results: self.results.clone(),
            running: self.running.get_or_create_owned(&labels),
            due: self.due.get_or_create_owned(&labels),
            oldest: self.oldest.get_or_create_owned(&labels),
        }
    }
}

/// Metrics of one queue.
#[derive(Debug)]
pub(super) struct TableMetrics {
    queue: &'static str,
    results: Family<ResultLabels, Counter>,
    running: Gauge,
    due: Gauge,
    oldest: Gauge<f64, AtomicU64>,
}

impl TableMetrics {
    pub(super) fn count(&self, result: &'static str) {
        self.results.get_or_create(&ResultLabels { queue: self.queue, result }).inc();
    }

    pub(super) fn running(&self, rows: usize) {
        self.running.set(i64::try_from(rows).unwrap_or(i64::MAX));
    }
}

impl<K: Key> Queue<K> {
    /// Measures at intervals, without an end.
    pub(super) async fn measure_regularly(&self) -> Infallible {
        loop {
            self.measure().await;
            tokio::time::sleep(MEASURE_EVERY).await;
        }
    }

    /// Measures how many rows are due, and for how long. A queue that the last read found empty is not read again for
    /// that.
    async fn measure(&self) {
        let is_empty = self.0.is_empty.load(Ordering::Relaxed);
        let backlog = if is_empty { Ok((0, 0.0)) } else { self.backlog().await };
        match backlog {
            Ok((due, oldest)) => {
                self.0.metrics.due.set(due);
                self.0.metrics.oldest.set(oldest);
                self.0.health.measured(due, oldest);
            }
            Err(error) => {
                tracing::warn!(queue = self.0.table.name, %error, "cannot measure the queue");
                self.0.health.failed(&cause(&error));
            }
        }
    }

    /// Returns the number of due rows, and how long the oldest is due in seconds.
    async fn backlog(&self) -> sqlx::Result<(i64, f64)> {
        let sql = format!(
            "select count(*), coalesce(extract(epoch from now() - min(due)), 0)::float8
             from (select coalesce(lease_until, wake_at) as due from {}
                   where coalesce(lease_until, wake_at) <= now()
                   order by coalesce(lease_until, wake_at) limit $1) oldest",
            self.0.table.name
        );
        sqlx::query_as(AssertSqlSafe(sql)).bind(MOST_COUNTED).fetch_one(&self.0.db.0.worker).await
    }
}
