//! Operations for persons only, not for API keys: changes of the ways to sign in, and of the owners of a tenant. And objects that
//! API keys create, which never have more rights than the key.

use auth::{Claims, Scope};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::{LinkedAccountId, PasskeyId};
use jiff::Timestamp;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::platform::{ADMIN, PASSWORD, Platform};

/// A tenant whose owner is an administrator.
struct Fixture {
    platform: Platform,
    tenant: String,
    owner: Client,
    user: String,
}

impl Fixture {
    async fn new() -> Self {
        let platform = Platform::start().await;
        let admin = platform.admin().await;
        let tenant = platform.tenant(&admin, "studio").await;
        let user = admin.get("/v1/me").await.expect(200).body["user"]["id"].as_str().unwrap().to_owned();
        platform.member(&admin, &tenant, &user, "owner").await;
        let owner = platform.as_user(ADMIN).await;
        Self { platform, tenant, owner, user }
    }

    /// A client with a key of the owner.
    async fn keyed(&self, key: &Value) -> Client {
        let body = json!({ "credential": key["secret"], "client_address": "203.0.113.7" });
        let service = self.platform.client.service("gateway");
        let granted = service.post("/internal/v1/token-exchanges", body).await.expect(200);
        self.platform.client.token(granted.str("access_token"))
    }

    /// The claims of the token for which a key is exchanged.
    async fn claims(&self, key: &Value) -> Claims {
        let body = json!({ "credential": key["secret"], "client_address": "203.0.113.7" });
        let service = self.platform.client.service("gateway");
        let granted = service.post("/internal/v1/token-exchanges", body).await.expect(200);
        let claims = granted.str("access_token").split('.').nth(1).unwrap();
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap()
    }

    /// A client with a key of the owner that has all scopes.
    async fn key(&self) -> Client {
        self.keyed(&create(&self.owner, all_scopes()).await).await
    }
}

fn all_scopes() -> Value {
    json!({ "name": "all", "scopes": Scope::ALL.iter().map(|scope| scope.name()).collect::<Vec<_>>() })
}

async fn create(client: &Client, body: Value) -> Value {
    client.post("/v1/api-keys", body).await.expect(201).body
}

#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
fn in_seconds(seconds: i64) -> Timestamp {
    let second = Timestamp::now().as_second() + seconds;
    Timestamp::from_second(second).unwrap()
}

/// Writes that an API key may send. All other writes are for persons: a new operation that is not listed here must refuse keys,
/// or this test fails.
const OF_KEYS: &[&str] = &[
    "create_api_key",
    "delete_api_key",
    "accept_invitation",
    "decline_invitation",
    "create_tenant",
    "update_tenant",
    "delete_tenant",
    "add_member",
    "update_member",
    "remove_member",
    "create_invitation",
    "withdraw_invitation",
    "rotate_signing_keys",
];

#[tokio::test]
async fn no_key_changes_how_anybody_signs_in() {
    let fixture = Fixture::new().await;
    let key = fixture.key().await;
    let document = serde_json::to_value(atelier_identity::openapi()).unwrap();
    let mut refused = Vec::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let public = operation["security"]
                .as_array()
                .is_some_and(|all| all.iter().all(|one| one.get("bearer").is_none()));
            let id = operation["operationId"].as_str().unwrap();
            if method == "get" || path.starts_with("/internal/") || public || OF_KEYS.contains(&id) {
                continue;
            }
            let path = path.replace("/v1/users/{id}", &format!("/v1/users/{}", fixture.user));
            let path = path.replace("{id}", "x");
            let answer = match method.as_str() {
                "post" => key.post(&path, json!({})).await,
                "put" => key.put(&path, json!({})).await,
                "patch" => key.patch(&path, "*", json!({})).await,
                "delete" => key.delete(&path).await,
                other => panic!("{other} {path}"),
            };
            assert_eq!(answer.status, 403, "{id}: {}", answer.text);
            answer.expect_problem(403, "person-required");
            refused.push(id.to_owned());
        }
    }
    for expected in [
        "change_password",
        "create_totp",
        "start_totp",
        "remove_totp",
        "create_passkey_registration",
        "create_passkey",
        "update_passkey",
        "delete_passkey",
        "start_account_link",
        "delete_linked_account",
        "end_session",
        "end_all_sessions",
        "end_session_by_id",
        "create_user",
        "update_user",
        "delete_user",
        "reset_totp",
        "reset_passkeys",
    ] {
        assert!(refused.iter().any(|id| id == expected), "{expected} in {refused:?}");
    }
    // the owner still signs in with the password alone
    let _ = fixture.platform.sign_in(ADMIN).await;
}

