//! The end of a tenant, and what administrators do to storages of tenants.

use ids::{InstanceId, StorageId, TenantId};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    buckets::{put, s3},
    fixture::{Fixture, Service, make, specs, state},
};

/// Has the service carry out the tenant's state, as the identity service does.
async fn put_tenant(
    service: &Service,
    tenant: TenantId,
    generation: i64,
    state: &str,
    delete: bool,
) -> Value {
    let order = json!({
        "generation": generation, "state": state, "stop_instances": false, "delete_storages": delete,
    });
    let identity = service.client.service("identity");
    identity.put(&format!("/internal/v1/tenants/{tenant}"), order).await.expect(200).body
}

fn done() -> Value {
    json!({ "done": true, "remaining": {} })
}

async fn credential(member: &Client, bucket: &Response) -> Response {
    member.post(&format!("/v1/storages/{}/credentials", bucket.str("id")), Value::Null).await
}

#[tokio::test]
async fn the_keys_of_a_suspended_tenant_open_nothing() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let (tenant, other) = (TenantId::new(), TenantId::new());
    let (member, neighbour) = (fixture.member(&service, tenant), fixture.member(&service, other));
    let (bucket, theirs) =
        (make(&member, "art", "archive", 1).await, make(&neighbour, "art", "archive", 1).await);
    let (own, foreign) =
        (credential(&member, &bucket).await.expect(201), credential(&neighbour, &theirs).await.expect(201));
    let writes =
        async |credential: &Response| put(&s3(&credential.body), credential.str("bucket"), "k", 1).await;
    writes(&own).await.unwrap();

    assert_eq!(put_tenant(&service, tenant, 1, "suspended", false).await, done());
    assert!(writes(&own).await.is_err());
    writes(&foreign).await.unwrap();
    let new = json!({ "name": "more", "storage_spec": "archive", "size_gib": 1 });
    member.post("/v1/storages", new.clone()).await.expect_problem(403, "tenant-suspended");
    credential(&member, &bucket).await.expect_problem(403, "tenant-suspended");
    let path = format!("/v1/storages/{}", bucket.str("id"));
    let grown = member.patch(&path, "*", json!({ "size_gib": 2 })).await;
    grown.expect_problem(403, "tenant-suspended");
    // an order that comes late changes nothing
    assert_eq!(put_tenant(&service, tenant, 0, "active", false).await, done());
    assert!(writes(&own).await.is_err());

    // somebody resumes the user by hand: the reconciler suspends it again
    let resume = [("uid", tenant.k8s_name()), ("suspended", "false".to_owned())];
    let resume: Vec<_> = resume.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(fixture.rgw("POST", "user", &resume).await.0, 200);
    eventually("the user is suspended again", async || writes(&own).await.is_err().then_some(())).await;

    assert_eq!(put_tenant(&service, tenant, 2, "active", false).await, done());
    writes(&own).await.unwrap();
    let _ = member.post("/v1/storages", new).await.expect(202);
    service.stop().await;
}

#[tokio::test]
async fn a_deleted_tenant_keeps_its_storages_for_the_time_of_grace_only() {
    let fixture = Fixture::with_cluster().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let volume = make(&member, "disk", "ssd", 1).await;
    let bucket = make(&member, "art", "archive", 1).await;
    let own = credential(&member, &bucket).await.expect(201);
    put(&s3(&own.body), own.str("bucket"), "k", 1).await.unwrap();
    let attachment = format!("/internal/v1/storages/{}/attachments/{}", volume.str("id"), InstanceId::new());
    let gpu = service.client.service("gpu");
    let attach = json!({ "tenant_id": tenant, "mode": "read_write" });
    let _ = gpu.put(&attachment, attach).await.expect(200);

    // suspended before, as a tenant that is deleted has been
    assert_eq!(put_tenant(&service, tenant, 1, "suspended", false).await, done());
    let both = json!({ "done": false, "remaining": { "storages": 2 } });
    assert_eq!(put_tenant(&service, tenant, 2, "deleting", false).await, both);
    assert!(put(&s3(&own.body), own.str("bucket"), "k", 1).await.is_err());
    state(&member, bucket.str("id"), "available").await;

    // what an instance uses waits for its end
    let one = json!({ "done": false, "remaining": { "storages": 1 } });
    eventually("the bucket is deleted", async || {
        (put_tenant(&service, tenant, 2, "deleting", true).await == one).then_some(())
    })
    .await;
    state(&member, volume.str("id"), "available").await;
    let _ = gpu.delete(&attachment).await.expect(204);
    eventually("nothing is left", async || {
        (put_tenant(&service, tenant, 2, "deleting", true).await == done()).then_some(())
    })
    .await;
    assert_eq!(fixture.user_keys(tenant).await, None);
    assert_eq!(fixture.buckets(tenant).await, Vec::<String>::new());
    let volumes = fixture.gpu_storages().list(&Default::default()).await.unwrap();
    assert!(volumes.items.is_empty());
    service.stop().await;
}

#[tokio::test]
async fn administrators_delete_any_tenants_storages_and_say_why() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    specs(&admin).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let bucket = make(&member, "art", "archive", 1).await;
    let path = format!("/v1/platform-storages/{}", bucket.str("id"));
    let listed = admin.get(&format!("/v1/platform-storages?tenant_id={tenant}")).await.expect(200);
    assert_eq!(listed.body["items"][0]["id"], bucket.body["id"]);
    assert_eq!(listed.body["items"][0]["tenant_id"], json!(tenant));
    assert_eq!(admin.get(&path).await.expect(200).str("name"), "art");
    for (method, suffix) in [(Method::GET, ""), (Method::GET, "/actions"), (Method::DELETE, "?reason=x")] {
        let refused = member.send(method, &format!("{path}{suffix}"), &Value::Null).await;
        refused.expect_problem(403, "forbidden");
    }
    assert_eq!(admin.delete(&path).await.status, 422);
    let unknown = format!("/v1/platform-storages/{}?reason=x", StorageId::new());
    admin.delete(&unknown).await.expect_problem(404, "not-found");
    let deleted = admin.delete(&format!("{path}?reason=stolen%20data")).await.expect(202);
    assert_eq!(deleted.str("state"), "deleting");
    eventually("the storage is gone", async || (admin.get(&path).await.status == 404).then_some(())).await;
    let actions = admin.get(&format!("{path}/actions")).await.expect(200);
    let action = &actions.body["items"][0];
    assert_eq!((&action["action"], &action["reason"]), (&json!("delete_storage"), &json!("stolen data")));
    assert_eq!(action["tenant_id"], json!(tenant));
    service.stop().await;
}
