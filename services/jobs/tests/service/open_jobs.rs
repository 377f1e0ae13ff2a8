//! How many open jobs a tenant may have.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::eventually;
use uuid::Uuid;

use crate::fixture::{Fixture, fox, pool, submit};

#[tokio::test]
async fn a_tenant_submits_no_more_jobs_than_may_be_open() {
    let mut fixture = Fixture::new().await;
    fixture.config.limits.open_jobs_per_tenant = 3;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let number = Uuid::new_v4();
    let numbered = submit(&member, json!({ "req_no": number })).await;
    let batch = member.post("/v1/job-batches", json!({ "jobs": vec![fox(); 3] })).await.expect(202);
    let items = batch.body["items"].as_array().unwrap();
    let refused: Vec<&Value> = items.iter().map(|item| &item["problem"]["type"]).collect();
    let kind = json!("https://atelier.dev/problems/too-many-jobs");
    assert_eq!(refused, [&Value::Null, &Value::Null, &kind]);
    let refused = member.post("/v1/jobs", fox()).await.expect_problem(409, "too-many-jobs");
    assert_eq!(refused.body["limit"], 3);
    // a repetition is none more, and other tenants have their own
    let again = submit(&member, json!({ "req_no": number })).await;
    assert_eq!(again.str("id"), numbered.str("id"));
    let _ = submit(&fixture.member(&service, TenantId::new()), json!({})).await;

    let path = format!("/v1/jobs/{}/cancel", numbered.str("id"));
    let _ = member.post(&path, Value::Null).await.expect(202);
    eventually("the place of a job that has ended is free", async || {
        (member.post("/v1/jobs", fox()).await.status == 202).then_some(())
    })
    .await;
    member.post("/v1/jobs", fox()).await.expect_problem(409, "too-many-jobs");
    service.stop().await;
}

#[tokio::test]
async fn replicas_count_the_same_jobs() {
    let mut fixture = Fixture::new().await;
    fixture.config.limits.open_jobs_per_tenant = 2;
    let (service, other) = (fixture.start().await, fixture.start().await);
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    for _ in 0..2 {
        let _ = submit(&fixture.member(&service, tenant), json!({})).await;
    }
    let refused = fixture.member(&other, tenant).post("/v1/jobs", fox()).await;
    refused.expect_problem(409, "too-many-jobs");
    service.stop().await;
    other.stop().await;
}