#[tokio::test]
async fn no_key_makes_or_removes_an_owner() {
    let fixture = Fixture::new().await;
    let members = format!("/v1/tenants/{}/members", fixture.tenant);
    let invitations = format!("/v1/tenants/{}/invitations", fixture.tenant);
    let ada = fixture.platform.user(&fixture.owner, "ada@x.test").await;
    let key = fixture.key().await;
    for (path, body) in [
        (&invitations, json!({ "email": "eve@x.test", "role": "owner" })),
        (&members, json!({ "user_id": ada, "role": "owner" })),
    ] {
        key.post(path, body).await.expect_problem(403, "person-required");
    }
    let _ = key.post(&members, json!({ "user_id": ada, "role": "member" })).await.expect(201);
    let of_ada = format!("{members}/{ada}");
    let owner = json!({ "role": "owner" });
    key.patch(&of_ada, "*", owner.clone()).await.expect_problem(403, "person-required");
    let _ = key.patch(&of_ada, "*", json!({ "role": "viewer" })).await.expect(200);
    // the key of one owner does not remove another, nor its own
    let _ = fixture.owner.patch(&of_ada, "*", owner).await.expect(200);
    for user in [&ada, &fixture.user] {
        let member = format!("{members}/{user}");
        key.patch(&member, "*", json!({ "role": "viewer" })).await.expect_problem(403, "person-required");
        key.delete(&member).await.expect_problem(403, "person-required");
    }
    let _ = fixture.owner.delete(&of_ada).await.expect(204);
    // the key of an invited user does not make its user an owner either
    let invited = json!({ "email": "ada@x.test", "role": "owner" });
    let invitation = fixture.owner.post(&invitations, invited).await.expect(201);
    let accept = format!("/v1/me/invitations/{}/accept", invitation.str("id"));
    let elsewhere = fixture.platform.tenant(&fixture.owner, "elsewhere").await;
    fixture.platform.member(&fixture.owner, &elsewhere, &ada, "member").await;
    let person = fixture.platform.as_user("ada@x.test").await;
    let scoped = json!({ "name": "ada", "scopes": ["account:read", "account:write"] });
    let key = fixture.keyed(&create(&person, scoped).await).await;
    key.post(&accept, Value::Null).await.expect_problem(403, "person-required");
    let decline = format!("/v1/me/invitations/{}/decline", invitation.str("id"));
    key.post(&decline, Value::Null).await.expect_problem(403, "person-required");
    let _ = person.post(&accept, Value::Null).await.expect(200);
}

