//! A service's metrics, in Prometheus' text format at `/metrics`, and their description for `docs/METRICS.md`.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicU64},
    time::Duration,
};

use axum::http::Method;
use prometheus_client::{
    collector::Collector,
    encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, text::encode},
    metrics::{MetricType, counter::ConstCounter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Metric, Registry},
};
use serde::Serialize;

use crate::clock::now_in_seconds;

/// Upper bounds of the buckets of request durations, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

/// Rows that lists have left out, which libs/api counts.
#[derive(Debug)]
struct UnreadableRows;

impl EncodeMetric for UnreadableRows {
    fn encode(&self, encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        ConstCounter::new(api::page::unreadable_rows()).encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Counter
    }
}

/// A metric as `docs/METRICS.md` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Name of its samples; of a histogram, without `_bucket`, `_count` and `_sum`.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// Names of its labels.
    pub labels: &'static [&'static str],
    /// What it measures.
    pub help: &'static str,
}

impl Description {
    fn new(
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        metric_type: MetricType,
    ) -> Self {
        let (kind, suffix) = match metric_type {
            MetricType::Counter => ("counter", "_total"),
            MetricType::Gauge => ("gauge", ""),
            MetricType::Histogram => ("histogram", ""),
            MetricType::Info => ("info", "_info"),
            MetricType::Unknown => ("unknown", ""),
        };
        Self { name: format!("{name}{suffix}"), kind, labels, help }
    }
}

/// Where a part of a process registers its metrics.
pub struct Registrar<'r> {
    registry: &'r mut Registry,
    described: &'r mut Vec<Description>,
}

impl Registrar<'_> {
    /// Registers a metric with these labels. No label may have the id or name of a tenant, user, instance,
    /// unit or storage: the number of series must not grow with users' data.
    pub fn register(
        &mut self,
        name: &'static str,
        help: &'static str,
        labels: &'static [&'static str],
        metric: impl Metric,
    ) {
        self.described.push(Description::new(name, help, labels, metric.metric_type()));
        self.registry.register(name, help, metric);
    }

    /// Registers gauges that are read when they are scraped, by name and help.
    pub fn register_gauges(
        &mut self,
        gauges: &[(&'static str, &'static str)],
        labels: &'static [&'static str],
        collector: impl Collector,
    ) {
        for (name, help) in gauges {
            self.described.push(Description::new(name, help, labels, MetricType::Gauge));
        }
        self.registry.register_collector(Box::new(collector));
    }
}

/// The metrics registry of one process, with the request metrics of its HTTP front. Clones share it.
#[derive(Debug, Clone)]
pub struct Metrics {
    inner: Arc<Mutex<Inner>>,
    requests: Family<RequestLabels, Histogram>,
    ready: Gauge,
    clock: Gauge<f64, AtomicU64>,
}

#[derive(Debug, Default)]
struct Inner {
    registry: Registry,
    described: Vec<Description>,
    shared: HashMap<TypeId, Box<dyn Any + Send>>,
}

impl Inner {
    fn register<T>(&mut self, f: impl FnOnce(&mut Registrar<'_>) -> T) -> T {
        f(&mut Registrar { registry: &mut self.registry, described: &mut self.described })
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::<RequestLabels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let ready = Gauge::default();
        let clock = Gauge::<f64, AtomicU64>::default();
        let mut inner = Inner::default();
        inner.register(|registry| {
            registry.register(
                "http_server_request_duration_seconds",
                "Duration of HTTP server requests",
                &["method", "route", "status"],
                requests.clone(),
            );
            registry.register(
                "list_unreadable_rows",
                "Rows that lists left out because they cannot be decoded",
                &[],
                UnreadableRows,
            );
            registry.register(
                "service_ready",
                "1 if the readiness check passes, which runs when the metrics are scraped",
                &[],
                ready.clone(),
            );
            registry.register(
                "service_clock_seconds",
                "Time by the clock of the process when the metrics are scraped, in seconds since 1970",
                &[],
                clock.clone(),
            );
        });
        Self { inner: Arc::new(Mutex::new(inner)), requests, ready, clock }
    }
}

impl Metrics {
    /// Registers further metrics of the service.
    pub fn register(&self, f: impl FnOnce(&mut Registrar<'_>)) {
        self.lock().register(f);
    }

    /// Returns the process's metrics of type `T`, which the first call registers: for parts of which a process has
    /// several, such as queues.
    pub fn shared<T: Clone + Send + 'static>(&self, register: impl FnOnce(&mut Registrar<'_>) -> T) -> T {
        let mut inner = self.lock();
        let known = inner.shared.get(&TypeId::of::<T>()).and_then(|known| known.downcast_ref::<T>());
        if let Some(known) = known {
            return known.clone();
        }
        let new = inner.register(register);
        inner.shared.insert(TypeId::of::<T>(), Box::new(new.clone()));
        new
    }

    pub(crate) fn observe(&self, method: &Method, route: &str, status: u16, took: Duration) {
        // clients can invent methods, and each label value is kept
        let method = match *method {
            Method::GET
            | Method::HEAD
            | Method::POST
            | Method::PUT
            | Method::PATCH
            | Method::DELETE
            | Method::OPTIONS
            | Method::CONNECT
            | Method::TRACE => method.as_str(),
            _ => "_OTHER",
        };
        let labels = RequestLabels { method: method.to_owned(), route: route.to_owned(), status };
        self.requests.get_or_create(&labels).observe(took.as_secs_f64());
    }

    pub(crate) fn set_ready(&self, ready: bool) {
        self.ready.set(ready.into());
        self.clock.set(now_in_seconds());
    }

    /// All metrics in OpenMetrics text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        // writing to a String cannot fail
        let _ = encode(&mut text, &self.lock().registry);
        text
    }

    /// Returns the description of all registered metrics, in the order of their registration.
    #[must_use]
    pub fn descriptions(&self) -> Vec<Description> {
        self.lock().described.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[derive(Clone, Default)]
    struct Own(Counter);

    #[test]
    fn a_metric_is_described_by_the_name_of_its_samples() {
        let metrics = Metrics::default();
        let things: Counter = Counter::default();
        metrics.register(|registry| registry.register("things", "Things made", &["kind"], things));
        let things = metrics.descriptions().pop().unwrap();
        let expected = Description {
            name: "things_total".to_owned(),
            kind: "counter",
            labels: &["kind"],
            help: "Things made",
        };
        assert_eq!(things, expected);
        assert!(metrics.text().contains("\nthings_total 0\n"), "{}", metrics.text());
    }

    #[test]
    fn shared_metrics_are_registered_once() {
        let metrics = Metrics::default();
        let own = || {
            metrics.shared(|registry| {
                let own = Own::default();
                registry.register("own", "Own", &[], own.0.clone());
                own
            })
        };
        own().0.inc();
        own().0.inc();
        assert_eq!(metrics.text().matches("# TYPE own ").count(), 1);
        assert!(metrics.text().contains("\nown_total 2\n"), "{}", metrics.text());
    }
}
