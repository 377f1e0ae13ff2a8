//! The report of availability, from answers as Prometheus gives them.

use std::sync::{Arc, Mutex};

use atelier_admin::availability;
use axum::{Form, Json, Router, extract::State, routing::post};
use serde_json::{Value, json};

type Queries = Arc<Mutex<Vec<(String, String)>>>;

#[derive(serde::Deserialize)]
struct Query {
    query: String,
    time: String,
}

fn sample(labels: &Value, value: &str) -> Value {
    json!({ "metric": labels, "value": [1_795_000_000.0, value] })
}

/// 100,000 requests to instances of which 20 failed, and 50 to stock of which 2 were slow.
async fn prometheus(State(queries): State<Queries>, Form(Query { query, time }): Form<Query>) -> Json<Value> {
    let instances = json!({ "method": "GET", "route": "/v1/instances" });
    let stock = json!({ "method": "GET", "route": "/v1/stock" });
    let with = |labels: &Value, upstream: &str, outcome: &str| {
        let mut labels = labels.clone();
        labels["upstream"] = json!(upstream);
        labels["outcome"] = json!(outcome);
        labels
    };
    let result = if query.contains("gateway_api_requests_total") {
        vec![
            sample(&with(&instances, "gpu", "answered"), "99980.02"),
            sample(&with(&instances, "gpu", "failed"), "20"),
            sample(&with(&stock, "stock", "answered"), "50"),
            sample(&with(&stock, "stock", "failed"), "0"),
        ]
    } else if query.contains("seconds_bucket") {
        vec![sample(&instances, "99970"), sample(&stock, "48")]
    } else {
        vec![sample(&instances, "99980"), sample(&stock, "50")]
    };
    queries.lock().unwrap().push((query, time));
    Json(json!({ "status": "success", "data": { "resultType": "vector", "result": result } }))
}

#[tokio::test]
async fn a_month_is_reported_by_service_and_operation() {
    let queries = Queries::default();
    let server =
        Router::new().route("/prometheus/api/v1/query", post(prometheus)).with_state(Arc::clone(&queries));
    let url = format!("{}/prometheus/", testkit::serve(server).await).parse().unwrap();
    let now = "2026-11-27T16:00:00Z".parse().unwrap();

    let report = availability::report(&url, Some("2026-10"), now).await.unwrap();
    assert_eq!(report.to.to_string(), "2026-11-01T00:00:00Z");
    assert!((report.services["gpu"].answered() - 0.9998).abs() < 1e-6, "{report:?}");
    assert!((report.services["stock"].in_time() - 0.96).abs() < 1e-6, "{report:?}");
    assert!(!report.all.meets_objectives());
    let text = report.to_string();
    for line in [
        "2026-10-01T00:00:00Z to 2026-11-01T00:00:00Z; objectives: 99.99 % answered, 99 % within 0.1 s",
        "GET /v1/instances                                                  100000        20   99.9800%    99.99%  missed",
        "GET /v1/stock                                                          50         0  100.0000%    96.00%  missed",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
    for (query, time) in queries.lock().unwrap().drain(..) {
        assert!(query.contains("[2678400s]") && time == "1793491200", "{query} at {time}");
    }

    // the current month so far
    let report = availability::report(&url, None, now).await.unwrap();
    assert_eq!((report.from.to_string(), report.to), ("2026-11-01T00:00:00Z".to_owned(), now));
    for wrong in ["2026-13", "2026-12", "november"] {
        assert!(availability::report(&url, Some(wrong), now).await.is_err(), "{wrong}");
    }
}
