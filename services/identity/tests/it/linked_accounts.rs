//! Accounts of providers that users link to their own user, the last way to sign in, and members who were removed.

use atelier_identity::MembershipRule;
use auth::Role;
use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, Response};

use crate::{
    authenticator::Authenticator,
    oidc::{Fixture, assert_failed, begun, cookie},
    platform::{ADMIN, PASSWORD},
};

const EMAIL: &str = "ada@x.test";

/// Links the account of the claims to the client's user. Returns the answer to the provider's redirect.
async fn link(fixture: &Fixture, client: &Client, claims: &Value) -> Response {
    let body = json!({ "provider": "corp", "return_to": "/studio?tab=1" });
    let answer = client.post("/v1/me/linked-accounts", body).await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    fixture.finish(begun(&answer, answer.str("url")), claims, |_, _| {}).await
}

async fn accounts(client: &Client) -> Vec<Value> {
    let list = client.get("/v1/me/linked-accounts").await.expect(200);
    list.body["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_user_links_an_account_and_signs_in_with_it() {
    let fixture = Fixture::with(|corp| corp.just_in_time = false).await;
    let platform = &fixture.platform;
    let admin = platform.admin().await;
    let user = platform.user(&admin, EMAIL).await;
    let client = platform.as_user(EMAIL).await;
    // its e-mail address does not matter
    let claims = fixture.provider.claims("ada-at-corp", "someone.else@corp.test");
    assert_failed(&fixture.sign_in(&claims).await, "no-account");
    let answer = link(&fixture, &client, &claims).await.expect(303);
    assert_eq!(answer.header("location"), Some("/studio?tab=1"));
    assert_eq!(cookie(&answer, "__Host-atelier_session="), None, "the session stays as it is");
    assert_eq!(cookie(&answer, "__Host-atelier_sign_in="), Some("__Host-atelier_sign_in=".to_owned()));
    let linked = accounts(&client).await;
    assert_eq!(linked.len(), 1);
    assert_eq!((&linked[0]["provider"], &linked[0]["subject"]), (&json!("corp"), &json!("ada-at-corp")));
    assert_eq!(linked[0]["issuer"], fixture.provider.url);

    let answer = fixture.sign_in(&claims).await.expect(303);
    let me = fixture.session(&answer).await.get("/v1/me").await.expect(200);
    assert_eq!(me.body["user"]["id"], user);
    // linking it again does not create a second account
    let _ = link(&fixture, &client, &claims).await.expect(303);
    assert_eq!(accounts(&client).await.len(), 1);
    // both are in the audit log, as is the sign-in
    let log = admin.get("/v1/platform-audit").await.expect(200).body["items"].clone();
    let count = |operation: &str| {
        let entries = log.as_array().unwrap().iter();
        entries.filter(|entry| entry["operation"] == operation && entry["user_id"] == user).count()
    };
    assert_eq!(count("POST /v1/me/linked-accounts"), 2);
    assert_eq!(count("GET /v1/sign-in/{provider}/callback"), 3);

    // an account of another user
    let other = link(&fixture, &admin, &claims).await;
    assert_failed(&other, "account-taken");
    assert!(accounts(&admin).await.is_empty());
    let path = format!("/v1/me/linked-accounts/{}", linked[0]["id"].as_str().unwrap());
    admin.delete(&path).await.expect_problem(404, "not-found");
    let _ = client.delete(&path).await.expect(204);
    assert!(accounts(&client).await.is_empty());
    assert_failed(&fixture.sign_in(&claims).await, "no-account");
    client.delete(&path).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn a_link_belongs_to_the_session_that_began_it() {
    let fixture = Fixture::with(|corp| corp.just_in_time = false).await;
    let platform = &fixture.platform;
    let admin = platform.admin().await;
    let user = platform.user(&admin, EMAIL).await;
    let claims = fixture.provider.claims("ada-at-corp", EMAIL);
    let body = json!({ "provider": "corp", "return_to": "/studio?tab=1" });

    let client = platform.as_user(EMAIL).await;
    let answer = client.post("/v1/me/linked-accounts", body.clone()).await.expect(200);
    let _ = client.delete("/v1/sessions/current").await.expect(204);
    let ended = fixture.finish(begun(&answer, answer.str("url")), &claims, |_, _| {}).await;
    assert_failed(&ended, "unauthenticated");

    let client = platform.as_user(EMAIL).await;
    let answer = client.post("/v1/me/linked-accounts", body.clone()).await.expect(200);
    // without the cookie of the browser that began it
    let without = fixture.finish(begun(&answer, answer.str("url")), &claims, |_, parameters| {
        parameters.remove("cookie");
    });
    without.await.expect_problem(401, "sign-in-failed");
    let answer = client.post("/v1/me/linked-accounts", body.clone()).await.expect(200);
    let _ = admin.patch(&format!("/v1/users/{user}"), "*", json!({ "disabled": true })).await.expect(200);
    let disabled = fixture.finish(begun(&answer, answer.str("url")), &claims, |_, _| {}).await;
    assert_failed(&disabled, "user-disabled");
    assert_failed(&fixture.sign_in(&claims).await, "email-taken");

    for (body, pointer) in [
        (json!({ "provider": "other" }), "/provider"),
        (json!({ "provider": "corp", "return_to": "//evil.test" }), "/return_to"),
    ] {
        let answer = admin.post("/v1/me/linked-accounts", body).await.expect_problem(422, "invalid-field");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer);
    }
    let key = json!({ "name": "ci", "scopes": ["account:write"] });
    let key = admin.post("/v1/api-keys", key).await.expect(201);
    let exchange = json!({ "credential": key.str("secret"), "client_address": "203.0.113.7" });
    let granted = platform.client.service("gateway").post("/internal/v1/token-exchanges", exchange).await;
    let keyed = platform.client.token(granted.expect(200).str("access_token"));
    keyed.post("/v1/me/linked-accounts", body).await.expect_problem(403, "person-required");
}

#[tokio::test]
async fn the_last_way_to_sign_in_stays() {
    let fixture = Fixture::with(|_| {}).await;
    let claims = fixture.provider.claims("ada", "ada@corp.test");
    let answer = fixture.sign_in(&claims).await.expect(303);
    let client = fixture.session(&answer).await;
    let user = client.get("/v1/me").await.expect(200).body["user"]["id"].as_str().unwrap().to_owned();
    // the password of a user whom the sign-in has created is random
    let of = |accounts: Vec<Value>| format!("/v1/me/linked-accounts/{}", accounts[0]["id"].as_str().unwrap());
    let account = of(accounts(&client).await);
    client.delete(&account).await.expect_problem(409, "last-sign-in-method");
    assert_eq!(accounts(&client).await.len(), 1);

    let begun = client.post("/v1/me/passkey-registrations", Value::Null).await.expect(201);
    let options = &begun.body["public_key"];
    let body = json!({ "name": "phone", "credential": Authenticator::new(options).create(options) });
    let passkey = client.post("/v1/me/passkeys", body).await.expect(201);
    let passkey = format!("/v1/me/passkeys/{}", passkey.str("id"));
    let _ = client.delete(&account).await.expect(204);
    client.delete(&passkey).await.expect_problem(409, "last-sign-in-method");
    let _ = client.get(&passkey).await.expect(200);

    // a password that the user knows suffices
    let admin = fixture.platform.admin().await;
    let _ = admin.patch(&format!("/v1/users/{user}"), "*", json!({ "password": PASSWORD })).await.expect(200);
    let client = fixture.platform.as_user("ada@corp.test").await;
    let _ = client.delete(&passkey).await.expect(204);
}

#[tokio::test]
async fn concurrent_removals_leave_one_way_to_sign_in() {
    let fixture = Fixture::with(|_| {}).await;
    let answer = fixture.sign_in(&fixture.provider.claims("ada", "ada@corp.test")).await.expect(303);
    let client = fixture.session(&answer).await;
    for n in 0..3 {
        let claims = fixture.provider.claims(&format!("ada-{n}"), "ada@corp.test");
        let _ = link(&fixture, &client, &claims).await.expect(303);
    }
    let removals = accounts(&client).await.into_iter().map(|account| {
        let (client, path) =
            (client.clone(), format!("/v1/me/linked-accounts/{}", account["id"].as_str().unwrap()));
        tokio::spawn(async move { client.delete(&path).await.status })
    });
    let mut statuses = Vec::new();
    for removal in removals.collect::<Vec<_>>() {
        statuses.push(removal.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 204, 204, 409]);
    assert_eq!(accounts(&client).await.len(), 1);
}

#[tokio::test]
async fn a_removed_member_does_not_return_by_a_rule() {
    let tenant = TenantId::new();
    let fixture = Fixture::with(|corp| {
        corp.memberships =
            vec![MembershipRule { tenant, role: Role::Member, email_domain: None, claim: None }];
    })
    .await;
    let platform = &fixture.platform;
    let mut db = platform.db.admin().await;
    sqlx::query("insert into identity.tenants (id, name) values ($1, 'studio')")
        .bind(tenant.uuid())
        .execute(&mut db)
        .await
        .unwrap();
    let admin = platform.admin().await;
    let me = admin.get("/v1/me").await.expect(200);
    platform.member(&admin, &tenant.to_string(), me.body["user"]["id"].as_str().unwrap(), "owner").await;
    let owner = platform.as_user(ADMIN).await;
    let claims = fixture.provider.claims("ada", "ada@corp.test");
    let tenant_of = async || {
        let answer = fixture.sign_in(&claims).await.expect(303);
        let me = fixture.session(&answer).await.get("/v1/me").await.expect(200);
        (me.body["tenant_id"].clone(), me.body["user"]["id"].as_str().unwrap().to_owned())
    };
    let (of, user) = tenant_of().await;
    assert_eq!(of, tenant.to_string());
    // the sign-in is in the log of the tenant
    let log = owner.get("/v1/audit").await.expect(200).body["items"].clone();
    let entry = log.as_array().unwrap().iter().find(|entry| entry["user_id"] == user).unwrap();
    assert_eq!(entry["operation"], "GET /v1/sign-in/{provider}/callback");
    assert_eq!((&entry["path"], &entry["status"]), (&json!("/v1/sign-in/corp/callback"), &json!(303)));
    assert!(entry["session_id"].as_str().unwrap().starts_with("ses_"));

    let member = format!("/v1/tenants/{tenant}/members/{user}");
    for _ in 0..2 {
        let _ = owner.delete(&member).await.expect(204);
        assert_eq!(tenant_of().await.0, Value::Null);
        // the rule does not add a user with an open invitation; accepting the invitation does
        let invitation = json!({ "email": "ada@corp.test", "role": "viewer" });
        let path = format!("/v1/tenants/{tenant}/invitations");
        let invitation = owner.post(&path, invitation).await.expect(201);
        assert_eq!(tenant_of().await.0, Value::Null);
        let answer = fixture.sign_in(&claims).await.expect(303);
        let accept = format!("/v1/me/invitations/{}/accept", invitation.str("id"));
        let _ = fixture.session(&answer).await.post(&accept, Value::Null).await.expect(200);
        assert_eq!(tenant_of().await.0, tenant.to_string());
    }
    // an administrator adds the user again, too
    let _ = owner.delete(&member).await.expect(204);
    platform.member(&admin, &tenant.to_string(), &user, "viewer").await;
    let mut removed = sqlx::query_scalar::<_, i64>("select count(*) from identity.removed_members")
        .fetch_one(&mut db)
        .await
        .unwrap();
    assert_eq!(removed, 0);
    let _ = owner.delete(&member).await.expect(204);
    removed =
        sqlx::query_scalar("select count(*) from identity.removed_members").fetch_one(&mut db).await.unwrap();
    assert_eq!(removed, 1);
}
