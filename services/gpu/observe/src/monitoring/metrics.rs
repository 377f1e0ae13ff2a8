//! Metrics of the monitoring of instances.

use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue},
    metrics::{counter::Counter, family::Family},
};

/// The outcome of a query to Prometheus, or of a reading of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub(super) enum Outcome {
    Succeeded,
    Unreachable,
    TimedOut,
    Unexpected,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabel {
    outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReadingLabels {
    cluster: String,
    outcome: Outcome,
}

/// What the sources of metrics measure of themselves. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct MonitoringMetrics {
    queries: Family<OutcomeLabel, Counter>,
    readings: Family<ReadingLabels, Counter>,
    pub(super) samples: Counter,
}

impl MonitoringMetrics {
    /// Adds the metrics to those of the process.
    pub fn register(&self, metrics: &service::Metrics) {
        metrics.register(|registry| {
            registry.register(
                "monitoring_prometheus_queries",
                "Queries to Prometheus for metrics of instances, by outcome",
                &["outcome"],
                self.queries.clone(),
            );
            registry.register(
                "monitoring_node_readings",
                "Readings of what nodes report of their pods, by outcome",
                &["cluster", "outcome"],
                self.readings.clone(),
            );
            registry.register("monitoring_samples", "Samples of instances stored", &[], self.samples.clone());
        });
    }

    pub(super) fn query(&self, outcome: Outcome) {
        self.queries.get_or_create(&OutcomeLabel { outcome }).inc();
    }

    pub(super) fn reading(&self, cluster: &str, outcome: Outcome) {
        self.readings.get_or_create(&ReadingLabels { cluster: cluster.to_owned(), outcome }).inc();
    }
}
