//! Metrics of budgets.

use gpu_core::event::Entry;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EventLabel {
    event: &'static str,
}

/// Clones share the counters.
#[derive(Clone, Default)]
pub struct BudgetMetrics {
    events: Family<EventLabel, Counter>,
    stopped: Counter,
}

impl BudgetMetrics {
    /// Adds the metrics to those of the process.
    pub fn register(&self, metrics: &service::Metrics) {
        metrics.register(|registry| {
            registry.register("budget_events", "Events of budgets by type", &["event"], self.events.clone());
            registry.register(
                "budget_stopped_instances",
                "Instances stopped, and holds ended, because a budget was exhausted",
                &[],
                self.stopped.clone(),
            );
        });
    }

    pub(super) fn logged(&self, log: &[Entry]) {
        for entry in log {
            self.events.get_or_create(&EventLabel { event: entry.detail.event_type().as_str() }).inc();
        }
    }

    pub(super) fn stopped(&self, count: usize) {
        self.stopped.inc_by(count as u64);
    }
}
