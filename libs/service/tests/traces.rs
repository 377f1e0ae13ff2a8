//! The span of a request, and its export when the process ends.

use atelier_service::{Front, Process, TelemetryConfig};
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode},
    routing::get,
};
use testkit::Collector;
use tower::ServiceExt;

#[tokio::test]
async fn the_last_requests_are_exported_before_the_process_ends() {
    let collector = Collector::start().await;
    let telemetry = TelemetryConfig { endpoint: collector.endpoint().parse().unwrap(), sample_ratio: 1.0 };
    let process = Process::default().traced("test", Some(&telemetry)).unwrap();
    let routes = Router::new()
        .route("/v1/things/{id}", get(|| async { "a thing" }))
        .route("/v1/broken", get(|| async { StatusCode::BAD_GATEWAY }));
    let front = Front::new(&process, || async { Ok(()) }).wrap(routes);
    for path in ["/v1/things/7?ticket=1", "/v1/broken", "/v1/unknown/path"] {
        let request = Request::get(path).header("x-request-id", "request-1").body(Body::empty()).unwrap();
        let _ = front.clone().oneshot(request).await.unwrap();
    }
    process.shutdown.begin();
    process.shutdown.finish().await;

    let spans = collector.spans();
    let seen: Vec<_> = spans
        .iter()
        .map(|span| {
            let status = &*span.attributes["http.response.status_code"];
            (span.name.as_str(), span.kind, status, span.failed)
        })
        .collect();
    assert_eq!(
        seen,
        [
            ("GET /v1/things/{id}", "server", "200", false),
            ("GET /v1/broken", "server", "502", true),
            ("GET", "server", "404", false),
        ]
    );
    assert_eq!(spans[0].attributes["atelier.request.id"], "request-1");
    assert_eq!(spans[0].attributes["http.response.body.size"], "7");
    let all = format!("{spans:?}");
    assert!(!all.contains("ticket") && !all.contains("things/7") && !all.contains("unknown"), "{all}");
}