#[tokio::test]
async fn no_key_changes_what_a_person_has_offered() {
    let fixture = Fixture::new().await;
    let members = format!("/v1/tenants/{}/members", fixture.tenant);
    let invitations = format!("/v1/tenants/{}/invitations", fixture.tenant);
    let invite = |email: &str, role: &str| json!({ "email": email, "role": role });
    let ada = fixture.platform.user(&fixture.owner, "ada@x.test").await;
    let to_ada = fixture.owner.post(&invitations, invite("ada@x.test", "owner")).await.expect(201);
    let to_bob = fixture.owner.post(&invitations, invite("bob@x.test", "member")).await.expect(201);
    let before = fixture.owner.get(&invitations).await.expect(200).body["items"].clone();
    let key = fixture.key().await;
    // neither with a lower role, nor with the same, with which it would end with the key
    for (email, role) in [
        ("ada@x.test", "member"),
        ("ada@x.test", "viewer"),
        ("bob@x.test", "viewer"),
        ("BOB@x.test", "member"),
    ] {
        let answer = key.post(&invitations, invite(email, role)).await;
        answer.expect_problem(403, "person-required");
    }
    let of_ada = format!("{invitations}/{}", to_ada.str("id"));
    key.delete(&of_ada).await.expect_problem(403, "person-required");
    // nor by adding the member, which ends the invitation
    let member = json!({ "user_id": ada, "role": "viewer" });
    key.post(&members, member).await.expect_problem(403, "person-required");
    assert_eq!(fixture.owner.get(&invitations).await.expect(200).body["items"], before);

    // keys can renew invitations that keys have sent, and revoke those for roles below owner, as they can remove members
    let to_eve = key.post(&invitations, invite("eve@x.test", "member")).await.expect(201);
    let renewed = key.post(&invitations, invite("eve@x.test", "viewer")).await.expect(201);
    assert_eq!((renewed.str("id"), renewed.str("role")), (to_eve.str("id"), "viewer"));
    for sent in [&to_bob, &to_eve] {
        let _ = key.delete(&format!("{invitations}/{}", sent.str("id"))).await.expect(204);
    }
    let _ = fixture.owner.post(&invitations, invite("ada@x.test", "member")).await.expect(201);
    let _ = key.delete(&of_ada).await.expect(204);
}

