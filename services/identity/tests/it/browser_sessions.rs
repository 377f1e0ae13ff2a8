//! Sessions with a cookie instead of tokens, and the list of a user's sessions.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::platform::{ADMIN, PASSWORD, Platform};

const ADDRESS: &str = "203.0.113.7";

async fn sign_in(client: &Client, email: &str) -> Response {
    let body = json!({ "email": email, "password": PASSWORD, "cookie": true });
    client.header("user-agent", "Browser/1").post("/v1/sessions", body).await.expect(200)
}

/// The value of the cookie that the response sets.
fn secret(response: &Response) -> String {
    let cookie = response.header("set-cookie").unwrap();
    let (_, rest) = cookie.split_once('=').unwrap();
    rest.split(';').next().unwrap().to_owned()
}

async fn exchange(platform: &Platform, secret: &str) -> Response {
    let body = json!({ "credential": secret, "client_address": ADDRESS });
    platform.client.service("gateway").post("/internal/v1/token-exchanges", body).await
}

async fn with(platform: &Platform, secret: &str) -> Client {
    let granted = exchange(platform, secret).await.expect(200);
    platform.client.token(granted.str("access_token"))
}

async fn refused(client: &Client) {
    let begun = Instant::now();
    eventually("the token is refused", async || (client.get("/v1/me").await.status == 401).then_some(()))
        .await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_browser_gets_a_cookie_and_no_tokens() {
    let platform = Platform::start().await;
    for (scheme, expected) in [
        (
            Some("https"),
            ("__Host-atelier_session=ses_", "; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure"),
        ),
        (None, ("__Host-atelier_session=ses_", "; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax; Secure")),
        (Some("http"), ("atelier_console=ses_", "; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax")),
    ] {
        let client = match scheme {
            Some(scheme) => platform.client.header("x-forwarded-proto", scheme),
            None => platform.client.clone(),
        };
        let answer = sign_in(&client, ADMIN).await;
        let cookie = answer.header("set-cookie").unwrap();
        assert!(cookie.starts_with(expected.0) && cookie.ends_with(expected.1), "{cookie}");
        assert_eq!(
            (&answer.body["access_token"], &answer.body["refresh_token"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(answer.body["user"]["email"], ADMIN);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        let me = with(&platform, &secret(&answer)).await.get("/v1/me").await.expect(200);
        assert_eq!(me.body["user"]["admin"], true);
    }
    // by default the response has tokens and no cookie
    let body = json!({ "email": ADMIN, "password": PASSWORD });
    let answer = platform.client.post("/v1/sessions", body).await.expect(200);
    assert_eq!(answer.header("set-cookie"), None);
    // a refresh token is not a cookie, and no other service exchanges either
    exchange(&platform, answer.str("refresh_token")).await.expect_problem(401, "session-ended");
    let refresh = json!({ "refresh_token": secret(&sign_in(&platform.client, ADMIN).await) });
    platform.client.post("/v1/sessions/refresh", refresh).await.expect_problem(401, "session-ended");
}

#[tokio::test]
async fn signing_out_ends_the_session_and_removes_the_cookie() {
    let platform = Platform::start().await;
    let secret = secret(&sign_in(&platform.client, ADMIN).await);
    let browser = with(&platform, &secret).await;
    let answer = browser.delete("/v1/sessions/current").await.expect(204);
    let cleared = answer.header("set-cookie").unwrap();
    assert!(cleared.starts_with("__Host-atelier_session=; Path=/; Max-Age=0;"), "{cleared}");
    refused(&browser).await;
    exchange(&platform, &secret).await.expect_problem(401, "session-ended");
    exchange(&platform, &format!("{}x", &secret[..secret.len() - 1]))
        .await
        .expect_problem(401, "session-ended");
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one_or_all_at_once() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    platform.user(&admin, "ada@x.test").await;
    let first =
        secret(&sign_in(&platform.client.header("x-forwarded-for", "198.51.100.9"), "ada@x.test").await);
    let second = secret(&sign_in(&platform.client, "ada@x.test").await);
    let script = platform.as_user("ada@x.test").await;
    let browser = with(&platform, &second).await;
    let list = browser.get("/v1/sessions").await.expect(200);
    let items = list.body["items"].as_array().unwrap();
    let seen: Vec<_> = items
        .iter()
        .map(|one| {
            (one["current"].as_bool().unwrap(), one["cookie"].as_bool().unwrap(), one["user_agent"].clone())
        })
        .collect();
    assert_eq!(
        seen,
        [(false, true, json!("Browser/1")), (true, true, json!("Browser/1")), (false, false, Value::Null)]
    );
    assert_eq!(items[0]["address"], "198.51.100.9");

    // a use is recorded once a minute
    let mut db = platform.db.admin().await;
    sqlx::query("update identity.sessions set last_used_at = now() - interval '2 minutes'")
        .execute(&mut db)
        .await
        .unwrap();
    let _ = exchange(&platform, &first).await.expect(200);
    let list = browser.get("/v1/sessions").await.expect(200);
    assert_eq!(list.body["items"][0]["address"], ADDRESS);
    assert!(list.body["items"][0]["last_used_at"].as_str() > list.body["items"][1]["last_used_at"].as_str());

    let of_first = format!("/v1/sessions/{}", list.body["items"][0]["id"].as_str().unwrap());
    admin.delete(&of_first).await.expect_problem(404, "not-found");
    let other = with(&platform, &first).await;
    let _ = browser.delete(&of_first).await.expect(204);
    refused(&other).await;
    exchange(&platform, &first).await.expect_problem(401, "session-ended");
    browser.delete(&of_first).await.expect_problem(404, "not-found");
    let _ = browser.get("/v1/me").await.expect(200);

    let key = json!({ "name": "ci", "scopes": ["account:write"] });
    let key = browser.post("/v1/api-keys", key).await.expect(201).body;
    let _ = browser.delete("/v1/sessions").await.expect(204);
    refused(&browser).await;
    refused(&script).await;
    exchange(&platform, &second).await.expect_problem(401, "session-ended");
    let keyed = with(&platform, key["secret"].as_str().unwrap()).await;
    keyed.delete("/v1/sessions").await.expect_problem(403, "person-required");
    assert_eq!(keyed.get("/v1/sessions").await.expect(200).body["items"], json!([]));
}

#[tokio::test]
async fn the_rights_of_a_cookie_follow_those_of_its_user() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let user = platform.user(&admin, "ada@x.test").await;
    platform.member(&admin, &tenant, &user, "member").await;
    let cookie = secret(&sign_in(&platform.client, "ada@x.test").await);
    let role = async || with(&platform, &cookie).await.get("/v1/me").await.expect(200).body["role"].clone();
    assert_eq!(role().await, "member");
    let membership = format!("/v1/tenants/{tenant}/members/{user}");
    let _ = admin.patch(&membership, "*", json!({ "role": "viewer" })).await.expect(200);
    assert_eq!(role().await, "viewer");
    // without the tenant, the user can still read why
    let _ =
        admin.patch(&format!("/v1/tenants/{tenant}"), "*", json!({ "state": "suspended" })).await.expect(200);
    assert_eq!(role().await, Value::Null);
    let _ =
        admin.patch(&format!("/v1/tenants/{tenant}"), "*", json!({ "state": "active" })).await.expect(200);
    assert_eq!(role().await, "viewer");
    let _ = admin.delete(&membership).await.expect(204);
    assert_eq!(role().await, Value::Null);
    let _ = admin.patch(&format!("/v1/users/{user}"), "*", json!({ "disabled": true })).await.expect(200);
    exchange(&platform, &cookie).await.expect_problem(401, "session-ended");
}

#[tokio::test]
async fn an_expired_session_is_refused() {
    let platform = Platform::start().await;
    let cookie = secret(&sign_in(&platform.client, ADMIN).await);
    let tokens = platform.sign_in(ADMIN).await;
    let granted = exchange(&platform, &cookie).await.expect(200);
    assert_eq!(granted.body["expires_in"], 300);
    let mut db = platform.db.admin().await;
    let expire = async |db: &mut sqlx::PgConnection, after: &str| {
        sqlx::query("update identity.sessions set expires_at = now() + $1::interval")
            .bind(after)
            .execute(db)
            .await
            .unwrap();
    };
    // a token does not outlive its session
    expire(&mut db, "100 seconds").await;
    let granted = exchange(&platform, &cookie).await.expect(200);
    assert!(granted.body["expires_in"].as_i64().unwrap() <= 100, "{}", granted.text);
    expire(&mut db, "-1 second").await;
    exchange(&platform, &cookie).await.expect_problem(401, "session-ended");
    let refresh = json!({ "refresh_token": tokens["refresh_token"] });
    platform.client.post("/v1/sessions/refresh", refresh).await.expect_problem(401, "session-ended");
}

#[tokio::test]
async fn a_session_changes_its_tenant_without_another_sign_in() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "ada@x.test").await;
    let (studio, agency) = (platform.tenant(&admin, "studio").await, platform.tenant(&admin, "agency").await);
    let foreign = platform.tenant(&admin, "foreign").await;
    platform.member(&admin, &studio, &user, "owner").await;
    platform.member(&admin, &agency, &user, "viewer").await;
    let secret = secret(&sign_in(&platform.client, "ada@x.test").await);
    let before = with(&platform, &secret).await;
    let current = "/v1/sessions/current";
    assert_eq!(before.get("/v1/me").await.expect(200).str("tenant_id"), studio);

    // switching to the current tenant again keeps its tokens
    let same = before.patch(current, "*", json!({ "tenant_id": studio })).await.expect(200);
    assert_eq!((&same.body["tenant"]["id"], same.str("role")), (&json!(studio), "owner"));
    let _ = before.get("/v1/me").await.expect(200);

    let changed = before.patch(current, "*", json!({ "tenant_id": agency })).await.expect(200);
    assert_eq!(changed.body, json!({ "tenant": { "id": agency, "name": "agency" }, "role": "viewer" }));
    refused(&before).await;
    let after = with(&platform, &secret).await;
    let me = after.get("/v1/me").await.expect(200);
    assert_eq!((me.str("tenant_id"), me.str("role")), (agency.as_str(), "viewer"));
    after.get(&format!("/v1/tenants/{studio}")).await.expect_problem(404, "not-found");

    for (tenant, status, slug) in [
        (json!(foreign), 403, "not-a-member"),
        (json!(null), 422, "invalid-field"),
        (json!("x"), 422, "invalid-field"),
    ] {
        after.patch(current, "*", json!({ "tenant_id": tenant })).await.expect_problem(status, slug);
    }
    let path = format!("/v1/tenants/{studio}");
    let _ = admin.patch(&path, "*", json!({ "state": "suspended" })).await.expect(200);
    after.patch(current, "*", json!({ "tenant_id": studio })).await.expect_problem(403, "tenant-suspended");
    let _ = after.get("/v1/me").await.expect(200);

    // the switch is in the audit log of the new tenant
    let _ = admin
        .patch(&format!("/v1/tenants/{agency}/members/{user}"), "*", json!({ "role": "owner" }))
        .await
        .expect(200);
    let log = with(&platform, &secret).await.get("/v1/audit").await.expect(200);
    let entry = log.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["operation"] == "PATCH /v1/sessions/current");
    assert_eq!(entry.unwrap()["user_id"], user);
}

#[tokio::test]
async fn a_session_with_tokens_changes_its_tenant_with_the_next_refresh() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "ada@x.test").await;
    let (studio, agency) = (platform.tenant(&admin, "studio").await, platform.tenant(&admin, "agency").await);
    platform.member(&admin, &studio, &user, "owner").await;
    platform.member(&admin, &agency, &user, "member").await;
    let session = platform.sign_in("ada@x.test").await;
    let client = platform.client.token(session["access_token"].as_str().unwrap());
    let _ = client.patch("/v1/sessions/current", "*", json!({ "tenant_id": agency })).await.expect(200);
    refused(&client).await;
    let body = json!({ "refresh_token": session["refresh_token"] });
    let refreshed = platform.client.post("/v1/sessions/refresh", body).await.expect(200);
    assert_eq!(refreshed.body["tenant"]["id"], agency);
}
