//! What operators see of requests: traces and metrics. (The access log is tested in libs/service.)

use serde_json::json;
use testkit::Client;

use crate::platform::Platform;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

#[tokio::test]
async fn a_trace_goes_on_in_services_and_instances() {
    let platform = Platform::start().await;
    let given = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let instance = platform.instance();
    let opened = platform.opened(&instance).await;
    // the platform samples by the gateway's decision; software in an instance samples by the user's
    for (client, flags) in [(platform.member(), "-00"), (opened, "-01")] {
        let traced = client.header("traceparent", &given).header("tracestate", "vendor=1");
        let seen = traced.get("/v1/me").await.expect(200).body["headers"].clone();
        let sent = seen["traceparent"].as_str().unwrap();
        assert!(sent.starts_with(&format!("00-{TRACE}-")) && sent.ends_with(flags), "{sent}");
        assert_ne!(sent, given, "the gateway has a span of its own");
        assert_eq!(seen["tracestate"], "vendor=1");

        let broken = client.header("traceparent", "00-x-y-01").header("tracestate", "vendor=1");
        for client in [broken, client] {
            let seen = client.get("/v1/me").await.expect(200).body["headers"].clone();
            let sent = seen["traceparent"].as_str().unwrap();
            assert!(sent.len() == 55 && sent.ends_with("-00") && !sent.contains(TRACE), "{sent}");
            assert_eq!(seen.get("tracestate"), None);
        }
    }
}

#[tokio::test]
async fn metrics_have_the_templates_of_routes_and_no_more() {
    let platform = Platform::start().await;
    let member = platform.member();
    let _ = member.get("/v1/instances/inst_1").await;
    let _ = member.get("/v1/instances/inst_2").await;
    let _ = member.post("/v1/instances", json!({})).await;
    let _ = platform.client.get("/v1/instances/inst_3").await.expect(401);
    let _ = member.get("/v1/unknown/path").await.expect(404);
    let _ = platform.client.get("/").await.expect(200);
    let _ = platform.at(&platform.instance()).get("/v1/instances/x").await.expect(401);
    let text = Client::new(&format!("http://{}", platform.metrics)).get("/metrics").await.expect(200).text;
    let count = |method: &str, route: &str, status: u16| {
        let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}");
        let line = text.lines().find(|line| {
            line.starts_with("http_server_request_duration_seconds_count") && line.contains(&labels)
        });
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok())
    };
    for (method, route, status, expected) in [
        ("GET", "/v1/instances/{id}", 200, 2),
        ("GET", "/v1/instances/{id}", 401, 1),
        ("POST", "/v1/instances", 200, 1),
        ("GET", "none", 404, 1),
        ("GET", "/", 200, 1),
        ("GET", "instance", 401, 1),
    ] {
        assert_eq!(count(method, route, status), Some(expected), "{method} {route} {status} in {text}");
    }
    let counted = |method: &str, route: &str, outcome: &str| {
        let labels =
            format!("{{upstream=\"gpu\",method=\"{method}\",route=\"{route}\",outcome=\"{outcome}\"}}");
        let line = text
            .lines()
            .find(|line| line.starts_with("gateway_api_requests_total") && line.contains(&labels));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u32>().ok())
    };
    for (method, route, outcome, expected) in [
        ("GET", "/v1/instances/{id}", "answered", 3),
        ("GET", "/v1/instances/{id}", "failed", 0),
        ("POST", "/v1/instances", "answered", 1),
        // the client has not requested it
        ("GET", "/v1/usage", "failed", 0),
    ] {
        assert_eq!(counted(method, route, outcome), Some(expected), "{method} {route} {outcome} in {text}");
    }
    let document = platform.client.get("/openapi.json").await.expect(200).body;
    for (route, methods) in document["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let labels = format!("method=\"{method}\",route=\"{route}\",outcome=\"failed\"}} 0");
            assert!(text.contains(&labels), "{method} {route} is not counted");
        }
    }
    testkit::metrics::assert_documented(&text);
    assert!(!text.contains("inst_1") && !text.contains("unknown/path"), "{text}");
}
