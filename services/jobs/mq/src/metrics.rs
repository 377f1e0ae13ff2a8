//! The metrics of the message queue.

use std::sync::{Arc, atomic::AtomicU64};

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
};
use service::Metrics;

/// Seconds.
const INTAKES: [f64; 10] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// The connection, messages and events. Clones share them.
#[derive(Debug, Clone)]
pub struct MqMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    broker_connected: Gauge,
    messages: Family<OutcomeLabels, Counter>,
    intake: Histogram,
    published: Counter,
    outbox_age: Gauge<f64, AtomicU64>,
}

impl MqMetrics {
    /// Registers them.
    pub fn register(metrics: &Metrics) -> Self {
        let inner = Inner {
            broker_connected: Gauge::default(),
            messages: Family::default(),
            intake: Histogram::new(INTAKES),
            published: Counter::default(),
            outbox_age: Gauge::default(),
        };
        metrics.register(|registry| {
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
        });
        Self(Arc::new(inner))
    }

    pub(super) fn broker_connected(&self, is_connected: bool) {
        self.0.broker_connected.set(is_connected.into());
    }

    /// Counts a message that was taken in, by outcome.
    pub(super) fn message_taken(&self, outcome: &'static str) {
        self.0.messages.get_or_create(&OutcomeLabels { outcome }).inc();
    }

    pub(super) fn intake_took(&self, seconds: f64) {
        self.0.intake.observe(seconds);
    }

    pub(super) fn events_published(&self, count: usize) {
        self.0.published.inc_by(count.try_into().unwrap_or(u64::MAX));
    }

    pub(super) fn outbox_age(&self, seconds: f64) {
        self.0.outbox_age.set(seconds);
    }
}
