//! The metrics of webhooks.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::Metrics;

/// Outcomes of attempts of webhooks.
const OUTCOMES: [&str; 5] = ["delivered", "refused", "timed_out", "no_connection", "address_not_allowed"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// Attempts to send. Clones share them.
#[derive(Debug, Clone)]
pub struct WebhookMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    attempts: Family<OutcomeLabels, Counter>,
}

impl WebhookMetrics {
    /// Registers them.
    pub fn register(metrics: &Metrics) -> Self {
        let inner = Inner { attempts: Family::default() };
        for outcome in OUTCOMES {
            // `increase` misses the first event of a counter that did not exist before
            inner.attempts.get_or_create(&OutcomeLabels { outcome }).inc_by(0);
        }
        metrics.register(|registry| {
            registry.register(
                "jobs_webhook_attempts",
                "Attempts to send a message to a webhook, by outcome: delivered, refused, timed_out, no_connection, address_not_allowed",
                &["outcome"],
                inner.attempts.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    pub(super) fn attempted(&self, outcome: &'static str) {
        self.0.attempts.get_or_create(&OutcomeLabels { outcome }).inc();
    }
}
