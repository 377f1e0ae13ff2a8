//! Pools, for administrators.

use ids::{PoolId, TenantId};
use serde_json::json;

use crate::fixture::{Fixture, pool};

#[tokio::test]
async fn administrators_create_pools() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let id = pool(&admin).await;
    let read = admin.get(&format!("/v1/platform-pools/{id}")).await.expect(200);
    assert_eq!((read.str("name"), &read.body["gpu_specs"]), ("generation", &json!(["small"])));
    assert_eq!(admin.get("/v1/platform-pools").await.expect(200).body["items"], json!([read.body]));
    let taken = json!({ "name": "generation", "gpu_specs": ["large"] });
    admin.post("/v1/platform-pools", taken).await.expect_problem(409, "name-taken");
    for (body, pointer) in [
        (json!({ "name": "A b", "gpu_specs": ["small"] }), "/name"),
        (json!({ "name": "b", "gpu_specs": [] }), "/gpu_specs"),
        (json!({ "name": "b", "gpu_specs": ["small", "small"] }), "/gpu_specs/1"),
    ] {
        let refused = admin.post("/v1/platform-pools", body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    admin.get(&format!("/v1/platform-pools/{}", PoolId::new())).await.expect_problem(404, "not-found");
    let member = fixture.member(&service, TenantId::new());
    member.get("/v1/platform-pools").await.expect_problem(403, "forbidden");
    service.stop().await;
}
