//! Tenants that are suspended or deleted.

use ids::TenantId;
use serde_json::json;

use crate::world::{World, fox, pool, submit};

#[tokio::test]
async fn a_suspended_tenant_submits_nothing_and_the_jobs_of_a_deleted_one_are_cancelled() {
    let world = World::new().await;
    let service = world.start().await;
    let _ = pool(&world.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, other) = (world.member(&service, tenant), world.member(&service, TenantId::new()));
    submit(&member, json!({})).await;
    submit(&other, json!({})).await;
    let identity = service.client.service("identity");
    let path = format!("/internal/v1/tenants/{tenant}");
    let order =
        |generation, state| json!({ "generation": generation, "state": state, "delete_storages": false });
    let suspended = identity.put(&path, order(2, "suspended")).await.expect(200);
    assert_eq!(suspended.body["done"], true);
    member.post("/v1/jobs", fox()).await.expect_problem(403, "tenant-suspended");
    // a late order changes nothing
    let _ = identity.put(&path, order(1, "active")).await.expect(200);
    member.post("/v1/jobs", fox()).await.expect_problem(403, "tenant-suspended");
    let deleting = identity.put(&path, order(3, "deleting")).await.expect(200);
    assert_eq!(deleting.body, json!({ "done": true, "remaining": {} }));
    let state = |list: testkit::Response| list.body["items"][0]["state"].as_str().unwrap().to_owned();
    assert_eq!(state(member.get("/v1/jobs").await.expect(200)), "cancelled");
    assert_eq!(state(other.get("/v1/jobs").await.expect(200)), "queued");
    service.client.service("gpu").put(&path, order(4, "active")).await.expect_problem(403, "forbidden");
    service.stop().await;
}
