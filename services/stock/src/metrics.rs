//! The service's own metrics.

use std::sync::Arc;

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
};
use service::Metrics;

use crate::repair::RepairKind;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UnitLabels {
    gpu_spec: String,
    datacenter: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClusterLabels {
    cluster: String,
}

/// The units of a specification in a datacenter, by state.
pub(crate) struct UnitCounts<'a> {
    pub(crate) gpu_spec: &'a str,
    pub(crate) datacenter: &'a str,
    pub(crate) available: i64,
    pub(crate) inactive: i64,
    pub(crate) used: i64,
}

/// Claims, repairs, units and clusters. Clones share them.
#[derive(Clone)]
pub(crate) struct StockMetrics(Arc<Inner>);

struct Inner {
    claimed: Counter,
    existing: Counter,
    exhausted: Counter,
    queued: Counter,
    batch: Histogram,
    repairs: Family<KindLabels, Counter>,
    units: Family<UnitLabels, Gauge>,
    clusters: Family<ClusterLabels, Gauge>,
    unserved: Gauge,
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
            units: Family::default(),
            clusters: Family::default(),
            unserved: Gauge::default(),
        };
        for kind in RepairKind::ALL {
            // `increase` misses the first event of a counter that did not exist before
            inner.repairs.get_or_create(&KindLabels { kind: kind.as_str() }).inc_by(0);
        }
        metrics.register(|registry| {
            registry.register(
                "stock_claims",
                "Claims by outcome: claimed, existing, exhausted, queued",
                &["outcome"],
                claims,
            );
            registry.register(
                "stock_claim_batch_size",
                "Claims that shared one commit",
                &[],
                inner.batch.clone(),
            );
            registry.register(
                "stock_repairs",
                "Repairs of drift between Postgres and the clusters, by kind",
                &["kind"],
                inner.repairs.clone(),
            );
            registry.register(
                "stock_units",
                "Units by specification, datacenter and state: available, inactive, used",
                &["gpu_spec", "datacenter", "state"],
                inner.units.clone(),
            );
            registry.register(
                "stock_cluster_answers",
                "1 if the cluster answered the last request of this replica, else 0",
                &["cluster"],
                inner.clusters.clone(),
            );
            registry.register(
                "stock_unserved_queues",
                "Specifications with a free unit for which an instance waits",
                &[],
                inner.unserved.clone(),
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

    pub(crate) fn queued(&self) {
        self.0.queued.inc();
    }

    pub(crate) fn repaired(&self, kind: &'static str) {
        self.0.repairs.get_or_create(&KindLabels { kind }).inc();
    }

    /// Replaces the counts of units.
    pub(crate) fn counted<'a>(&self, stock: impl Iterator<Item = UnitCounts<'a>>) {
        // specifications that are missing in the list have no units any more
        self.0.units.clear();
        for row in stock {
            for (state, count) in
                [("available", row.available), ("inactive", row.inactive), ("used", row.used)]
            {
                let labels = UnitLabels {
                    gpu_spec: row.gpu_spec.to_owned(),
                    datacenter: row.datacenter.to_owned(),
                    state,
                };
                self.0.units.get_or_create(&labels).set(count);
            }
        }
    }

    pub(crate) fn cluster_answers(&self, cluster: &str, answers: bool) {
        let labels = ClusterLabels { cluster: cluster.to_owned() };
        self.0.clusters.get_or_create(&labels).set(answers.into());
    }

    pub(crate) fn unserved(&self, specs: usize) {
        self.0.unserved.set(i64::try_from(specs).unwrap_or(i64::MAX));
    }
}
