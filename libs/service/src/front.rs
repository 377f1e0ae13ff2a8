//! The HTTP front of a service: health, metrics, and the layers around its own routes.

use std::{
    net::SocketAddr,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use api::{Problem, problem, request_id};
use axum::{
    Json, Router,
    extract::{ConnectInfo, DefaultBodyLimit, MatchedPath, Query, Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use futures::FutureExt;
use jiff::Timestamp;
use tower_http::catch_panic::CatchPanicLayer;
use traces::{Origin, Tracer, http as http_spans};
use tracing::{Instrument, field};

use crate::{
    Health, Metrics, Process, Shutdown, Workers,
    access_log::{self, Line},
    drain,
    health::{Parts, Report},
    panic::panic_message,
    recent_logs::{LogQuery, RecentLogs},
};

/// The largest JSON body, in bytes.
const BODY_LIMIT: usize = 256 * 1024;
/// How long a readiness check may take for the metrics, which are served even if dependencies do not answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the readiness check of a report may take: about as long as the dependencies.
const REPORT_TIMEOUT: Duration = Duration::from_millis(800);

/// Observes each request.
#[derive(Clone)]
struct Observer {
    metrics: Metrics,
    tracer: Tracer,
    origin: Origin,
}

/// The route of a request that has none, in metrics.
const NO_ROUTE: &str = "none";

type Check = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// Health, metrics and the layers around a service's routes.
#[derive(Clone)]
pub struct Front {
    observer: Observer,
    workers: Workers,
    shutdown: Shutdown,
    health: Health,
    started_at: Timestamp,
    ready: Check,
}

impl Front {
    /// The front of `process`. `ready` returns what the service waits for, if it cannot work now.
    pub fn new<F, R>(process: &Process, ready: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self {
            observer: Observer {
                metrics: process.metrics.clone(),
                tracer: process.tracer.clone(),
                origin: Origin::Inside,
            },
            workers: process.workers.clone(),
            shutdown: process.shutdown.clone(),
            health: process.health.clone(),
            started_at: process.started_at,
            ready: Arc::new(move || Box::pin(ready())),
        }
    }

    /// Sets the origin of requests; without it, they are from services of the platform.
    #[must_use]
    pub fn with_origin(mut self, origin: Origin) -> Self {
        self.observer.origin = origin;
        self
    }

    /// `/healthz`: 503 once a worker has been failing for minutes, so that the process is restarted.
    /// `/readyz`: 503 while a dependency is missing or a worker keeps failing, and before the process ends.
    pub fn health_routes(&self) -> Router {
        let (front, alive) = (self.clone(), self.workers.clone());
        Router::new()
            .route("/healthz", get(move || async move { answer(alive.healthy(), "ok\n") }))
            .route("/readyz", get(move || async move { answer(front.check().await, "ready\n") }))
    }

    /// Whether the service can work now.
    async fn check(&self) -> Result<(), String> {
        if self.shutdown.is_draining() {
            return Err("shutting down".to_owned());
        }
        (self.ready)().await?;
        self.workers.ready()
    }

    /// For the platform's health and logs, not for callers outside the platform. `/statusz`: the report of the process; `/logz`:
    /// the newest lines of its log.
    pub fn report_routes(&self) -> Router {
        let front = self.clone();
        let logs = async |Query(query): Query<LogQuery>| Json(RecentLogs::of_process().read(&query).await);
        Router::new()
            .route("/statusz", get(move || async move { Json(front.report().await) }))
            .route("/logz", get(logs))
    }

    /// The report of the process: its state, what it depends on, its workers and queues.
    pub async fn report(&self) -> Report {
        let ready = tokio::time::timeout(REPORT_TIMEOUT, self.check());
        let (ready, dependencies) = tokio::join!(ready, self.health.dependencies());
        Report::of(Parts {
            module: self.health.module().to_owned(),
            started_at: self.started_at,
            is_draining: self.shutdown.is_draining(),
            ready: ready.unwrap_or_else(|_| Err("the readiness check does not end".to_owned())),
            dependencies,
            workers: self.workers.report(),
            queues: self.health.queues(),
        })
    }

    /// `/metrics`, with the result of a readiness check.
    pub fn metrics_routes(&self) -> Router {
        let front = self.clone();
        Router::new().route(
            "/metrics",
            get(move || async move {
                let checked = tokio::time::timeout(CHECK_TIMEOUT, front.check()).await;
                front.observer.metrics.set_ready(matches!(checked, Ok(Ok(()))));
                (
                    [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0")],
                    front.observer.metrics.text(),
                )
            }),
        )
    }

    /// The layers alone: request id, trace context, log span, access log, metrics, body limit, panics as 500 problems.
    pub fn wrap(&self, routes: Router) -> Router {
        routes
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(middleware::from_fn_with_state(self.observer.clone(), observe_layer))
            .layer(middleware::from_fn(request_id::layer))
    }

    /// Applies the layers of [`Self::wrap`] to one function: for a process whose routes are not all in a
    /// router.
    pub async fn answer<F>(&self, request: Request, handler: impl FnOnce(Request) -> F) -> Response
    where
        F: Future<Output = Response> + Send,
    {
        let handler =
            async |request| AssertUnwindSafe(handler(request)).catch_unwind().await.unwrap_or_else(panicked);
        request_id::with_id(request, |request| observe(&self.observer, None, request, handler)).await
    }

    /// The complete front of an internal service: its routes, health, metrics, report, layers and fallbacks.
    /// Unread rests of request bodies are read.
    pub fn serve(&self, routes: Router) -> Router {
        let routes =
            routes.fallback(problem::no_such_route).method_not_allowed_fallback(problem::no_such_method);
        self.wrap(routes.layer(middleware::from_fn(drain::layer)))
            .merge(self.health_routes())
            .merge(self.metrics_routes())
            .merge(self.report_routes())
    }
}

fn answer(checked: Result<(), String>, good: &'static str) -> Response {
    match checked {
        Ok(()) => good.into_response(),
        Err(cause) => (StatusCode::SERVICE_UNAVAILABLE, cause + "\n").into_response(),
    }
}

/// A response extension that names the route in logs and metrics, for services such as the gateway whose routes
/// are not all in a router.
#[derive(Debug, Clone, Copy)]
pub struct RouteName(pub &'static str);

async fn observe_layer(
    State(observer): State<Observer>,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    observe(&observer, matched, request, |request| next.run(request)).await
}

/// Metrics, trace, log span and access log. Extractors of callers add `tenant.id` and `user.id` to the span.
async fn observe<F>(
    observer: &Observer,
    matched: Option<MatchedPath>,
    mut request: Request,
    answer: impl FnOnce(Request) -> F,
) -> Response
where
    F: Future<Output = Response>,
{
    let begun = Instant::now();
    let method = request.method().clone();
    let mut trace = observer.tracer.accept(&method, request.headers_mut(), observer.origin);
    let trace_id = trace.context().map(|context| context.trace_id());
    let headers = request.headers();
    let id = headers.get(request_id::HEADER).and_then(|id| id.to_str().ok()).unwrap_or_default();
    let span = tracing::info_span!(
        "request",
        request.id = id,
        trace.id = trace_id,
        http.method = %method,
        http.route = field::Empty,
        tenant.id = field::Empty,
        user.id = field::Empty,
    );
    let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip());
    let received = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if let Some(matched) = &matched {
        span.record("http.route", matched.as_str());
    }
    trace.set("atelier.request.id", id);
    let response = trace.scope(answer(request).instrument(span.clone())).await;
    let matched = matched.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    let named = response.extensions().get::<RouteName>().map(|name| name.0);
    if let Some(name) = named {
        span.record("http.route", name);
    }
    let route = named.unwrap_or(matched);
    http_spans::answered(
        &mut trace,
        &method,
        Some(route).filter(|route| *route != NO_ROUTE),
        response.status(),
    );
    let status = response.status().as_u16();
    let line = Line { span, trace, status, peer, received, begun, answered: begun.elapsed() };
    observer.metrics.observe(&method, route, status, line.answered);
    access_log::add(response, line)
}

#[expect(clippy::needless_pass_by_value, reason = "the layer requires this signature")]
fn panicked(cause: Box<dyn std::any::Any + Send>) -> Response {
    Problem::internal(format!("panic: {}", panic_message(&*cause))).into_response()
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Method};
    use tower::ServiceExt as _;

    use super::*;

    #[tokio::test]
    async fn a_method_that_is_not_allowed_is_answered_with_those_that_are() {
        let routes = Router::new().route("/v1/things", get(|| async { "all" }).post(|| async { "one" }));
        let front = Front::new(&Process::default(), || async { Ok(()) }).serve(routes);
        for (method, path, allowed) in [
            (Method::TRACE, "/v1/things", "GET,HEAD,POST"),
            (Method::DELETE, "/v1/things", "GET,HEAD,POST"),
            (Method::from_bytes(b"INVENTED").unwrap(), "/v1/things", "GET,HEAD,POST"),
            (Method::TRACE, "/healthz", "GET,HEAD"),
            (Method::POST, "/metrics", "GET,HEAD"),
        ] {
            let request = Request::builder().method(&method).uri(path).body(Body::empty()).unwrap();
            let response = front.clone().oneshot(request).await.unwrap();
            assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED, "{method} {path}");
            let allow = response.headers().get(header::ALLOW).map(|allow| allow.to_str().unwrap());
            assert_eq!(allow, Some(allowed), "{method} {path}");
        }
    }
}
