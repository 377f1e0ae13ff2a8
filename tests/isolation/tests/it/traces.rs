//! The trace of an instance's start: one trace with every hop, and nothing in it that only its owner may know.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crate::support::{PASSWORD, Person, Platform};
use serde_json::{Value, json};
use testkit::{Client, Collector, ReceivedSpan, eventually};

/// The trace and span of the client, who does not record them.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CLIENT: &str = "00f067aa0ba902b7";

/// Hops of a start: service, kind and name of a span, service and kind of its parent. A name that ends with `*` is the
/// beginning of one.
const HOPS: [(&str, &str, &str, &str, &str); 16] = [
    ("gateway", "server", "POST /v1/instances", "", ""),
    ("gateway", "internal", "admission", "gateway", "server"),
    ("gateway", "client", "POST", "gateway", "server"),
    ("gpu", "server", "POST /v1/instances", "gateway", "client"),
    ("gpu", "consumer", "reconcile instance", "gpu", "server"),
    ("gpu", "client", "PUT", "gpu", "consumer"),
    ("storage", "server", "PUT /internal/*", "gpu", "client"),
    ("gpu", "client", "POST", "gpu", "consumer"),
    ("stock", "server", "POST /internal/*", "gpu", "client"),
    ("gpu", "client", "apply GpuUnit", "gpu", "consumer"),
    ("gpu", "client", "db.instance.advance", "gpu", "consumer"),
    ("operator", "consumer", "reconcile GpuUnit", "gpu", "client"),
    ("operator", "client", "create_instance", "operator", "consumer"),
    ("operator", "client", "bind", "operator", "consumer"),
    ("operator", "client", "unit_status", "operator", "consumer"),
    ("operator", "internal", "start pod", "operator", "consumer"),
];

fn is(span: &ReceivedSpan, service: &str, kind: &str, name: &str) -> bool {
    let named = match name.strip_suffix('*') {
        Some(beginning) => span.name.starts_with(beginning),
        None => span.name == name,
    };
    span.service() == service && span.kind == kind && named
}

/// What is missing for the trace of a start.
fn missing(spans: &[ReceivedSpan]) -> Vec<String> {
    let by_id: BTreeMap<&str, &ReceivedSpan> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
    let mut missing = Vec::new();
    for (service, kind, name, above, above_kind) in HOPS {
        let found = spans.iter().filter(|span| is(span, service, kind, name)).any(|span| {
            let parent = by_id.get(span.parent.as_str());
            match above {
                "" => span.parent == CLIENT,
                above => parent.is_some_and(|parent| parent.service() == above && parent.kind == above_kind),
            }
        });
        if !found {
            missing.push(format!("{service} {kind} {name:?} below {above} {above_kind}"));
        }
    }
    // each span hangs on another one
    let loose = spans.iter().filter(|span| span.parent != CLIENT && !by_id.contains_key(&*span.parent));
    missing.extend(loose.map(|span| format!("the parent of {} {:?}", span.service(), span.name)));
    missing
}

async fn state(client: &Client, path: &str, state: &str) {
    let is = async || (client.get(path).await.expect(200).str("state") == state).then_some(());
    eventually(&format!("{path} is {state}"), is).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_is_one_trace_from_the_gateway_to_the_pod() {
    let collector = Collector::start().await;
    let platform = Platform::traced(&collector).await;
    let tenant = platform.admin.post("/v1/tenants", json!({ "name": "alpha" })).await.expect(201);
    let owner = Person::create(&platform, tenant.str("id"), "owner@alpha.test", "owner").await;
    let client = platform.gateway.token(&owner.token);
    let order = json!({ "name": "volume", "storage_spec": "ssd", "size_gib": 1, "datacenter": "main" });
    let storage = client.post("/v1/storages", order).await.expect(202).str("id").to_owned();
    state(&client, &format!("/v1/storages/{storage}"), "available").await;

    let order = json!({ "gpu_spec": "small", "service": "shell", "version": "1", "name": "traced",
        "storage_id": storage, "env": [{ "name": "VISIBLE", "value": "what-the-user-entered" }],
        "secrets": [{ "name": "TOKEN", "value": "open-sesame" }] });
    // the client does not record its trace; that is no reason for the platform not to
    let traced = client.header("traceparent", &format!("00-{TRACE}-{CLIENT}-00"));
    let instance = traced.post("/v1/instances", order).await.expect(202).str("id").to_owned();
    let path = format!("/v1/instances/{instance}");
    state(&client, &path, "running").await;
    let ticket = client.post(&format!("{path}/tickets"), Value::Null).await.expect(201);
    let ticket = ticket.str("url").rsplit('=').next().unwrap().to_owned();

    let deadline = Instant::now() + Duration::from_secs(25);
    let complete = async || {
        let missing = missing(&collector.trace(TRACE));
        (missing.is_empty() || Instant::now() > deadline).then_some(missing)
    };
    assert_eq!(eventually("the trace is complete", complete).await, Vec::<String>::new());
    let spans = collector.trace(TRACE);
    for span in &spans {
        assert!(
            !span.resource["service.version"].is_empty() && span.resource["service.namespace"] == "atelier"
        );
        // reconciles are linked to what they continue
        let expected: &[String] =
            if span.kind == "consumer" { std::slice::from_ref(&span.parent) } else { &[] };
        assert_eq!(span.links, expected, "{span:?}");
    }
    let attributes =
        |service, kind, name| &spans.iter().find(|span| is(span, service, kind, name)).unwrap().attributes;
    let served = attributes("gpu", "server", "POST /v1/instances");
    for (name, value) in [
        ("http.request.method", "POST"),
        ("http.route", "/v1/instances"),
        ("url.path", "/v1/instances"),
        ("http.response.status_code", "202"),
    ] {
        assert_eq!(served[name], value, "{served:?}");
    }
    let called = attributes("gateway", "client", "POST");
    assert_eq!((&*called["server.address"], &*called["http.response.status_code"]), ("127.0.0.1", "202"));
    assert_eq!(attributes("gpu", "consumer", "reconcile instance")["atelier.instance.id"], instance);

    // what is later asked for with other traces is not in this one
    let _ = client.post(&format!("{path}/stop"), Value::Null).await.expect(202);
    state(&client, &path, "stopped").await;
    let stops = async || {
        collector.spans().into_iter().find(|span| is(span, "gpu", "server", "POST /v1/instances/{id}/stop"))
    };
    let stop = eventually("the stop is exported", stops).await;
    assert_ne!(stop.trace, TRACE);
    // its reconciles continue the stop, and are linked to the start that they undo
    let started = spans.iter().find(|span| is(span, "gpu", "server", "POST /v1/instances")).unwrap();
    let reconciled = async || {
        let of_stop = collector.trace(&stop.trace);
        of_stop.into_iter().find(|span| is(span, "gpu", "consumer", "reconcile instance"))
    };
    let reconciled = eventually("the reconcile of the stop is exported", reconciled).await;
    assert_eq!(reconciled.parent, stop.id);
    assert_eq!(reconciled.links, [stop.id, started.id.clone()]);

    // of all that was traced
    let all = format!("{:?}", collector.spans());
    for secret in
        ["open-sesame", "what-the-user-entered", PASSWORD, &ticket, &owner.token, "service-token", "?"]
    {
        assert!(!all.contains(secret), "{secret}");
    }
}
