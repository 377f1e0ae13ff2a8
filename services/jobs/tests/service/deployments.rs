//! Deployments of models that are refused. Accepted ones need a cluster: the storage service's tests and the demo cover them.

use ids::{StorageId, TenantId};
use serde_json::json;

use crate::{
    fixture::{Fixture, pool},
    fleet::{Worker, reaches},
    uploads::{pictures, training},
};

#[tokio::test]
async fn a_model_goes_onto_a_volume_of_its_tenant_only() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, stranger) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let images = pictures(&member, 3).await;
    let _ = member.post("/v1/jobs", training(&images)).await.expect(202);
    let (work, _) = worker.instruction().await;
    worker.upload(&work, "model.safetensors").await;
    let _ = worker.complete_with(&work, &["model.safetensors"]).await.expect(200);
    let model = reaches(&member, &work.job, "succeeded").await.str("model_id").to_owned();

    let path = format!("/v1/models/{model}/deployments");
    let at = |storage: &str| json!({ "storage_id": storage });
    let own = fixture.storage.token(&fixture.issuer.user(tenant, auth::Role::Member));
    let bucket =
        own.get("/v1/storages").await.expect(200).body["items"][0]["id"].as_str().unwrap().to_owned();
    let refused = member.post(&path, at(&bucket)).await.expect_problem(422, "invalid-field");
    assert!(refused.text.contains("choose a volume"), "{}", refused.text);
    // a storage of another tenant is like one that does not exist
    let none =
        member.post(&path, at(&StorageId::new().to_string())).await.expect_problem(422, "invalid-field");
    let other =
        stranger.post("/v1/uploads", json!({ "name": "a.png", "content_type": "image/png", "bytes": 3 }));
    let _ = other.await;
    let theirs = stranger.post(&path, at(&bucket)).await;
    assert_eq!(theirs.body["errors"], none.body["errors"], "{}", theirs.text);
    for file in ["../a.safetensors", "/a.safetensors", "a.ckpt", ""] {
        let body = json!({ "storage_id": bucket, "path": file });
        let refused = member.post(&path, body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], "/path", "{file}");
    }
    stranger.get(&path).await.expect_problem(404, "not-found");
    assert_eq!(member.get(&path).await.expect(200).body["items"], json!([]));
    service.stop().await;
}
