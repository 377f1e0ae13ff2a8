//! The metrics of schedulers.

use std::sync::Arc;

use jobs_core::kind::Level;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
};
use service::Metrics;

/// Seconds.
const WAITS: [f64; 14] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LevelLabels {
    level: &'static str,
}

/// Pools, waits and lost workers. Clones share them.
#[derive(Debug, Clone)]
pub struct DispatchMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pools: Gauge,
    led: Gauge,
    below_guarantee: Gauge,
    waits: Family<LevelLabels, Histogram>,
    lost: Counter,
    cordoned: Counter,
    moved: Counter,
    unpriced: Counter,
}

/// A pool that this replica leads, until it is dropped.
pub(super) struct Leading {
    metrics: DispatchMetrics,
    below_guarantee: i64,
}

impl Leading {
    /// Records how many tenants of the pool wait for units that are guaranteed to them.
    pub(super) fn below_guarantee(&mut self, tenants: usize) {
        let tenants = i64::try_from(tenants).unwrap_or(i64::MAX);
        self.metrics.0.below_guarantee.inc_by(tenants - self.below_guarantee);
        self.below_guarantee = tenants;
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.metrics.0.led.dec();
        self.metrics.0.below_guarantee.dec_by(self.below_guarantee);
    }
}

impl DispatchMetrics {
    /// Registers them.
    pub fn register(metrics: &Metrics) -> Self {
        let inner = Inner {
            pools: Gauge::default(),
            led: Gauge::default(),
            below_guarantee: Gauge::default(),
            waits: Family::new_with_constructor(|| Histogram::new(WAITS)),
            lost: Counter::default(),
            cordoned: Counter::default(),
            moved: Counter::default(),
            unpriced: Counter::default(),
        };
        metrics.register(|registry| {
            registry.register("jobs_pools", "Pools of workers", &[], inner.pools.clone());
            registry.register("jobs_pools_led", "Pools that this replica schedules", &[], inner.led.clone());
            registry.register(
                "jobs_tenants_below_guarantee",
                "Tenants whose jobs wait for workers that are guaranteed to them, in the pools that this replica schedules",
                &[],
                inner.below_guarantee.clone(),
            );
            registry.register(
                "jobs_wait_seconds",
                "Time from the submission of a job to its first assignment",
                &["level"],
                inner.waits.clone(),
            );
            registry.register(
                "jobs_workers_lost",
                "Workers that did not respond for too long, or did not stop a job",
                &[],
                inner.lost.clone(),
            );
            registry.register(
                "jobs_nodes_cordoned",
                "How often a node was excluded from jobs because it repeatedly lost workers",
                &[],
                inner.cordoned.clone(),
            );
            registry.register(
                "jobs_moved",
                "Jobs that were moved to another pool, where they would start earlier",
                &[],
                inner.moved.clone(),
            );
            registry.register(
                "jobs_unpriced_attempts",
                "Attempts that cost nothing because the price of their GPU specification was not known",
                &[],
                inner.unpriced.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    pub(super) fn pools(&self, count: usize) {
        self.0.pools.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(super) fn leading(&self) -> Leading {
        self.0.led.inc();
        Leading { metrics: self.clone(), below_guarantee: 0 }
    }

    pub(super) fn waited(&self, level: Level, seconds: f64) {
        self.0.waits.get_or_create(&LevelLabels { level: level.as_str() }).observe(seconds);
    }

    /// Counts attempts that were assigned without a price.
    pub(super) fn unpriced(&self, attempts: u32) {
        self.0.unpriced.inc_by(attempts.into());
    }

    pub(super) fn worker_lost(&self) {
        self.0.lost.inc();
    }

    /// Counts jobs that were moved to other pools.
    pub(super) fn moved(&self, jobs: u64) {
        self.0.moved.inc_by(jobs);
    }

    pub(super) fn node_cordoned(&self) {
        self.0.cordoned.inc();
    }
}
