//! Credentials and webhooks end with those who made them.

use std::time::Duration;

use auth::{Claims, Revocation, Role, session_of};
use futures::StreamExt as _;
use ids::{ApiKeyId, TenantId, UserId};
use lapin::{options::BasicConsumeOptions, types::FieldTable};
use serde_json::{Value, json};
use testkit::{Client, eventually};
use uuid::Uuid;

use crate::{
    endpoint::Endpoint,
    fixture::{Fixture, Service, pool, submit},
    mq_tenant::{Studio, Tenant, connect, fox, named},
};

/// A client with a token of this user, or of their API key.
fn client(
    fixture: &Fixture,
    service: &Service,
    tenant: TenantId,
    role: Role,
    who: (UserId, Option<ApiKeyId>),
) -> Client {
    let claims = fixture.issuer.claims(Some((tenant, role)), false);
    let (sub, key) = who;
    let sid = key.map(session_of);
    service.client.token(&fixture.issuer.sign(&Claims { sub, key, sid, ..claims }))
}

/// The member is removed, or becomes a viewer.
fn removed(user: UserId, tenant: TenantId) -> Revocation {
    Revocation { user_id: Some(user), tenant_id: Some(tenant), session_id: None }
}

async fn items(client: &Client, path: &str) -> Vec<Value> {
    client.get(path).await.expect(200).body["items"].as_array().unwrap().clone()
}

