//! Calls of other services in the requests of users: this service decides on the user.

use auth::{Claims, Revocation, Role};
use ids::{InstanceId, StorageId, TenantId};
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::fixture::{Fixture, make, remove, specs};

/// What a caller learns from an answer.
fn seen(response: &Response) -> (u16, Value) {
    (response.status, response.body.clone())
}

async fn log(owner: &Client) -> Vec<Value> {
    owner.get("/v1/storage-audit").await.expect(200).body["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_service_acts_as_the_user_whose_request_it_is() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let gpu = service.client.service("gpu");
    let claims = fixture.issuer.claims(Some((tenant, Role::Member)), false);
    let as_user = gpu.on_behalf(&fixture.issuer.sign(&claims));
    let order = json!({ "name": "art", "storage_spec": "archive", "size_gib": 1 });
    let made = as_user.post("/v1/storages", order.clone()).await.expect(202);
    let path = format!("/v1/storages/{}", made.str("id"));
    let _ = as_user.get(&path).await.expect(200);

    // another tenant's is like a missing one
    let other = gpu.on_behalf(&fixture.issuer.user(TenantId::new(), Role::Owner));
    let missing = format!("/v1/storages/{}", StorageId::new());
    assert_eq!(seen(&other.get(&path).await.expect(404)), seen(&other.get(&missing).await));

    let viewer = gpu.on_behalf(&fixture.issuer.user(tenant, Role::Viewer));
    viewer.post("/v1/storages", order.clone()).await.expect_problem(403, "forbidden");
    let scoped = Claims { scope: Some("instances:write".into()), ..claims.clone() };
    let scoped = gpu.on_behalf(&fixture.issuer.sign(&scoped));
    scoped.get(&path).await.expect_problem(403, "insufficient-scope");
    let expired = gpu.on_behalf(&fixture.issuer.sign(&Claims { exp: claims.exp - 700, ..claims.clone() }));
    expired.get(&path).await.expect_problem(401, "unauthenticated");
    gpu.get(&path).await.expect_problem(401, "unauthenticated");

    let owner = service.client.token(&fixture.issuer.user(tenant, Role::Owner));
    let entries = log(&owner).await;
    assert_eq!(entries.len(), 1, "refused requests have none: {entries:?}");
    assert_eq!((&entries[0]["user_id"], &entries[0]["service"]), (&json!(claims.sub), &json!("gpu")));
    assert_eq!(entries[0]["operation"], "POST /v1/storages");

    fixture.issuer.revoke(Revocation { user_id: Some(claims.sub), ..Revocation::default() });
    eventually("the subject is refused", async || (as_user.get(&path).await.status == 401).then_some(()))
        .await;
    remove(&fixture.member(&service, tenant), made.str("id")).await;
}

#[tokio::test]
async fn attachments_are_those_of_the_user_or_of_the_service() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let made = make(&member, "art", "archive", 1).await;
    let gpu = service.client.service("gpu");
    let claims = fixture.issuer.claims(Some((tenant, Role::Member)), false);
    let as_user = gpu.on_behalf(&fixture.issuer.sign(&claims));
    let as_stranger = gpu.on_behalf(&fixture.issuer.user(TenantId::new(), Role::Owner));
    let attachment =
        |storage: &str| format!("/internal/v1/storages/{storage}/attachments/{}", InstanceId::new());
    let path = attachment(made.str("id"));
    let order = json!({ "tenant_id": tenant, "mode": "read_only" });

    // the tenant in the body is not that of the user
    let missing = as_user.put(&attachment(&StorageId::new().to_string()), order.clone()).await.expect(404);
    assert_eq!(seen(&as_stranger.put(&path, order.clone()).await), seen(&missing));
    for other in ["gateway", "identity", "stock"] {
        let other = service.client.service(other);
        other.put(&path, order.clone()).await.expect_problem(403, "forbidden");
        other.delete(&path).await.expect_problem(403, "forbidden");
    }
    let scoped = Claims { scope: Some("instances:write".into()), ..claims.clone() };
    let scoped = gpu.on_behalf(&fixture.issuer.sign(&scoped));
    scoped.put(&path, order.clone()).await.expect_problem(403, "insufficient-scope");
    let attached = async || {
        let shown = member.get(&format!("/v1/storages/{}", made.str("id"))).await.expect(200);
        shown.body["attachments"].as_array().unwrap().len()
    };
    assert_eq!(attached().await, 0);

    for _ in 0..2 {
        let _ = as_user.put(&path, order.clone()).await.expect(200);
        let _ = gpu.put(&path, order.clone()).await.expect(200);
    }
    let _ = as_stranger.delete(&path).await.expect(204);
    assert_eq!(attached().await, 1, "detached by another tenant");
    let _ = gpu.delete(&path).await.expect(204);
    let _ = gpu.delete(&path).await.expect(204);
    assert_eq!(attached().await, 0);

    // what changed something, with who did it
    let owner = service.client.token(&fixture.issuer.user(tenant, Role::Owner));
    let entries: Vec<_> = log(&owner)
        .await
        .iter()
        .map(|entry| json!([entry["operation"], entry["user_id"], entry["service"], entry["fields"]]))
        .collect();
    let operation =
        |method: &str| format!("{method} /internal/v1/storages/{{id}}/attachments/{{instance_id}}");
    assert_eq!(
        entries[..2],
        [
            json!([operation("DELETE"), null, "gpu", []]),
            json!([operation("PUT"), claims.sub, "gpu", ["tenant_id", "mode"]]),
        ]
    );
    assert_eq!(entries.len(), 3, "{entries:?}");
    remove(&member, made.str("id")).await;
}

#[tokio::test]
async fn only_identity_ends_tenants() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let tenant = TenantId::new();
    let path = format!("/internal/v1/tenants/{tenant}");
    let order =
        json!({ "generation": 1, "state": "suspended", "stop_instances": false, "delete_storages": false });
    for other in ["gateway", "gpu", "stock"] {
        let other = service.client.service(other);
        other.put(&path, order.clone()).await.expect_problem(403, "forbidden");
    }
    let identity = service.client.service("identity");
    let subject = fixture.issuer.user(tenant, Role::Owner);
    identity.on_behalf(&subject).put(&path, order.clone()).await.expect_problem(403, "forbidden");
    for _ in 0..2 {
        let _ = identity.put(&path, order.clone()).await.expect(200);
    }
    let entries = log(&service.client.token(&subject)).await;
    assert_eq!(entries.len(), 1, "{entries:?}");
    assert_eq!((&entries[0]["user_id"], &entries[0]["service"]), (&Value::Null, &json!("identity")));
}