#[tokio::test]
async fn what_a_key_creates_has_its_limits() {
    let fixture = Fixture::new().await;
    let end = in_seconds(3600);
    let scopes = json!(["api-keys:write", "members:write", "usage:read"]);
    let limited = json!({ "name": "ci", "scopes": scopes, "expires_at": end, "requests_per_second": 5 });
    let parent = create(&fixture.owner, limited).await;
    assert_eq!(parent["created_by_key"], Value::Null);
    let key = fixture.keyed(&parent).await;
    let new = |more: Value| {
        let mut body = json!({ "name": "child", "scopes": ["usage:read"] });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (more, pointer) in [
        (json!({ "expires_at": in_seconds(3700) }), "/expires_at"),
        (json!({ "requests_per_second": 6 }), "/requests_per_second"),
    ] {
        let answer = key.post("/v1/api-keys", new(more)).await.expect_problem(422, "invalid-field");
        assert_eq!(answer.body["errors"][0]["pointer"], pointer);
    }
    let child = create(&key, new(json!({}))).await;
    assert_eq!(
        (&child["expires_at"], &child["requests_per_second"], &child["created_by_key"]),
        (&json!(end), &json!(5), &parent["id"])
    );
    let lesser = new(
        json!({ "expires_at": in_seconds(600), "requests_per_second": 1, "scopes": ["api-keys:write", "usage:read"] }),
    );
    let lesser = create(&key, lesser).await;
    assert_eq!(lesser["requests_per_second"], 1);
    let grandchild = create(&fixture.keyed(&lesser).await, new(json!({}))).await;
    assert_eq!(
        (&grandchild["expires_at"], &grandchild["requests_per_second"]),
        (&lesser["expires_at"], &json!(1))
    );

    // tokens tell the gateway that there is a limit, which it enforces
    let free = json!({ "name": "free", "scopes": scopes });
    let free = create(&fixture.owner, free).await;
    for (key, limited) in [(&parent, true), (&child, true), (&grandchild, true), (&free, false)] {
        assert_eq!(fixture.claims(key).await.limited, limited, "{key}");
    }

    // requests of a key count against the limits of the keys that created it, too
    let body = json!({ "credential": grandchild["secret"], "client_address": "203.0.113.7" });
    let service = fixture.platform.client.service("gateway");
    let granted = service.post("/internal/v1/token-exchanges", body).await.expect(200);
    assert_eq!(
        granted.body["creators"],
        json!([
            { "api_key_id": lesser["id"], "requests_per_second": 1 },
            { "api_key_id": parent["id"], "requests_per_second": 5 },
        ])
    );
    // an invitation ends with the key too
    let invitations = format!("/v1/tenants/{}/invitations", fixture.tenant);
    let invited =
        key.post(&invitations, json!({ "email": "ada@x.test", "role": "member" })).await.expect(201);
    assert_eq!(invited.body["expires_at"], json!(end));
}

#[tokio::test]
async fn what_a_key_created_ends_with_it() {
    let fixture = Fixture::new().await;
    let scopes = json!(["api-keys:write", "members:write", "account:read"]);
    let body = json!({ "name": "ci", "scopes": scopes });
    let parent = create(&fixture.owner, body.clone()).await;
    let key = fixture.keyed(&parent).await;
    let child = create(&key, body.clone()).await;
    let grandchild = create(&fixture.keyed(&child).await, body.clone()).await;
    let other = create(&fixture.owner, body).await;
    let invitations = format!("/v1/tenants/{}/invitations", fixture.tenant);
    for email in ["ada@x.test", "bob@x.test"] {
        let _ = key.post(&invitations, json!({ "email": email, "role": "member" })).await.expect(201);
    }
    // a person has renewed it since
    let _ = fixture
        .owner
        .post(&invitations, json!({ "email": "bob@x.test", "role": "viewer" }))
        .await
        .expect(201);
    let (with_child, with_grandchild) = (fixture.keyed(&child).await, fixture.keyed(&grandchild).await);
    let _ = with_grandchild.get("/v1/me").await.expect(200);

    let _ =
        fixture.owner.delete(&format!("/v1/api-keys/{}", parent["id"].as_str().unwrap())).await.expect(204);
    for client in [&key, &with_child, &with_grandchild] {
        eventually("the tokens are refused", async || {
            (client.get("/v1/me").await.status == 401).then_some(())
        })
        .await;
    }
    let service = fixture.platform.client.service("gateway");
    for ended in [&parent, &child, &grandchild] {
        let body = json!({ "credential": ended["secret"], "client_address": "203.0.113.7" });
        let answer = service.post("/internal/v1/token-exchanges", body).await;
        answer.expect_problem(401, "api-key-invalid");
    }
    let keys = fixture.owner.get("/v1/api-keys").await.expect(200);
    assert_eq!(keys.body["items"].as_array().unwrap().len(), 1);
    let _ = fixture.keyed(&other).await.get("/v1/me").await.expect(200);
    let open = fixture.owner.get(&invitations).await.expect(200);
    let open: Vec<_> =
        open.body["items"].as_array().unwrap().iter().map(|one| one["email"].clone()).collect();
    assert_eq!(open, ["bob@x.test"]);
}

#[tokio::test]
async fn ways_to_sign_in_change_soon_after_a_sign_in_only() {
    let fixture = crate::oidc::Fixture::with(|_| {}).await;
    let admin = fixture.platform.admin().await;
    fixture.platform.user(&admin, "ada@x.test").await;
    let ada = fixture.platform.as_user("ada@x.test").await;
    let mut db = fixture.platform.db.admin().await;
    let older = "update identity.sessions set created_at = now() - interval '16 minutes'";
    sqlx::query(older).execute(&mut db).await.unwrap();
    let passkey = format!("/v1/me/passkeys/{}", PasskeyId::new());
    let account = format!("/v1/me/linked-accounts/{}", LinkedAccountId::new());
    let link = json!({ "provider": "corp" });
    let fresh = fixture.platform.as_user("ada@x.test").await;
    for (client, is_recent) in [(&ada, false), (&fresh, true)] {
        for answer in [
            client.post("/v1/me/totp", Value::Null).await,
            client.post("/v1/me/passkey-registrations", Value::Null).await,
            client.post("/v1/me/linked-accounts", link.clone()).await,
            client.delete(&passkey).await,
            client.delete(&account).await,
        ] {
            if is_recent {
                assert_ne!(answer.status, 403, "{}", answer.text);
                continue;
            }
            assert_eq!(answer.status, 403, "{}", answer.text);
            let problem = answer.expect_problem(403, "recent-sign-in-required");
            assert_eq!(problem.body["within_seconds"], 900);
        }
    }
    // signing out and reading need no recent sign-in; a new password needs the current one
    let change = json!({ "current_password": PASSWORD, "new_password": "another fine password" });
    let _ = ada.put("/v1/me/password", change).await.expect(204);
    let _ = ada.delete("/v1/sessions").await.expect(204);
}
