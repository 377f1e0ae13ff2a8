//! The front door of a service: what stands before its own routes.

use std::{pin::Pin, sync::Arc, time::Instant};

use api::{Problem, problem, request_id};
use axum::{
    Router,
    extract::{DefaultBodyLimit, MatchedPath, Request, State},
    http::{StatusCode, header},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::get,
};
use tower_http::catch_panic::CatchPanicLayer;
use tracing::Instrument;

use crate::metrics::Metrics;

/// The largest JSON body that is read, in bytes.
const BODY_LIMIT: usize = 256 * 1024;

type Check = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// Health, metrics and the layers around a service's routes.
#[derive(Clone)]
pub struct Front {
    metrics: Metrics,
    ready: Check,
}

impl Front {
    /// `ready` says whether the service can do its work now, or what it waits for.
    pub fn new<F, R>(metrics: Metrics, ready: F) -> Self
    where
        F: Fn() -> R + Send + Sync + 'static,
        R: Future<Output = Result<(), String>> + Send + 'static,
    {
        Self { metrics, ready: Arc::new(move || Box::pin(ready())) }
    }

    /// `/healthz` (the process lives) and `/readyz` (it can work).
    pub fn health_routes(&self) -> Router {
        let ready = Arc::clone(&self.ready);
        Router::new().route("/healthz", get(|| async { "ok\n" })).route(
            "/readyz",
            get(move || async move {
                match ready().await {
                    Ok(()) => "ready\n".into_response(),
                    Err(waits_for) => (StatusCode::SERVICE_UNAVAILABLE, waits_for + "\n").into_response(),
                }
            }),
        )
    }

    /// `/metrics`.
    pub fn metrics_routes(&self) -> Router {
        let metrics = self.metrics.clone();
        Router::new().route(
            "/metrics",
            get(|| async move {
                ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0")], metrics.text())
            }),
        )
    }

    /// The layers alone: request id, log span, metrics, body limit, a panic as a 500 problem.
    pub fn wrap(&self, routes: Router) -> Router {
        routes
            .layer(DefaultBodyLimit::max(BODY_LIMIT))
            .layer(CatchPanicLayer::custom(panicked))
            .layer(middleware::from_fn_with_state(self.metrics.clone(), observe))
            .layer(middleware::from_fn(request_id::layer))
    }

    /// An internal service's whole front: its routes, health, metrics, layers and fallbacks.
    pub fn serve(&self, routes: Router) -> Router {
        let routes =
            routes.fallback(problem::no_such_route).method_not_allowed_fallback(problem::no_such_method);
        self.wrap(routes).merge(self.health_routes()).merge(self.metrics_routes())
    }
}

/// Put into an answer's extensions, it names the route in logs and metrics where no route of a router
/// matched: a gateway forwards by rules of its own.
#[derive(Debug, Clone, Copy)]
pub struct RouteName(pub &'static str);

async fn observe(
    State(metrics): State<Metrics>,
    matched: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str).to_owned();
    let id = request.headers().get(request_id::HEADER).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let span = tracing::info_span!("request", request.id = id, http.method = %method, http.route = route);
    let response = next.run(request).instrument(span.clone()).await;
    let route = response.extensions().get::<RouteName>().map_or(route, |name| name.0.to_owned());
    let status = response.status().as_u16();
    let took = begun.elapsed();
    metrics.observe(&method, &route, status, took);
    span.in_scope(|| {
        tracing::info!(http.status = status, took_ms = took.as_secs_f64() * 1000.0, "answered");
    });
    response
}

#[expect(clippy::needless_pass_by_value, reason = "the layer asks for this shape")]
fn panicked(cause: Box<dyn std::any::Any + Send>) -> Response {
    let text = cause
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| cause.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    Problem::internal(format!("panic: {text}")).into_response()
}
