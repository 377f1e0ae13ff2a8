//! Outcomes of the requests to each operation of the API. Availability is computed from them.

use std::collections::HashMap;

use axum::http::{Method, StatusCode};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
};
use service::Metrics;

use crate::{NAME, own, route_names::OPERATIONS};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    upstream: &'static str,
    method: &'static str,
    route: &'static str,
    outcome: &'static str,
}

/// Counts of one operation.
#[derive(Debug)]
struct Counts {
    answered: Counter,
    failed: Counter,
}

/// The counts of all operations. Each exists from the start: Prometheus does not see the first increment of a new series, and
/// failures are rare.
#[derive(Debug)]
pub(crate) struct Answers(HashMap<(&'static str, &'static str), Counts>);

impl Answers {
    pub(crate) fn register(metrics: &Metrics) -> Self {
        let requests = Family::<Labels, Counter>::default();
        metrics.register(|registry| {
            registry.register(
                "gateway_api_requests",
                "Requests to operations of the API, by outcome: answered, failed (with 5xx)",
                &["upstream", "method", "route", "outcome"],
                requests.clone(),
            );
        });
        let own = own::PATHS.map(|path| (NAME, "GET", path));
        let counts = OPERATIONS.iter().copied().chain(own).map(|(upstream, method, route)| {
            let count = |outcome| requests.get_or_create_owned(&Labels { upstream, method, route, outcome });
            ((method, route), Counts { answered: count("answered"), failed: count("failed") })
        });
        Self(counts.collect())
    }

    /// Counts an answer, unless the API has no such operation.
    pub(crate) fn count(&self, method: &Method, route: &'static str, status: StatusCode) {
        if let Some(counts) = self.0.get(&(method.as_str(), route)) {
            let count = if status.is_server_error() { &counts.failed } else { &counts.answered };
            count.inc();
        }
    }
}
