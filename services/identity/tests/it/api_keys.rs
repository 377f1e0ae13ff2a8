//! API keys: creation, exchange, and what ends them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, Response, SERVICE_TOKEN, eventually};

use crate::platform::{PASSWORD, Platform};

const ADDRESS: &str = "203.0.113.7";

/// A tenant with an owner and a member.
struct Studio {
    platform: Platform,
    admin: Client,
    tenant: String,
    member_id: String,
    owner: Client,
    member: Client,
}

impl Studio {
    async fn new() -> Self {
        let platform = Platform::start().await;
        let admin = platform.admin().await;
        let tenant = platform.tenant(&admin, "studio").await;
        let owner_id = platform.user(&admin, "owner@x.test").await;
        let member_id = platform.user(&admin, "member@x.test").await;
        platform.member(&admin, &tenant, &owner_id, "owner").await;
        platform.member(&admin, &tenant, &member_id, "member").await;
        let (owner, member) =
            (platform.as_user("owner@x.test").await, platform.as_user("member@x.test").await);
        Self { platform, admin, tenant, member_id, owner, member }
    }

    async fn exchange(&self, key: &Value) -> Response {
        exchange(&self.platform.client, key).await
    }

    /// A client with a token that the key was exchanged for.
    async fn with(&self, key: &Value) -> Client {
        let granted = self.exchange(key).await.expect(200);
        self.platform.client.token(granted.str("access_token"))
    }

    fn membership(&self) -> String {
        format!("/v1/tenants/{}/members/{}", self.tenant, self.member_id)
    }
}

async fn exchange(client: &Client, key: &Value) -> Response {
    let body = json!({ "credential": key["secret"], "client_address": ADDRESS });
    client.service("gateway").post("/internal/v1/token-exchanges", body).await
}

#[tokio::test]
async fn only_the_gateway_exchanges_credentials() {
    let studio = Studio::new().await;
    let key = create(&studio.member, &["instances:read"]).await;
    let body = json!({ "credential": key["secret"], "client_address": ADDRESS });
    let client = &studio.platform.client;
    let others: Vec<_> = testkit::services().filter(|name| *name != "gateway").collect();
    assert!(!others.is_empty(), "no other service has a token");
    for other in others {
        let answer = client.service(other).post("/internal/v1/token-exchanges", body.clone()).await;
        answer.expect_problem(403, "forbidden");
    }
    let other = client.token(SERVICE_TOKEN).post("/internal/v1/token-exchanges", body.clone()).await;
    other.expect_problem(403, "forbidden");
    let _ = studio.exchange(&key).await.expect(200);
    // and only gpu may read the rights of a user
    let rights = format!("/internal/v1/tenants/{}/members/{}", studio.tenant, studio.member_id);
    client.service("gateway").get(&rights).await.expect_problem(403, "forbidden");
    let _ = client.service("gpu").get(&rights).await.expect(200);
}

#[tokio::test]
async fn the_audit_log_names_the_api_key() {
    let studio = Studio::new().await;
    let key = create(&studio.owner, &["members:write"]).await;
    let with_key = studio.with(&key).await;
    let invitation = json!({ "email": "guest@x.test", "role": "member" });
    let path = format!("/v1/tenants/{}/invitations", studio.tenant);
    let _ = with_key.post(&path, invitation).await.expect(201);
    let log = studio.owner.get("/v1/audit").await.expect(200).body;
    let (newest, before) = (&log["items"][0], &log["items"][1]);
    assert_eq!((&newest["api_key_id"], &newest["service"]), (&key["id"], &Value::Null), "{log}");
    assert_eq!(newest["operation"], "POST /v1/tenants/{id}/invitations");
    assert_eq!((&before["operation"], &before["api_key_id"]), (&json!("POST /v1/sessions"), &Value::Null));
}

async fn create(client: &Client, scopes: &[&str]) -> Value {
    client.post("/v1/api-keys", json!({ "name": "ci", "scopes": scopes })).await.expect(201).body
}

