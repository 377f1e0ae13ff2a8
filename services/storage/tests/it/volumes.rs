//! Volumes, from creation to deletion.

use ids::{InstanceId, StorageId, TenantId};
use kube::api::DeleteParams;
use serde_json::json;
use testkit::eventually;

use crate::fixture::{Fixture, ended, kubeconfig, make, remove, specs, state};

#[tokio::test]
async fn a_volume_is_created_grown_and_deleted() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);

    let body = json!({ "name": "models", "storage_spec": "ssd", "size_gib": 20 });
    let ordered = member.post("/v1/storages", body).await.expect(202);
    assert_eq!(ordered.str("state"), "pending");
    let operation = ended(&member, ordered.str("operation_id")).await;
    assert_eq!((operation.str("kind"), operation.str("state")), ("create_storage", "succeeded"));
    let location = format!("/v1/storage-operations/{}", ordered.str("operation_id"));
    assert_eq!(ordered.header("location"), Some(location.as_str()));
    let id = ordered.str("id");
    let path = format!("/v1/storages/{id}");
    let made = member.get(&path).await.expect(200);
    assert_eq!((made.str("state"), made.str("datacenter")), ("available", "uk-1"));
    assert_eq!(made.body["capacity_gib"], 20);

    let name = id.parse::<StorageId>().unwrap().k8s_name();
    let resource = fixture.gpu_storages().get(&name).await.unwrap();
    assert_eq!((resource.spec.tenant_id, resource.spec.size_gib), (tenant.k8s_name(), 20));

    let etag = made.header("etag").unwrap();
    let _ = member.patch(&path, etag, json!({ "name": "checkpoints" })).await.expect(200);
    member.patch(&path, etag, json!({ "size_gib": 30 })).await.expect_problem(412, "changed-meanwhile");
    let growing = member.patch(&path, "*", json!({ "size_gib": 30 })).await.expect(202);
    assert_eq!(growing.str("state"), "resizing");
    let grown = ended(&member, growing.str("operation_id")).await;
    assert_eq!((grown.str("kind"), grown.str("state")), ("resize_storage", "succeeded"));
    assert_eq!(state(&member, id, "available").await.body["capacity_gib"], 30);
    for size in [29, 101] {
        member.patch(&path, "*", json!({ "size_gib": size })).await.expect_problem(422, "invalid-field");
    }

    remove(&member, id).await;
    assert!(fixture.gpu_storages().get_opt(&name).await.unwrap().is_none());
    assert_eq!(member.get("/v1/storages").await.expect(200).body["items"], json!([]));
}

#[tokio::test]
async fn a_volume_in_use_is_not_deleted() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "models", "ssd", 5).await;
    let id = made.str("id");
    let peer = service.client.service("gpu");
    let instance = InstanceId::new();
    let attachment = format!("/internal/v1/storages/{id}/attachments/{instance}");
    let request = json!({ "tenant_id": tenant, "mode": "read_write" });
    for _ in 0..2 {
        let attached = peer.put(&attachment, request.clone()).await.expect(200);
        let name = id.parse::<StorageId>().unwrap().k8s_name();
        assert_eq!(attached.body, json!({ "kind": "volume", "cluster": "uk-1", "object_name": name }));
    }
    let shown = member.get(&format!("/v1/storages/{id}")).await.expect(200);
    assert_eq!(shown.body["attachments"][0]["instance_id"], instance.to_string());
    let refused = member.delete(&format!("/v1/storages/{id}")).await.expect_problem(409, "storage-in-use");
    assert_eq!(refused.body["instance_ids"], json!([instance]));

    let foreign = json!({ "tenant_id": TenantId::new(), "mode": "read_only" });
    peer.put(&attachment, foreign).await.expect_problem(404, "not-found");
    member.put(&attachment, request.clone()).await.expect_problem(401, "unauthenticated");
    for _ in 0..2 {
        let _ = peer.delete(&attachment).await.expect(204);
    }
    let deleting = member.delete(&format!("/v1/storages/{id}")).await.expect(202);
    let late = peer.put(&attachment, request).await;
    assert!(late.status == 409 || late.status == 404, "{}", late.text);
    ended(&member, deleting.str("operation_id")).await;
}