/// The operations of the audit log of the tenant that a service did on its own.
async fn done_by_service(fixture: &Fixture, tenant: TenantId) -> Vec<String> {
    let entries = "select entry from jobs.audit_entries where tenant_id = $1 order by number";
    let entries = sqlx::query_scalar::<_, String>(entries).bind(tenant.uuid());
    let entries = entries.fetch_all(&mut fixture.db.admin().await).await.unwrap();
    let entries = entries.iter().map(|entry| serde_json::from_str::<Value>(entry).unwrap());
    let own = entries.filter(|entry| entry["service"] == "jobs" && entry["user_id"].is_null());
    own.map(|entry| entry["operation"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_key_whose_requests_are_limited_makes_no_credentials() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let tenant = TenantId::new();
    let key = |scope: &str, limited| {
        let claims = fixture.issuer.claims(Some((tenant, Role::Owner)), false);
        let (key, scope) = (Some(ApiKeyId::new()), Some(scope.to_owned()));
        service.client.token(&fixture.issuer.sign(&Claims { key, scope, limited, ..claims }))
    };
    let create = async |client: Client| client.post("/v1/mq-credentials", json!({ "name": "farm" })).await;
    create(key("api-keys:write jobs:write", true)).await.expect_problem(403, "api-key-limited");
    create(key("api-keys:write", false)).await.expect_problem(403, "insufficient-scope");
    // there is no broker here
    create(key("api-keys:write jobs:write", false)).await.expect_problem(503, "unavailable");
    service.stop().await;
}

#[tokio::test]
async fn what_a_removed_member_has_made_for_messages_ends() {
    let studio = Studio::new().await;
    let service = studio.fixture.start().await;
    let _ = pool(&studio.fixture.admin(&service)).await;
    let (id, user, key) = (TenantId::new(), UserId::new(), ApiKeyId::new());
    let person = client(&studio.fixture, &service, id, Role::Member, (user, None));
    let script = client(&studio.fixture, &service, id, Role::Member, (user, Some(key)));
    let owner = client(&studio.fixture, &service, id, Role::Owner, (UserId::new(), None));
    let mut tenants = Vec::new();
    for member in [&person, &script, &person, &owner] {
        let made = member.post("/v1/mq-credentials", json!({ "name": "farm" })).await.expect(201);
        let (user, secret) = (made.str("id").to_owned(), made.str("secret").to_owned());
        let (url, queue) = (studio.broker.url_of(&user, &secret), made.str("queue").to_owned());
        tenants.push(Tenant { id, member: member.clone(), url, user, queue });
    }
    let [by_person, by_key, taken_over, by_owner] = &tenants[..] else { panic!("there are four") };
    let path = format!("/v1/mq-credentials/{}/take-over", taken_over.user);
    person.post(&path, Value::Null).await.expect_problem(403, "forbidden");
    let owned = owner.post(&path, Value::Null).await.expect(200);
    let listed = items(&owner, "/v1/mq-credentials").await;
    let makers: Vec<_> =
        listed.iter().map(|one| (one["created_by"].clone(), one["created_by_key"].clone())).collect();
    let by_the_owner = (owned.body["created_by"].clone(), Value::Null);
    let expected =
        [(json!(user), Value::Null), (json!(user), json!(key)), by_the_owner.clone(), by_the_owner];
    assert_eq!(makers, expected);

    // connections that read, and publish nothing
    let mut open = Vec::new();
    for tenant in &tenants {
        let line = tenant.open().await;
        let (tag, options) = ("".into(), BasicConsumeOptions::default());
        let consumer =
            line.channel.basic_consume(tenant.queue.as_str().into(), tag, options, FieldTable::default());
        open.push((consumer.await.unwrap(), line));
    }
    let ended = async |consumer: &mut lapin::Consumer| {
        let end = async { while consumer.next().await.is_some_and(|next| next.is_ok()) {} };
        tokio::time::timeout(Duration::from_secs(20), end).await.expect("the connection is closed");
    };
    studio.fixture.issuer.revoke(Revocation { session_id: Some(session_of(key)), ..Revocation::default() });
    ended(&mut open[1].0).await;
    assert!(connect(&by_key.url).await.is_err(), "the credential of an API key opens the broker after it");
    assert_eq!(items(&owner, "/v1/mq-credentials").await.len(), 3);
    let _ = connect(&by_person.url).await.unwrap();

    studio.fixture.issuer.revoke(removed(user, id));
    ended(&mut open[0].0).await;
    assert!(connect(&by_person.url).await.is_err(), "the credential of a removed member opens the broker");
    for (tenant, (_, line)) in tenants.iter().zip(&open) {
        let stays = [&taken_over.user, &by_owner.user].contains(&&tenant.user);
        assert_eq!(line.connection.status().connected(), stays, "{}", tenant.user);
    }
    let number = Uuid::new_v4();
    let mut line = taken_over.open().await;
    drop(open);
    line.send(&fox(number, "a fox")).await;
    assert_eq!(named(&line.event().await), ("accepted", number));
    assert_eq!(done_by_service(&studio.fixture, id).await, vec!["jobs end_mq_credential"; 2]);
    // deletion, and the suspension of the tenant, close connections as well
    let _ = owner.delete(&format!("/v1/mq-credentials/{}", taken_over.user)).await.expect(204);
    eventually("it is closed", async || (!line.connection.status().connected()).then_some(())).await;
    let line = by_owner.open().await;
    let order = json!({ "generation": 2, "state": "suspended", "delete_storages": false });
    let identity = service.client.service("identity");
    let _ = identity.put(&format!("/internal/v1/tenants/{id}"), order).await.expect(200);
    eventually("it is closed", async || (!line.connection.status().connected()).then_some(())).await;
    // and with the tenant, its queue ends
    assert!(studio.find_queue(&by_owner.queue).await.is_some());
    let order = json!({ "generation": 3, "state": "deleting", "delete_storages": true });
    eventually("the queue is deleted", async || {
        let order = identity.put(&format!("/internal/v1/tenants/{id}"), order.clone()).await.expect(200);
        assert_eq!(order.body["remaining"].as_object().unwrap().get("webhooks"), None);
        studio.find_queue(&by_owner.queue).await.is_none().then_some(())
    })
    .await;
    service.stop().await;
}

#[tokio::test]
async fn a_webhook_is_disabled_with_the_rights_of_its_maker() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let (tenant, user, key) = (TenantId::new(), UserId::new(), ApiKeyId::new());
    let person = client(&fixture, &service, tenant, Role::Member, (user, None));
    let script = client(&fixture, &service, tenant, Role::Member, (user, Some(key)));
    let (owner_id, other_id) = (UserId::new(), UserId::new());
    let owner = client(&fixture, &service, tenant, Role::Owner, (owner_id, None));
    let other = client(&fixture, &service, tenant, Role::Member, (other_id, None));
    let (_endpoint, url) = Endpoint::start(&[]).await;
    let create = async |member: &Client| {
        let body = json!({ "url": url, "events": ["job.submitted"] });
        member.post("/v1/webhooks", body).await.expect(201).str("id").to_owned()
    };
    let ids = [create(&person).await, create(&script).await, create(&person).await, create(&person).await];
    let path = |n: usize| format!("/v1/webhooks/{}", ids[n]);
    let take_over = |n| format!("{}/take-over", path(n));
    person.post(&take_over(2), Value::Null).await.expect_problem(403, "forbidden");
    assert_eq!(
        owner.post(&take_over(2), Value::Null).await.expect(200).str("created_by"),
        owner_id.to_string()
    );
    // who decides where events go is the maker
    let elsewhere = json!({ "url": format!("{url}/other") });
    let moved = other.patch(&path(3), "*", elsewhere).await.expect(200);
    assert_eq!(moved.str("created_by"), other_id.to_string());
    // what was made before makers were recorded belongs to the tenant
    let null =
        "update jobs.webhooks set created_by = null, created_by_key = null, rights_at = null where id = $1";
    let own = create(&person).await;
    let uuid = own.parse::<ids::WebhookId>().unwrap().uuid();
    sqlx::query(null).bind(uuid).execute(&mut fixture.db.admin().await).await.unwrap();

    let states = async || {
        let listed = items(&owner, "/v1/webhooks").await;
        listed.iter().map(|one| one["problem"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let become_states = async |expected: [&str; 5]| {
        eventually("the others are disabled", async || (states().await == expected).then_some(())).await;
    };
    fixture.issuer.revoke(Revocation { session_id: Some(session_of(key)), ..Revocation::default() });
    become_states(["", "maker_ended", "", "", ""]).await;
    fixture.issuer.revoke(removed(user, tenant));
    become_states(["maker_ended", "maker_ended", "", "", ""]).await;
    submit(&owner, json!({})).await;
    let page = async |n| items(&owner, &format!("{}/deliveries", path(n))).await;
    eventually("the event is sent", async || {
        (!page(2).await.is_empty() && !page(3).await.is_empty()).then_some(())
    })
    .await;
    assert_eq!((page(0).await, page(1).await), (vec![], vec![]), "events go to somebody without rights");
    // who enables one is its maker, and an owner may take it over
    let enabled = other.patch(&path(0), "*", json!({ "enabled": true })).await.expect(200);
    assert_eq!((enabled.str("created_by"), &enabled.body["problem"]), (&*other_id.to_string(), &Value::Null));
    let taken = owner.post(&take_over(1), Value::Null).await.expect(200);
    assert_eq!((&taken.body["enabled"], &taken.body["problem"]), (&json!(true), &Value::Null));
    fixture.issuer.revoke(removed(other_id, tenant));
    become_states(["maker_ended", "", "", "maker_ended", ""]).await;
    assert_eq!(done_by_service(&fixture, tenant).await, vec!["jobs end_webhook"; 4]);
    service.stop().await;
}

#[tokio::test]
async fn what_ends_while_nobody_follows_is_found_later() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let (tenant, user) = (TenantId::new(), UserId::new());
    let person = client(&fixture, &service, tenant, Role::Member, (user, None));
    let body = json!({ "url": "http://127.0.0.1:9/", "events": [] });
    let made = person.post("/v1/webhooks", body).await.expect(201);
    service.stop().await;
    fixture.issuer.revoke(removed(user, tenant));
    let service = fixture.start().await;
    let owner = client(&fixture, &service, tenant, Role::Owner, (UserId::new(), None));
    let path = format!("/v1/webhooks/{}", made.str("id"));
    let disabled = async || (owner.get(&path).await.expect(200).body["enabled"] == false).then_some(());
    eventually("the webhook is disabled", disabled).await;
    service.stop().await;
}
