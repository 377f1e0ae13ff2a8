//! The service's own metrics.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
};
use service::Metrics;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

/// Claims and repairs. Clones share the counters.
#[derive(Clone)]
pub(crate) struct StockMetrics(Arc<Inner>);

struct Inner {
    claimed: Counter,
    existing: Counter,
    exhausted: Counter,
    queued: Counter,
    batch: Histogram,
    repairs: Family<KindLabels, Counter>,
}

impl StockMetrics {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let claims = Family::<OutcomeLabels, Counter>::default();
        let of = |outcome| claims.get_or_create(&OutcomeLabels { outcome }).clone();
        let inner = Inner {
            claimed: of("claimed"),
            existing: of("existing"),
            exhausted: of("exhausted"),
            queued: of("queued"),
            batch: Histogram::new([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]),
            repairs: Family::default(),
        };
        metrics.register(|registry| {
            registry.register("stock_claims", "Claims by outcome", claims);
            registry.register("stock_claim_batch_size", "Claims that shared one commit", inner.batch.clone());
            registry.register("stock_repairs", "Repairs of drift by kind", inner.repairs.clone());
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

    pub(crate) fn queued(&self) {
        self.0.queued.inc();
    }

    pub(crate) fn repaired(&self, kind: &'static str) {
        self.0.repairs.get_or_create(&KindLabels { kind }).inc();
    }
}