/// Waits until the client's token is refused, which takes less than a second.
async fn refused(client: &Client) {
    let begun = Instant::now();
    eventually("the token is refused", async || (client.get("/v1/me").await.status == 401).then_some(()))
        .await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_key_is_shown_once_and_never_stored() {
    let studio = Studio::new().await;
    let (member, body) = (studio.member.key("once"), json!({ "name": "ci", "scopes": ["usage:read"] }));
    let first = member.post("/v1/api-keys", body.clone()).await.expect(201);
    let secret = first.str("secret").to_owned();
    assert!(auth::ApiKey::parse(&secret).is_some(), "{secret}");
    assert_eq!(first.str("hint"), &secret[..8]);
    assert_eq!(first.header("location").unwrap(), format!("/v1/api-keys/{}", first.str("id")));
    let again = member.post("/v1/api-keys", body).await.expect(201);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!((again.str("id"), &again.body["secret"]), (first.str("id"), &Value::Null));
    let read = studio.member.get(&format!("/v1/api-keys/{}", first.str("id"))).await.expect(200);
    assert_eq!(read.body["secret"], Value::Null);
    assert_eq!(read.body["last_used_at"], Value::Null);

    let mut db = studio.platform.db.admin().await;
    for table in ["api_keys", "idempotency_keys", "revocations"] {
        let rows = sqlx::AssertSqlSafe(format!(
            "select coalesce(string_agg(t::text, ' '), '') from identity.{table} t"
        ));
        let rows: String = sqlx::query_scalar(rows).fetch_one(&mut db).await.unwrap();
        assert!(!rows.contains(&secret[8..]), "{table} has the key");
    }
}

#[tokio::test]
async fn a_key_acts_with_its_scopes_and_the_role_of_its_user() {
    let studio = Studio::new().await;
    let key = create(&studio.member, &["members:read", "account:read"]).await;
    let granted = studio.exchange(&key).await.expect(200);
    assert_eq!(granted.header("cache-control"), Some("no-store"));
    assert!(granted.body["expires_in"].as_u64().unwrap() <= 300);
    let script = studio.platform.client.token(granted.str("access_token"));
    let me = script.get("/v1/me").await.expect(200);
    assert_eq!((me.str("role"), me.str("tenant_id")), ("member", studio.tenant.as_str()));
    let _ = script.get(&format!("/v1/tenants/{}/members", studio.tenant)).await.expect(200);
    let password = json!({ "current_password": PASSWORD, "new_password": "another fine password" });
    let another = json!({ "name": "more", "scopes": ["members:read"] });
    for (answer, scope) in [
        (script.put("/v1/me/password", password).await, "account:write"),
        (script.post("/v1/api-keys", another).await, "api-keys:write"),
        (script.get("/v1/api-keys").await, "api-keys:read"),
        (script.delete("/v1/sessions/current").await, "account:write"),
    ] {
        assert_eq!(answer.expect_problem(403, "insufficient-scope").str("scope"), scope);
    }

    let read = studio.member.get(&format!("/v1/api-keys/{}", key["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(read.str("last_used_from"), ADDRESS);
    let used = read.str("last_used_at").to_owned();
    let _ = studio.exchange(&key).await.expect(200);
    let read = studio.member.get(&format!("/v1/api-keys/{}", key["id"].as_str().unwrap())).await.expect(200);
    assert_eq!(read.str("last_used_at"), used, "written once a minute");
}

#[tokio::test]
async fn a_key_creates_no_key_that_can_do_more() {
    let studio = Studio::new().await;
    let key = create(&studio.member, &["api-keys:write", "instances:read", "account:write"]).await;
    let script = studio.with(&key).await;
    let made = create(&script, &["instances:read", "catalogue:read"]).await;
    let _ = studio.exchange(&made).await.expect(200);
    let more = json!({ "name": "more", "scopes": ["instances:read", "instances:write"] });
    let refused = script.post("/v1/api-keys", more).await.expect_problem(403, "insufficient-scope");
    assert_eq!(refused.str("scope"), "instances:write");
    script.delete("/v1/sessions/current").await.expect_problem(403, "person-required");
    let _ = script.delete(&format!("/v1/api-keys/{}", made["id"].as_str().unwrap())).await.expect(204);
    // an API key has no row among the sessions, but whatever ends with sessions treats it as one
    let invitation = format!("/v1/me/invitations/{}/decline", ids::InvitationId::new());
    script.post(&invitation, Value::Null).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn an_administrators_key_is_one_for_platform_scopes_only() {
    let studio = Studio::new().await;
    let reader = studio.with(&create(&studio.admin, &["platform:read", "account:read"]).await).await;
    let _ = reader.get("/v1/users").await.expect(200);
    let new = json!({ "name": "second" });
    reader.post("/v1/tenants", new.clone()).await.expect_problem(403, "insufficient-scope");
    let writer = studio.with(&create(&studio.admin, &["platform:write"]).await).await;
    let _ = writer.post("/v1/tenants", new).await.expect(201);
    let members = studio.with(&create(&studio.admin, &["members:write"]).await).await;
    members.get("/v1/users").await.expect_problem(403, "insufficient-scope");
    let other = format!("/v1/tenants/{}/members", studio.tenant);
    members.get(&other).await.expect_problem(404, "not-found");
    let platform = json!({ "name": "ci", "scopes": ["platform:read"] });
    studio.owner.post("/v1/api-keys", platform).await.expect_problem(422, "invalid-field");
}

#[tokio::test]
async fn owners_see_the_keys_of_their_tenant_and_others_their_own() {
    let studio = Studio::new().await;
    let of_member = create(&studio.member, &["usage:read"]).await;
    let of_owner = create(&studio.owner, &["usage:read"]).await;
    let of_admin = create(&studio.admin, &["platform:read"]).await;
    let ids = |page: &Response| -> Vec<Value> {
        page.body["items"].as_array().unwrap().iter().map(|key| key["id"].clone()).collect()
    };
    let id = |key: &Value| key["id"].clone();
    let all = studio.owner.get("/v1/api-keys").await.expect(200);
    assert_eq!(ids(&all), [id(&of_member), id(&of_owner)]);
    assert_eq!(ids(&studio.member.get("/v1/api-keys").await.expect(200)), [id(&of_member)]);
    assert_eq!(ids(&studio.admin.get("/v1/api-keys").await.expect(200)), [id(&of_admin)]);
    let first = studio.owner.get("/v1/api-keys?limit=1").await.expect(200);
    let second = format!("/v1/api-keys?limit=1&cursor={}", first.str("next_cursor"));
    let second = studio.owner.get(&second).await.expect(200);
    assert_eq!((ids(&second), &second.body["next_cursor"]), (vec![id(&of_owner)], &Value::Null));

    let path = |key: &Value| format!("/v1/api-keys/{}", key["id"].as_str().unwrap());
    let missing = format!("/v1/api-keys/{}", ids::ApiKeyId::new());
    for (client, foreign) in
        [(&studio.member, path(&of_owner)), (&studio.owner, path(&of_admin)), (&studio.owner, missing)]
    {
        client.get(&foreign).await.expect_problem(404, "not-found");
        client.delete(&foreign).await.expect_problem(404, "not-found");
    }
    let script = studio.with(&of_member).await;
    let _ = studio.owner.delete(&path(&of_member)).await.expect(204);
    refused(&script).await;
    studio.member.get(&path(&of_member)).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn a_deleted_key_is_refused_at_once() {
    let studio = Studio::new().await;
    let key = create(&studio.member, &["account:read"]).await;
    let script = studio.with(&key).await;
    let _ = script.get("/v1/me").await.expect(200);
    let _ = studio.member.delete(&format!("/v1/api-keys/{}", key["id"].as_str().unwrap())).await.expect(204);
    refused(&script).await;
    studio.exchange(&key).await.expect_problem(401, "api-key-invalid");
    let _ = studio.member.get("/v1/me").await.expect(200);
}

#[tokio::test]
async fn the_rights_of_a_key_follow_those_of_its_user() {
    let studio = Studio::new().await;
    let key = create(&studio.member, &["account:read"]).await;
    let role = async || studio.with(&key).await.get("/v1/me").await.expect(200).str("role").to_owned();
    let before = studio.with(&key).await;
    let _ = studio.owner.patch(&studio.membership(), "*", json!({ "role": "viewer" })).await.expect(200);
    refused(&before).await;
    assert_eq!(role().await, "viewer");

    let tenant = format!("/v1/tenants/{}", studio.tenant);
    let _ = studio.admin.patch(&tenant, "*", json!({ "state": "suspended" })).await.expect(200);
    studio.exchange(&key).await.expect_problem(403, "tenant-suspended");
    let _ = studio.admin.patch(&tenant, "*", json!({ "state": "active" })).await.expect(200);
    let user = format!("/v1/users/{}", studio.member_id);
    let _ = studio.admin.patch(&user, "*", json!({ "disabled": true })).await.expect(200);
    studio.exchange(&key).await.expect_problem(401, "api-key-invalid");
    let _ = studio.admin.patch(&user, "*", json!({ "disabled": false })).await.expect(200);
    let before = studio.with(&key).await;

    let _ = studio.admin.delete(&studio.membership()).await.expect(204);
    refused(&before).await;
    studio.exchange(&key).await.expect_problem(401, "api-key-invalid");
    // a new membership does not restore old keys
    studio.platform.member(&studio.admin, &studio.tenant, &studio.member_id, "member").await;
    studio.exchange(&key).await.expect_problem(401, "api-key-invalid");
}

#[tokio::test]
async fn a_key_ends_when_it_expires() {
    let studio = Studio::new().await;
    let soon = |seconds: i64| {
        #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
        let at = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(seconds);
        json!({ "name": "ci", "scopes": ["account:read"], "expires_at": at })
    };
    studio.member.post("/v1/api-keys", soon(50)).await.expect_problem(422, "invalid-field");
    let key = studio.member.post("/v1/api-keys", soon(90)).await.expect(201).body;
    let granted = studio.exchange(&key).await.expect(200);
    assert!((80..=90).contains(&granted.body["expires_in"].as_u64().unwrap()), "{}", granted.text);
    let mut db = studio.platform.db.admin().await;
    let sooner = "update identity.api_keys set expires_at = now() + interval '2 seconds'";
    sqlx::query(sooner).execute(&mut db).await.unwrap();
    let granted = studio.exchange(&key).await.expect(200);
    assert!(granted.body["expires_in"].as_u64().unwrap() <= 2, "{}", granted.text);
    let script = studio.platform.client.token(granted.str("access_token"));
    // although verifiers accept a token for a few seconds after its end
    testkit::within(Duration::from_secs(4), "the token is refused", async || {
        (script.get("/v1/me").await.status == 401).then_some(())
    })
    .await;
    studio.exchange(&key).await.expect_problem(401, "api-key-invalid");
    // connections that were opened with the key are closed too
    let _replica = studio.platform.replica().await;
    let session = auth::session_of(key["id"].as_str().unwrap().parse().unwrap());
    eventually("the end is published", async || {
        let service = studio.platform.client.token(SERVICE_TOKEN);
        let published = service.get("/internal/v1/revocations?after=").await.expect(200);
        published.text.contains(&session.to_string()).then_some(())
    })
    .await;
}

#[tokio::test]
async fn unknown_keys_and_other_text_are_refused_alike() {
    let studio = Studio::new().await;
    let mut byte = 0_u8;
    let unknown = auth::ApiKey::generate::<std::convert::Infallible>(|bytes| {
        bytes.fill_with(|| {
            byte = byte.wrapping_add(7);
            byte
        });
        Ok(())
    })
    .unwrap();
    let mut texts = Vec::new();
    for secret in [unknown.expose(), "atl_", "x", ""] {
        let answer = studio.exchange(&json!({ "secret": secret })).await;
        texts.push(answer.expect_problem(401, "api-key-invalid").text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    let body = json!({ "credential": unknown.expose(), "client_address": ADDRESS });
    studio.member.post("/internal/v1/token-exchanges", body).await.expect_problem(401, "unauthenticated");
    // no service accepts a key itself
    studio.platform.client.token(unknown.expose()).get("/v1/me").await.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_user_has_a_limited_number_of_keys() {
    let studio = Studio::new().await;
    let mut db = studio.platform.db.admin().await;
    let many = "insert into identity.api_keys (id, user_id, name, secret_hash, hint, scopes)
                select gen_random_uuid(), $1, 'x', sha256(n::text::bytea), 'atl_', '{usage:read}'
                from generate_series(1, 49) n";
    let user = studio.member_id.parse::<ids::UserId>().unwrap().uuid();
    sqlx::query(many).bind(user).execute(&mut db).await.unwrap();
    create(&studio.member, &["usage:read"]).await;
    let one_more = json!({ "name": "ci", "scopes": ["usage:read"] });
    let refused = studio.member.post("/v1/api-keys", one_more).await.expect_problem(409, "too-many-api-keys");
    assert_eq!(refused.body["limit"], 50);
    create(&studio.owner, &["usage:read"]).await;
}

#[tokio::test]
async fn invalid_keys_are_not_created() {
    let studio = Studio::new().await;
    for body in [
        json!({ "name": "", "scopes": ["usage:read"] }),
        json!({ "name": "ci", "scopes": [] }),
        json!({ "name": "ci", "scopes": ["everything"] }),
        json!({ "name": "ci" }),
        json!({ "name": "ci", "scopes": ["usage:read"], "requests_per_second": 0 }),
        json!({ "name": "ci", "scopes": ["usage:read"], "expires_at": "2020-01-01T00:00:00Z" }),
        json!({ "name": "ci", "scopes": ["usage:read"], "more": 1 }),
    ] {
        studio.member.post("/v1/api-keys", body).await.expect_problem(422, "invalid-field");
    }
    assert_eq!(studio.owner.get("/v1/api-keys").await.expect(200).body["items"], json!([]));
}
