//! Tenants that have spent their budget, of which the gpu service tells.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{Json, Router, extract::Query, http::StatusCode, response::IntoResponse as _, routing::get};
use ids::TenantId;
use peer::Endpoint;
use serde_json::{Value, json};

use crate::fixture::{Fixture, make, specs};

#[tokio::test]
async fn a_tenant_that_has_spent_its_budget_creates_no_storage_and_lets_none_grow() {
    let mut fixture = Fixture::new().await;
    let tenant = TenantId::new();
    // what the gpu service says of the tenant; none while it is away
    let said = Arc::new(Mutex::new(Some(json!([]))));
    let answers = Arc::clone(&said);
    let answer = move |Query(asked): Query<HashMap<String, String>>| {
        let said = answers.lock().unwrap().clone();
        let answer = match said {
            Some(items) if asked["tenant_id"] == tenant.to_string() => {
                Json(json!({ "items": items })).into_response()
            }
            Some(_) => Json(json!({ "items": [] })).into_response(),
            None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        };
        std::future::ready(answer)
    };
    let gpu = testkit::serve(Router::new().route("/internal/v1/allowances", get(answer))).await;
    fixture.config.gpu =
        Some(Endpoint { url: gpu.parse().unwrap(), token: testkit::service_token("storage").into() });
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let (member, other) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    let made = make(&member, "before", "archive", 1).await;
    let path = format!("/v1/storages/{}", made.str("id"));
    let order = |name: &str| json!({ "name": name, "storage_spec": "archive", "size_gib": 1 });
    let spent = |reason: &str, renews_at: Value| {
        Some(
            json!([{ "tenant_id": tenant, "reason": reason, "message": "Nothing is left.", "renews_at": renews_at }]),
        )
    };

    *said.lock().unwrap() = spent("budget_exhausted", json!("2099-01-01T00:00:00Z"));
    let refused = member.post("/v1/storages", order("after")).await.expect_problem(409, "budget-exhausted");
    assert_eq!(refused.str("renews_at"), "2099-01-01T00:00:00Z");
    let grown = member.patch(&path, "*", json!({ "size_gib": 2 })).await;
    grown.expect_problem(409, "budget-exhausted");
    // what costs nothing more is not refused
    let _ = member.patch(&path, "*", json!({ "name": "renamed" })).await.expect(200);
    let _ = member.patch(&path, "*", json!({ "size_gib": 1 })).await.expect(200);
    let _ = other.post("/v1/storages", order("theirs")).await.expect(202);
    *said.lock().unwrap() = spent("allowance_expired", Value::Null);
    member.post("/v1/storages", order("after")).await.expect_problem(503, "allowance-expired");
    *said.lock().unwrap() = None;
    member.post("/v1/storages", order("after")).await.expect_problem(503, "unavailable");
    // nor is a bucket created for results of jobs
    let jobs = service.client.service("jobs");
    let outputs = format!("/internal/v1/tenants/{tenant}/output-bucket");
    jobs.put(&outputs, Value::Null).await.expect_problem(503, "unavailable");
    *said.lock().unwrap() = spent("budget_exhausted", Value::Null);
    jobs.put(&outputs, Value::Null).await.expect_problem(409, "budget-exhausted");

    *said.lock().unwrap() = Some(json!([]));
    let keyed = member.header("idempotency-key", "the-first");
    let first = keyed.post("/v1/storages", order("after")).await.expect(202);
    // a repeated request has its answer, whatever is left now
    *said.lock().unwrap() = spent("budget_exhausted", Value::Null);
    let again = keyed.post("/v1/storages", order("after")).await.expect(202);
    assert_eq!(again.str("id"), first.str("id"));
    jobs.put(&outputs, Value::Null).await.expect_problem(409, "budget-exhausted");
    *said.lock().unwrap() = Some(json!([]));
    let made = jobs.put(&outputs, Value::Null).await.expect(200);
    *said.lock().unwrap() = spent("budget_exhausted", Value::Null);
    assert_eq!(jobs.put(&outputs, Value::Null).await.expect(200).str("id"), made.str("id"), "it exists");
}
