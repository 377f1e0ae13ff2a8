//! The service's own metrics.

use std::sync::{Arc, atomic::AtomicU64};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
};
use service::Metrics;

use crate::job::{JobState, Level};

/// Seconds.
const WAITS: [f64; 14] =
    [0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0];

/// Seconds.
const INTAKES: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

/// Outcomes of attempts of webhooks.
const WEBHOOK_OUTCOMES: [&str; 5] =
    ["delivered", "refused", "timed_out", "no_connection", "address_not_allowed"];

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
    below_guarantee: Gauge,
    waits: Family<LevelLabels, Histogram>,
    attempts: Family<OutcomeLabels, Counter>,
    lost: Counter,
    cordoned: Counter,
    moved: Counter,
    unpriced: Counter,
    broker_connected: Gauge,
    messages: Family<OutcomeLabels, Counter>,
    intake: Histogram,
    published: Counter,
    outbox_age: Gauge<f64, AtomicU64>,
    webhook_attempts: Family<OutcomeLabels, Counter>,
}

/// A pool that this replica leads, until it is dropped.
pub(crate) struct Leading {
    metrics: JobMetrics,
    below_guarantee: i64,
}

impl Leading {
    /// So many tenants of the pool wait for what is guaranteed to them.
    pub(crate) fn below_guarantee(&mut self, tenants: usize) {
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

impl JobMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let inner = Inner {
            pools: Gauge::default(),
            led: Gauge::default(),
            below_guarantee: Gauge::default(),
            waits: Family::new_with_constructor(|| Histogram::new(WAITS)),
            attempts: Family::default(),
            lost: Counter::default(),
            cordoned: Counter::default(),
            moved: Counter::default(),
            unpriced: Counter::default(),
            broker_connected: Gauge::default(),
            messages: Family::default(),
            intake: Histogram::new(INTAKES),
            published: Counter::default(),
            outbox_age: Gauge::default(),
            webhook_attempts: Family::default(),
        };
        for state in [JobState::Succeeded, JobState::Failed, JobState::Queued, JobState::Cancelled] {
            // a counter that is not there before its first event hides that event from `increase`
            inner.attempts.get_or_create(&OutcomeLabels { outcome: state.as_str() }).inc_by(0);
        }
        for outcome in WEBHOOK_OUTCOMES {
            inner.webhook_attempts.get_or_create(&OutcomeLabels { outcome }).inc_by(0);
        }
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
            registry.register(
                "jobs_nodes_cordoned",
                "Times that a node got no more jobs because workers were lost there again and again",
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
            registry.register(
                "jobs_mq_connected",
                "1 while this replica has a connection to the message broker",
                &[],
                inner.broker_connected.clone(),
            );
            registry.register(
                "jobs_mq_messages",
                "Messages that were taken in, by outcome: accepted, duplicate, or why they were refused",
                &["outcome"],
                inner.messages.clone(),
            );
            registry.register(
                "jobs_mq_intake_seconds",
                "Time from the receipt of a batch of messages to its acknowledgement",
                &[],
                inner.intake.clone(),
            );
            registry.register(
                "jobs_mq_published",
                "Events that the message broker has confirmed",
                &[],
                inner.published.clone(),
            );
            registry.register(
                "jobs_mq_outbox_age_seconds",
                "Age of the oldest event that the message broker has not confirmed",
                &[],
                inner.outbox_age.clone(),
            );
            registry.register(
                "jobs_webhook_attempts",
                "Attempts to send a message to a webhook, by outcome: delivered, refused, timed_out, no_connection, address_not_allowed",
                &["outcome"],
                inner.webhook_attempts.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    pub(crate) fn pools(&self, count: usize) {
        self.0.pools.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    pub(crate) fn leading(&self) -> Leading {
        self.0.led.inc();
        Leading { metrics: self.clone(), below_guarantee: 0 }
    }

    pub(crate) fn waited(&self, level: Level, seconds: f64) {
        self.0.waits.get_or_create(&LevelLabels { level: level.as_str() }).observe(seconds);
    }

    /// A worker has ended an attempt, and this is the state of its job then.
    pub(crate) fn attempt_ended(&self, state: JobState) {
        self.0.attempts.get_or_create(&OutcomeLabels { outcome: state.as_str() }).inc();
    }

    pub(crate) fn broker_connected(&self, is_connected: bool) {
        self.0.broker_connected.set(is_connected.into());
    }

    /// A message was taken in, with this outcome.
    pub(crate) fn message_taken(&self, outcome: &'static str) {
        self.0.messages.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    pub(crate) fn intake_took(&self, seconds: f64) {
        self.0.intake.observe(seconds);
    }

    pub(crate) fn events_published(&self, count: usize) {
        self.0.published.inc_by(count.try_into().unwrap_or(u64::MAX));
    }

    pub(crate) fn outbox_age(&self, seconds: f64) {
        self.0.outbox_age.set(seconds);
    }

    pub(crate) fn webhook_attempted(&self, outcome: &'static str) {
        self.0.webhook_attempts.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    /// Attempts were assigned without a price.
    pub(crate) fn unpriced(&self, attempts: u32) {
        self.0.unpriced.inc_by(attempts.into());
    }

    pub(crate) fn worker_lost(&self) {
        self.0.lost.inc();
    }

    /// So many jobs were moved to other pools.
    pub(crate) fn moved(&self, jobs: u64) {
        self.0.moved.inc_by(jobs);
    }

    pub(crate) fn node_cordoned(&self) {
        self.0.cordoned.inc();
    }
}
