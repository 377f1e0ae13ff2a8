//! Calls of other services in the requests of users: this service decides on the user.

use auth::{Claims, Role};
use ids::TenantId;
use serde_json::json;

use crate::fixture::{Fixture, instance};

#[tokio::test]
async fn a_user_sees_the_places_of_the_own_tenant() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let (tenant, waiting) = (TenantId::new(), instance());
    let _ = replica.claim(&instance(), &spec).await.expect(201);
    let wish = json!({ "tenant_id": tenant, "gpu_spec_id": spec });
    let _ = replica.service.put(&format!("/internal/v1/queue/{waiting}"), wish).await.expect(200);

    let claims = fixture.issuer.claims(Some((tenant, Role::Viewer)), false);
    let subject = |claims: &Claims| replica.service.on_behalf(&fixture.issuer.sign(claims));
    let places = format!("/internal/v1/queue?instance_ids={waiting},{}", instance());
    let own = subject(&claims).get(&places).await.expect(200).body;
    assert_eq!((&own["items"][0]["instance_id"], &own["items"][0]["position"]), (&json!(waiting), &json!(1)));
    let admin = replica.on_behalf.get(&places).await.expect(200).body;
    let alone = replica.service.get(&places).await.expect(200).body;
    assert_eq!((&admin, &alone), (&own, &own));
    // as of an instance that does not wait
    let other = fixture.issuer.claims(Some((TenantId::new(), Role::Owner)), false);
    assert_eq!(subject(&other).get(&places).await.expect(200).body, json!({ "items": [] }));
    let none = fixture.issuer.claims(None, false);
    subject(&none).get(&places).await.expect_problem(403, "forbidden");
    let scoped = Claims { scope: Some("storages:write".into()), ..claims.clone() };
    subject(&scoped).get(&places).await.expect_problem(403, "insufficient-scope");
}

#[tokio::test]
async fn what_an_order_asks_for_is_asked_for_a_user() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "1").await;
    let quote = format!("/internal/v1/quotes?gpu_spec_id={spec}");
    let claims = fixture.issuer.claims(Some((TenantId::new(), Role::Member)), false);
    let subject = |claims: &Claims| replica.service.on_behalf(&fixture.issuer.sign(claims));
    for path in ["/internal/v1/gpu-specs/a", &quote, "/v1/datacenters"] {
        let _ = subject(&claims).get(path).await.expect(200);
        // what a service orders for itself names a specification, too
        match path.contains("gpu-specs") {
            true => drop(replica.service.get(path).await.expect(200)),
            false => drop(replica.service.get(path).await.expect_problem(401, "unauthenticated")),
        }
        let expired = Claims { exp: claims.exp - 700, ..claims.clone() };
        subject(&expired).get(path).await.expect_problem(401, "unauthenticated");
        let scoped = Claims { scope: Some("usage:read".into()), ..claims.clone() };
        subject(&scoped).get(path).await.expect_problem(403, "insufficient-scope");
        if path.starts_with("/internal/") {
            let gateway = replica.base.service("gateway").on_behalf(&fixture.issuer.sign(&claims));
            gateway.get(path).await.expect_problem(403, "forbidden");
        }
    }
}

#[tokio::test]
async fn a_claim_is_for_the_tenant_of_the_user() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 1).await;
    let (tenant, id) = (TenantId::new(), instance());
    let (claim, wish) = (
        json!({ "instance_id": id, "tenant_id": tenant, "gpu_spec_id": spec }),
        json!({ "tenant_id": tenant, "gpu_spec_id": spec }),
    );
    let queue = format!("/internal/v1/queue/{id}");
    let stranger = replica.service.on_behalf(&fixture.issuer.user(TenantId::new(), Role::Owner));
    stranger.post("/internal/v1/claims", claim.clone()).await.expect_problem(404, "not-found");
    stranger.put(&queue, wish).await.expect_problem(404, "not-found");
    for other in ["gateway", "identity", "storage"] {
        let other = replica.base.service(other);
        other.post("/internal/v1/claims", claim.clone()).await.expect_problem(403, "forbidden");
        other.delete(&format!("/internal/v1/claims/{id}")).await.expect_problem(403, "forbidden");
    }
    assert_eq!(replica.numbers().await, [1, 0, 0, 1]);
    let own = replica.service.on_behalf(&fixture.issuer.user(tenant, Role::Member));
    let _ = own.post("/internal/v1/claims", claim).await.expect(201);
    // releases are workers'
    own.delete(&format!("/internal/v1/claims/{id}")).await.expect_problem(403, "forbidden");
    assert_eq!(replica.numbers().await, [0, 0, 1, 1]);
    assert_eq!(
        replica.service.get(&format!("/internal/v1/claims/{id}")).await.expect(200).body["instance_id"],
        id
    );
}

#[tokio::test]
async fn what_a_service_orders_names_a_datacenter() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let id = replica.datacenter("uk-1").await;
    for name in ["uk-1", &id] {
        let found = replica.service.get(&format!("/internal/v1/datacenters/{name}")).await.expect(200);
        assert_eq!(found.str("id"), id);
    }
    replica.service.get("/internal/v1/datacenters/uk-2").await.expect_problem(404, "not-found");
    let gateway = replica.base.service("gateway");
    gateway.get("/internal/v1/datacenters/uk-1").await.expect_problem(403, "forbidden");
}
