//! The operator's Prometheus metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use service::health::{Health, QueueHealth};
use service::metrics::Registrar;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    kind: String,
    outcome: &'static str,
}

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReconcileResult {
    Ok,
    Error,
    Panic,
}

impl ReconcileResult {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Panic => "panic",
        }
    }
}

/// The operator's metrics. Clones share them.
#[derive(Clone, Debug)]
pub struct Metrics {
    reconciles: Family<Outcome, Counter<u64, AtomicU64>>,
    duration: Histogram,
    start_to_pod: Histogram,
    writes: Family<Kind, Counter<u64, AtomicU64>>,
    refused_writes: Family<Kind, Counter<u64, AtomicU64>>,
    watch_failures: Family<Kind, Counter<u64, AtomicU64>>,
    queue: Gauge<i64, AtomicI64>,
    leader: Gauge<i64, AtomicI64>,
    health: Option<Arc<QueueHealth>>,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
        Self {
            reconciles: Family::default(),
            duration: Histogram::new(seconds),
            start_to_pod: Histogram::new(seconds),
            writes: Family::default(),
            refused_writes: Family::default(),
            watch_failures: Family::default(),
            queue: Gauge::default(),
            leader: Gauge::default(),
            health: None,
        }
    }
}

impl Metrics {
    /// Also reports the queue as part of the process's health.
    #[must_use]
    pub fn with_health(self, health: &Health) -> Self {
        Self { health: Some(health.queue("objects")), ..self }
    }

    /// Records why the last reconcile failed.
    pub(crate) fn failed(&self, cause: &str) {
        if let Some(health) = &self.health {
            health.failed(cause);
        }
    }

    /// Registers all metrics.
    pub fn register(&self, registry: &mut Registrar<'_>) {
        registry.register(
            "operator_reconciles",
            "Reconciles, by kind of object and outcome: ok, error, panic",
            &["kind", "outcome"],
            self.reconciles.clone(),
        );
        registry.register(
            "operator_reconcile_duration_seconds",
            "Duration of one reconcile",
            &[],
            self.duration.clone(),
        );
        registry.register(
            "operator_start_to_pod_seconds",
            "Time from the observation of a start or restart to the creation of its pod",
            &[],
            self.start_to_pod.clone(),
        );
        registry.register(
            "operator_writes",
            "Writes to the Kubernetes API, by action",
            &["kind"],
            self.writes.clone(),
        );
        registry.register(
            "operator_refused_writes",
            "Writes that the Kubernetes API refused, by action",
            &["kind"],
            self.refused_writes.clone(),
        );
        registry.register(
            "operator_watch_failures",
            "Errors of watches, by kind",
            &["kind"],
            self.watch_failures.clone(),
        );
        registry.register(
            "operator_queue_depth",
            "Objects that wait for a reconcile",
            &[],
            self.queue.clone(),
        );
        registry.register("operator_leader", "1 if this replica leads", &[], self.leader.clone());
    }

    pub(crate) fn reconciled(&self, kind: &str, result: ReconcileResult, took: Duration) {
        self.reconciles.get_or_create(&Outcome { kind: kind.to_owned(), outcome: result.as_str() }).inc();
        self.duration.observe(took.as_secs_f64());
    }

    pub(crate) fn pod_created(&self, after: Duration) {
        self.start_to_pod.observe(after.as_secs_f64());
    }

    pub(crate) fn wrote(&self, action: &str) {
        self.writes.get_or_create(&Kind { kind: action.to_owned() }).inc();
    }

    pub(crate) fn write_refused(&self, action: &str) {
        self.refused_writes.get_or_create(&Kind { kind: action.to_owned() }).inc();
    }

    /// Number of writes of this action since the process started.
    #[must_use]
    pub fn writes(&self, action: &str) -> u64 {
        self.writes.get_or_create(&Kind { kind: action.to_owned() }).get()
    }

    pub(crate) fn watch_failed(&self, kind: &str) {
        self.watch_failures.get_or_create(&Kind { kind: kind.to_owned() }).inc();
    }

    pub(crate) fn queue_depth(&self, depth: usize) {
        let depth = i64::try_from(depth).unwrap_or(i64::MAX);
        self.queue.set(depth);
        if let Some(health) = &self.health {
            health.measured(depth, 0.0);
        }
    }

    pub(crate) fn leads(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }
}
