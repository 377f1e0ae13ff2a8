//! The metrics of attempts.

use std::sync::Arc;

use jobs_core::status::JobState;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::Metrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

/// Ends of attempts. Clones share them.
#[derive(Debug, Clone)]
pub struct AttemptMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    attempts: Family<OutcomeLabels, Counter>,
}

impl AttemptMetrics {
    /// Registers them.
    pub fn register(metrics: &Metrics) -> Self {
        let inner = Inner { attempts: Family::default() };
        for state in [JobState::Succeeded, JobState::Failed, JobState::Queued, JobState::Cancelled] {
            // `increase` misses the first event of a counter that did not exist before
            inner.attempts.get_or_create(&OutcomeLabels { outcome: state.as_str() }).inc_by(0);
        }
        metrics.register(|registry| {
            registry.register(
                "jobs_attempts",
                "Attempts that their workers have ended, by outcome for the job: succeeded, failed, queued, cancelled",
                &["outcome"],
                inner.attempts.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    /// Counts the end of an attempt by a worker, by the state of its job.
    pub(super) fn ended(&self, state: JobState) {
        self.0.attempts.get_or_create(&OutcomeLabels { outcome: state.as_str() }).inc();
    }
}
