//! Webhooks as tenants see them.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;

use crate::{
    endpoint::{Endpoint, all_are, attempted, create, execute, start},
    fixture::{Fixture, submit},
};

#[tokio::test]
async fn two_secrets_are_valid_while_one_is_replaced() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, old) = create(&member, &url, json!(["job.cancelled"])).await;
    let once = member.key("rotate");
    let rotated = once.post(&format!("{hook}/rotate-secret"), Value::Null).await.expect(200);
    let new = rotated.str("secret").to_owned();
    let replayed = once.post(&format!("{hook}/rotate-secret"), Value::Null).await.expect(200);
    assert_eq!(replayed.body["secret"], Value::Null);
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let _ = member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    let both = endpoint.count(1).await;
    assert_eq!(both[0].id, format!("{job}-2"), "other types are not sent");
    assert!(both[0].is_signed_with(&old) && both[0].is_signed_with(&new));
    execute(&fixture, "update jobs.webhooks set previous_until = now()").await;
    let _ = member.post(&format!("{hook}/test"), Value::Null).await.expect(202);
    let after = endpoint.count(2).await;
    assert_eq!(after[1].message()["type"], "webhook.test");
    assert!(!after[1].is_signed_with(&old) && after[1].is_signed_with(&new));
    assert_eq!(member.get(&hook).await.expect(200).body["previous_secret_until"], Value::Null);
    // at rest it is not readable
    let mut conn = fixture.db.admin().await;
    let stored: Vec<u8> =
        sqlx::query_scalar("select secret from jobs.webhooks").fetch_one(&mut conn).await.unwrap();
    let plain = STANDARD.decode(new.strip_prefix("whsec_").unwrap()).unwrap();
    assert!(!stored.windows(plain.len()).any(|part| part == plain));
    conn.close().await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn a_test_is_sent_once_also_by_a_disabled_webhook() {
    let fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[500]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    let _ = member.patch(&hook, "*", json!({ "enabled": false })).await.expect(200);
    let (other, other_url) = Endpoint::start(&[]).await;
    let _ = create(&member, &other_url, json!([])).await;
    let _ = submit(&member, json!({})).await;
    let _ = other.count(1).await;
    let sent = member.post(&format!("{hook}/test"), Value::Null).await.expect(202);
    assert_eq!((sent.str("type"), sent.str("state")), ("webhook.test", "pending"));
    let failed = all_are(&member, &hook, "failed").await;
    assert_eq!((failed.len(), &failed[0]["id"]), (1, &sent.body["id"]));
    assert_eq!(endpoint.received().len(), 1);
    assert_eq!(member.get(&hook).await.expect(200).body["failing_since"], Value::Null);
    service.stop().await;
}

#[tokio::test]
async fn private_addresses_are_not_connected_to() {
    let mut fixture = Fixture::new().await;
    fixture.config.webhooks.allow_private = false;
    let (service, member) = start(&fixture).await;
    let (endpoint, url) = Endpoint::start(&[]).await;
    for bad in [
        url.as_str(),
        "ftp://example.com/",
        "http://u:p@example.com/",
        "http://169.254.169.254/",
        "http://[::ffff:10.0.0.1]/",
        "nonsense",
    ] {
        member.post("/v1/webhooks", json!({ "url": bad })).await.expect_problem(422, "invalid-field");
    }
    let named = url.replace("127.0.0.1", "localhost");
    assert_ne!(named, url);
    let (hook, _) = create(&member, &named, json!([])).await;
    let _ = member.post(&format!("{hook}/test"), Value::Null).await.expect(202);
    let refused = attempted(&member, &hook, 1).await;
    assert_eq!(refused["attempts"][0]["error"], "address_not_allowed");
    assert_eq!(endpoint.received().len(), 0);
    service.stop().await;
    // http is for development, too
    fixture.config.webhooks.allow_http = false;
    let service = fixture.start().await;
    let member = fixture.member(&service, TenantId::new());
    let plain = json!({ "url": "http://example.com/" });
    member.post("/v1/webhooks", plain).await.expect_problem(422, "invalid-field");
    service.stop().await;
}

#[tokio::test]
async fn webhooks_are_their_tenants() {
    let mut fixture = Fixture::new().await;
    let (service, member) = start(&fixture).await;
    let stranger = fixture.member(&service, TenantId::new());
    let (endpoint, url) = Endpoint::start(&[]).await;
    let (hook, _) = create(&member, &url, json!([])).await;
    for answer in [
        stranger.get(&hook).await,
        stranger.get(&format!("{hook}/deliveries")).await,
        stranger.patch(&hook, "*", json!({ "enabled": false })).await,
        stranger.post(&format!("{hook}/test"), Value::Null).await,
        stranger.post(&format!("{hook}/rotate-secret"), Value::Null).await,
        stranger.delete(&hook).await,
    ] {
        answer.expect_problem(404, "not-found");
    }
    assert_eq!(stranger.get("/v1/webhooks").await.expect(200).body["items"], json!([]));
    let _ = submit(&stranger, json!({})).await;
    let own = submit(&member, json!({})).await.str("id").to_owned();
    let _ = all_are(&member, &hook, "delivered").await;
    let ids: Vec<_> = endpoint.received().into_iter().map(|message| message.id).collect();
    assert_eq!(ids, [format!("{own}-1")]);
    for _ in 1..16 {
        let _ = create(&member, "https://example.com/", json!(["job.failed"])).await;
    }
    let many =
        member.post("/v1/webhooks", json!({ "url": url })).await.expect_problem(409, "too-many-webhooks");
    assert_eq!(many.body["limit"], 16);
    let _ = member.delete(&hook).await.expect(204);
    member.get(&hook).await.expect_problem(404, "not-found");
    service.stop().await;
    fixture.config.encryption_keys.clear();
    let service = fixture.start().await;
    let member = fixture.member(&service, TenantId::new());
    member.post("/v1/webhooks", json!({ "url": url })).await.expect_problem(503, "unavailable");
    service.stop().await;
}

#[tokio::test]
async fn a_suspended_tenant_creates_none_and_those_of_a_deleted_one_end_with_its_storages() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let (hook, _) = create(&member, "https://example.com/", json!([])).await;
    let path = format!("/internal/v1/tenants/{tenant}");
    let order = async |generation, state, delete_storages| {
        let order = json!({ "generation": generation, "state": state, "delete_storages": delete_storages });
        let _ = service.client.service("identity").put(&path, order).await.expect(200);
    };
    order(2, "suspended", false).await;
    let body = json!({ "url": "https://example.com/" });
    member.post("/v1/webhooks", body).await.expect_problem(403, "tenant-suspended");
    order(3, "deleting", false).await;
    let _ = member.get(&hook).await.expect(200);
    order(3, "deleting", true).await;
    member.get(&hook).await.expect_problem(404, "not-found");
    service.stop().await;
}
