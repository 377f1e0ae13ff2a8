//! The service's own metrics.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
};
use service::Metrics;

use crate::job::{JobState, Level};

/// Seconds.
const WAITS: [f64; 14] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LevelLabels {
    level: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// Pools, waits, attempts and workers. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct JobMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pools: Gauge,
    led: Gauge,
    waits: Family<LevelLabels, Histogram>,
    attempts: Family<OutcomeLabels, Counter>,
    lost: Counter,
}

/// A pool that this replica leads, until it is dropped.
pub(crate) struct Leading(JobMetrics);

impl Drop for Leading {
    fn drop(&mut self) {
        self.0.0.led.dec();
    }
}

impl JobMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let inner = Inner {
            pools: Gauge::default(),
            led: Gauge::default(),
            waits: Family::new_with_constructor(|| Histogram::new(WAITS)),
            attempts: Family::default(),
            lost: Counter::default(),
        };
        for state in [JobState::Succeeded, JobState::Failed, JobState::Queued, JobState::Cancelled] {
            // a counter that is not there before its first event hides that event from `increase`
            inner.attempts.get_or_create(&OutcomeLabels { outcome: state.as_str() }).inc_by(0);
        }
        metrics.register(|registry| {
            registry.register("jobs_pools", "Pools of workers", &[], inner.pools.clone());
            registry.register("jobs_pools_led", "Pools that this replica schedules", &[], inner.led.clone());
            registry.register(
                "jobs_wait_seconds",
                "Time from the submission of a job to its first assignment",
                &["level"],
                inner.waits.clone(),
            );
            registry.register(
                "jobs_attempts",
                "Attempts that their workers have ended, by outcome for the job: succeeded, failed, queued, cancelled",
                &["outcome"],
                inner.attempts.clone(),
            );
            registry.register(
                "jobs_workers_lost",
                "Workers that were silent for too long, or did not leave a job",
                &[],
                inner.lost.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    pub(crate) fn pools(&self, count: usize) {
        self.0.pools.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn leading(&self) -> Leading {
        self.0.led.inc();
        Leading(self.clone())
    }

    pub(crate) fn waited(&self, level: Level, seconds: f64) {
        self.0.waits.get_or_create(&LevelLabels { level: level.as_str() }).observe(seconds);
    }

    /// A worker has ended an attempt, and this is the state of its job then.
    pub(crate) fn attempt_ended(&self, state: JobState) {
        self.0.attempts.get_or_create(&OutcomeLabels { outcome: state.as_str() }).inc();
    }

    pub(crate) fn worker_lost(&self) {
        self.0.lost.inc();
    }
}
