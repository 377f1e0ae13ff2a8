//! A service's metrics, in Prometheus' text format at `/metrics`.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::http::Method;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{family::Family, histogram::Histogram},
    registry::Registry,
};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: String,
    route: String,
    status: u16,
}

/// The metrics registry of one process, with the request metrics of its HTTP front. Clones share it.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Mutex<Registry>>,
    requests: Family<RequestLabels, Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        let requests = Family::<RequestLabels, Histogram>::new_with_constructor(|| {
            Histogram::new([0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0])
        });
        let mut registry = Registry::default();
        registry.register(
            "http_server_request_duration_seconds",
            "Duration of HTTP server requests",
            requests.clone(),
        );
        Self { registry: Arc::new(Mutex::new(registry)), requests }
    }
}

impl Metrics {
    /// Registers further metrics of the service.
    pub fn register(&self, f: impl FnOnce(&mut Registry)) {
        f(&mut self.registry.lock().unwrap_or_else(PoisonError::into_inner));
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

    /// All metrics in OpenMetrics text format.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // writing to a String cannot fail
        let _ = encode(&mut text, &registry);
        text
    }
}
