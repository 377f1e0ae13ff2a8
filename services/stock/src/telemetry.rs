//! The service's own metrics, beside those every service has.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
};
use service::Metrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// Counters of the service. Clones share them.
#[derive(Clone)]
pub(crate) struct Counters(Arc<Inner>);

struct Inner {
    claimed: Counter,
    existing: Counter,
    exhausted: Counter,
    batch: Histogram,
    repairs: Family<Kind, Counter>,
}

impl Counters {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let claims = Family::<Outcome, Counter>::default();
        let of = |outcome| claims.get_or_create(&Outcome { outcome }).clone();
        let inner = Inner {
            claimed: of("claimed"),
            existing: of("existing"),
            exhausted: of("exhausted"),
            batch: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
            repairs: Family::default(),
        };
        metrics.register(|registry| {
            registry.register("stock_claims", "Claims by outcome", claims);
            registry.register("stock_claim_batch_size", "Claims that shared one commit", inner.batch.clone());
            registry.register(
                "stock_repairs",
                "Differences between clusters and records that were put right",
                inner.repairs.clone(),
            );
        });
        Self(Arc::new(inner))
    }

    pub(crate) fn batch(&self, size: usize) {
        self.0.batch.observe(f64::from(u32::try_from(size).unwrap_or(u32::MAX)));
    }

    pub(crate) fn claimed(&self) {
        self.0.claimed.inc();
    }

    pub(crate) fn existing(&self) {
        self.0.existing.inc();
    }

    pub(crate) fn exhausted(&self) {
        self.0.exhausted.inc();
    }

    pub(crate) fn repaired(&self, kind: &'static str) {
        self.0.repairs.get_or_create(&Kind { kind }).inc();
    }
}
