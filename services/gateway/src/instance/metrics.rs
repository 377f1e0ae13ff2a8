//! Metrics of requests to instances, by outcome.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::Metrics;

/// The outcome of a request to an instance.
#[derive(Debug, Clone, Copy)]
pub(super) enum Outcome {
    /// The instance answered, with any status.
    Answered,
    /// No unit runs it now.
    NotRunning,
    /// It runs, and did not accept the connection.
    NotResponding,
    /// It stopped or moved, or ended the connection before it answered.
    Interrupted,
    /// Its address or the rights of the session could not be looked up.
    Unresolved,
}

impl Outcome {
    const ALL: [Self; 5] =
        [Self::Answered, Self::NotRunning, Self::NotResponding, Self::Interrupted, Self::Unresolved];

    fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::NotRunning => "not_running",
            Self::NotResponding => "not_responding",
            Self::Interrupted => "interrupted",
            Self::Unresolved => "unresolved",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    outcome: &'static str,
}

/// The count of requests to instances. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct InstanceMetrics {
    requests: [Counter; 5],
}

impl InstanceMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let requests = Family::<Labels, Counter>::default();
        metrics.register(|registry| {
            registry.register(
                "gateway_instance_requests",
                "Authorized requests to instances, by outcome: answered, not_running, not_responding, interrupted, unresolved",
                &["outcome"],
                requests.clone(),
            );
        });
        let of = |outcome: Outcome| requests.get_or_create_owned(&Labels { outcome: outcome.as_str() });
        Self { requests: Outcome::ALL.map(of) }
    }

    pub(super) fn count(&self, outcome: Outcome) {
        self.requests[outcome as usize].inc();
    }
}
