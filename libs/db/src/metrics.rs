//! Metrics of the connection pools, named as in OpenTelemetry's conventions.

use std::sync::Arc;

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric},
    metrics::{
        MetricType,
        counter::Counter,
        family::Family,
        gauge::{ConstGauge, Gauge},
        histogram::Histogram,
    },
};
use service::{Metrics, metrics::Registrar};
use sqlx::PgPool;
use tokio::time::Instant;

use crate::queue;

const CONNECTIONS: (&str, &str) =
    ("db_client_connection_count", "Connections to Postgres, by pool and state (idle, used)");
const LIMIT: (&str, &str) =
    ("db_client_connection_max", "Maximum number of connections to Postgres, by pool");
/// Upper bounds of the buckets of waits, in seconds.
const BUCKETS: [f64; 10] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0];

/// One of a service's pools.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Pool {
    App,
    Worker,
}

impl Pool {
    fn as_str(self) -> &'static str {
        match self {
            Self::App => "app",
            Self::Worker => "worker",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PoolLabels {
    pool: &'static str,
}

/// Waits for connections. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct PoolMetrics(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    waiting: Family<PoolLabels, Gauge>,
    waited: Family<PoolLabels, Histogram>,
    timeouts: Family<PoolLabels, Counter>,
    answers: Gauge,
    of: [Waits; 2],
}

/// Waits for connections of one pool.
#[derive(Debug)]
struct Waits {
    waiting: Gauge,
    waited: Histogram,
    timeouts: Counter,
}

impl Default for PoolMetrics {
    fn default() -> Self {
        let waiting = Family::<PoolLabels, Gauge>::default();
        let waited = Family::<PoolLabels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let timeouts = Family::<PoolLabels, Counter>::default();
        let of = [Pool::App, Pool::Worker].map(|pool| {
            let labels = PoolLabels { pool: pool.as_str() };
            Waits {
                waiting: waiting.get_or_create_owned(&labels),
                waited: waited.get_or_create_owned(&labels),
                timeouts: timeouts.get_or_create_owned(&labels),
            }
        });
        Self(Arc::new(Inner { waiting, waited, timeouts, answers: Gauge::default(), of }))
    }
}

impl PoolMetrics {
    pub(crate) fn register(&self, registry: &mut Registrar<'_>, pools: &[(Pool, &PgPool)]) {
        let Inner { waiting, waited, timeouts, answers, .. } = &*self.0;
        let sizes = Sizes(pools.iter().map(|(pool, connections)| (*pool, (*connections).clone())).collect());
        registry.register_gauges(&[CONNECTIONS], &["pool", "state"], Used(sizes.clone()));
        registry.register_gauges(&[LIMIT], &["pool"], Limits(sizes));
        registry.register(
            "db_client_connection_pending_requests",
            "Transactions that wait for a connection, by pool",
            &["pool"],
            waiting.clone(),
        );
        registry.register(
            "db_client_connection_wait_time_seconds",
            "Time until a transaction has begun, by pool",
            &["pool"],
            waited.clone(),
        );
        registry.register(
            "db_client_connection_timeouts",
            "Transactions that got no connection in time, by pool",
            &["pool"],
            timeouts.clone(),
        );
        registry.register(
            "db_client_answers",
            "1 if Postgres answered the last readiness check, else 0",
            &[],
            answers.clone(),
        );
    }

    /// Whether Postgres answered a readiness check.
    pub(crate) fn answered(&self, answers: bool) {
        self.0.answers.set(answers.into());
    }

    /// Waits for a transaction of this pool.
    pub(crate) async fn wait<T>(
        &self,
        pool: Pool,
        begin: impl Future<Output = sqlx::Result<T>>,
    ) -> sqlx::Result<T> {
        let waits = &self.0.of[pool as usize];
        waits.waiting.inc();
        let asked = Instant::now();
        let begun = begin.await;
        waits.waiting.dec();
        waits.waited.observe(asked.elapsed().as_secs_f64());
        if let Err(sqlx::Error::PoolTimedOut) = &begun {
            waits.timeouts.inc();
        }
        begun
    }
}

/// The pools, whose sizes are read at each scrape.
#[derive(Debug, Clone)]
struct Sizes(Vec<(Pool, PgPool)>);

#[derive(Debug)]
struct Used(Sizes);

#[derive(Debug)]
struct Limits(Sizes);

impl Collector for Used {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (name, help) = CONNECTIONS;
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (pool, connections) in &self.0.0 {
            let idle = i64::try_from(connections.num_idle()).unwrap_or(i64::MAX);
            let used = i64::from(connections.size()) - idle;
            for (state, count) in [("idle", idle), ("used", used.max(0))] {
                let labels = [("pool", pool.as_str()), ("state", state)];
                ConstGauge::new(count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl Collector for Limits {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (name, help) = LIMIT;
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for (pool, connections) in &self.0.0 {
            let most = i64::from(connections.options().get_max_connections());
            let labels = [("pool", pool.as_str())];
            ConstGauge::new(most).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Registers the metrics of a service with pools and queues, without any: for their description.
pub fn describe(metrics: &Metrics) {
    metrics.register(|registry| PoolMetrics::default().register(registry, &[]));
    metrics.shared(queue::QueueMetrics::register);
}