#[tokio::test]
async fn a_volume_deleted_by_hand_is_reported_and_not_replaced() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let made = make(&member, "models", "ssd", 5).await;
    let name = made.str("id").parse::<StorageId>().unwrap().k8s_name();
    fixture.gpu_storages().delete(&name, &DeleteParams::default()).await.unwrap();
    let lost = state(&member, made.str("id"), "failed").await;
    assert_eq!(lost.str("reason"), "volume_lost");
    eventually("the resource is gone", async || {
        fixture.gpu_storages().get_opt(&name).await.unwrap().is_none().then_some(())
    })
    .await;
    remove(&member, made.str("id")).await;
}

#[tokio::test]
async fn an_unavailable_cluster_is_reported_and_retried() {
    let mut fixture = Fixture::with_cluster().await;
    let real = fixture.config.clusters["uk-1"].kubeconfig.clone().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let moving = elsewhere.path().join("kubeconfig");
    fixture.config.clusters = [("uk-1".to_owned(), kubeconfig(&moving))].into();
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let body = json!({ "name": "models", "storage_spec": "ssd", "size_gib": 5 });
    let ordered = member.post("/v1/storages", body).await.expect(202);
    let path = format!("/v1/storages/{}", ordered.str("id"));
    eventually("the reason is reported", async || {
        (member.get(&path).await.body["reason"] == "cluster_unavailable").then_some(())
    })
    .await;
    std::fs::copy(real, moving).unwrap();
    state(&member, ordered.str("id"), "available").await;
}

#[tokio::test]
async fn a_failed_volume_has_a_reason_and_recovers() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let made = make(&member, "models", "ssd", 5).await;
    let name = made.str("id").parse::<StorageId>().unwrap().k8s_name();
    let condition = json!({ "type": "Bound", "status": "False", "reason": "Failed",
        "message": "the claim lost its volume", "lastTransitionTime": "2026-01-01T00:00:00Z" });
    for (phase, conditions, wanted) in
        [("Failed", json!([condition]), "failed"), ("Bound", json!([]), "available")]
    {
        let status =
            kube::api::Patch::Merge(json!({ "status": { "phase": phase, "conditions": conditions } }));
        fixture
            .gpu_storages()
            .patch_status(&name, &kube::api::PatchParams::default(), &status)
            .await
            .unwrap();
        let seen = state(&member, made.str("id"), wanted).await;
        if wanted == "failed" {
            assert_eq!(
                (seen.str("reason"), seen.str("message")),
                ("volume_failed", "the claim lost its volume")
            );
        }
    }
    let metrics = service.client.get("/metrics").await.expect(200);
    assert!(metrics.text.contains("storage_reconciles_total"), "{}", metrics.text);
    testkit::metrics::assert_documented(&metrics.text);
    remove(&member, made.str("id")).await;
}

/// A second cluster takes connections and never answers.
#[tokio::test]
async fn a_silent_cluster_does_not_hold_up_the_volumes_of_another() {
    let mut fixture = Fixture::with_cluster().await;
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let server = format!("http://{}", silent.local_addr().unwrap());
    let config = json!({
        "clusters": [{ "name": "a", "cluster": { "server": server } }], "users": [{ "name": "a", "user": {} }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }], "current-context": "a",
    });
    std::fs::write(&file, config.to_string()).unwrap();
    fixture.config.clusters.insert("us-1".to_owned(), kubeconfig(&file));
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let order = async |name: String, datacenter: &str| {
        let body = json!({ "name": name, "storage_spec": "ssd", "size_gib": 5, "datacenter": datacenter });
        member.post("/v1/storages", body).await.expect(202)
    };
    // more than are reconciled at a time
    let mut waiting = Vec::new();
    for n in 0..fixture.config.reconcile.concurrency + 4 {
        waiting.push(order(format!("silent-{n}"), "us-1").await);
    }
    let begun = std::time::Instant::now();
    let made = order("models".to_owned(), "uk-1").await;
    state(&member, made.str("id"), "available").await;
    assert!(begun.elapsed().as_secs() < 4, "it took {:?}", begun.elapsed());
    let path = format!("/v1/storages/{}", waiting[0].str("id"));
    eventually("the reason is reported", async || {
        let seen = member.get(&path).await.body;
        (seen["state"] == "pending" && seen["reason"] == "cluster_unavailable").then_some(())
    })
    .await;
}
