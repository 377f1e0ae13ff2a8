use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::Client;

use crate::platform::{ADMIN, PASSWORD, Platform};

async fn try_in(client: &Client, email: &str, password: &str) -> testkit::Response {
    client.post("/v1/sessions", json!({ "email": email, "password": password })).await
}

async fn refresh(client: &Client, session: &Value) -> testkit::Response {
    client.post("/v1/sessions/refresh", json!({ "refresh_token": session["refresh_token"] })).await
}

#[tokio::test]
async fn an_administrator_without_a_tenant_signs_in() {
    let platform = Platform::start().await;
    let answer = try_in(&platform.client, "Admin@Atelier.TEST", PASSWORD).await.expect(200);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let session = answer.body;
    assert_eq!(session["token_type"], "Bearer");
    assert_eq!(session["expires_in"], 600);
    assert_eq!(session["user"]["email"], ADMIN);
    assert_eq!((&session["tenant"], &session["role"]), (&Value::Null, &Value::Null));
    assert!(session["user"].get("password_hash").is_none());
    let me = platform.client.token(session["access_token"].as_str().unwrap()).get("/v1/me").await.expect(200);
    assert_eq!(me.body["user"]["admin"], true);
    assert_eq!(me.body["memberships"], json!([]));
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_look_alike() {
    let platform = Platform::start().await;
    let unknown =
        try_in(&platform.client, "nobody@x.test", "whatever1").await.expect_problem(401, "wrong-credentials");
    let wrong = try_in(&platform.client, ADMIN, "whatever1").await.expect_problem(401, "wrong-credentials");
    assert_eq!(unknown.text, wrong.text);
}

#[tokio::test]
async fn repeated_failures_lock_known_and_unknown_addresses_alike() {
    let platform = Platform::start().await;
    for email in [ADMIN, "nobody@x.test"] {
        for _ in 0..6 {
            let _ = try_in(&platform.client, email, "whatever1").await.expect(401);
        }
        let answer = try_in(&platform.client, email, PASSWORD).await.expect_problem(429, "too-many-attempts");
        let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=2).contains(&seconds), "{seconds}");
    }
    // the lock expires, and a successful sign-in clears the failures
    testkit::eventually("the lock has ended", async || {
        (try_in(&platform.client, ADMIN, PASSWORD).await.status == 200).then_some(())
    })
    .await;
    let _ = try_in(&platform.client, ADMIN, "whatever1").await.expect(401);
    let _ = try_in(&platform.client, ADMIN, PASSWORD).await.expect(200);
}

#[tokio::test]
async fn concurrent_attempts_cannot_pass_the_lock() {
    let platform = Platform::with(|config| config.passwords.concurrency = 1).await;
    let tries = (0..20).map(|i| {
        let client = platform.client.clone();
        tokio::spawn(async move { try_in(&client, ADMIN, &format!("guess number {i}")).await.status })
    });
    let mut refused = 0;
    for one in tries.collect::<Vec<_>>() {
        refused += usize::from(one.await.unwrap() == 401);
    }
    assert!(refused <= 8, "{refused} of 20 guesses were tried");
}

#[tokio::test]
async fn a_refresh_token_works_once_and_returns_the_next() {
    let platform = Platform::start().await;
    let first = platform.sign_in(ADMIN).await;
    let second = refresh(&platform.client, &first).await.expect(200).body;
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    let third = refresh(&platform.client, &second).await.expect(200).body;
    let _ = platform.client.token(third["access_token"].as_str().unwrap()).get("/v1/me").await.expect(200);
    assert_eq!(first["session_expires_at"], third["session_expires_at"], "refreshing does not prolong");
}

#[tokio::test]
async fn a_refresh_token_can_be_repeated_within_the_grace_period() {
    let platform = Platform::start().await;
    let first = platform.sign_in(ADMIN).await;
    let lost = refresh(&platform.client, &first).await.expect(200).body;
    let again = refresh(&platform.client, &first).await.expect(200).body;
    // both successors are valid: two tabs may have refreshed at once
    let _ = refresh(&platform.client, &lost).await.expect(200);
    let _ = refresh(&platform.client, &again).await.expect(200);
}

#[tokio::test]
async fn two_tabs_that_refresh_at_once_both_stay_signed_in() {
    let platform = Platform::start().await;
    let first = platform.sign_in(ADMIN).await;
    let (one, two) = tokio::join!(refresh(&platform.client, &first), refresh(&platform.client, &first));
    for tab in [one, two] {
        let _ = refresh(&platform.client, &tab.expect(200).body).await.expect(200);
    }
}

#[tokio::test]
async fn a_reused_refresh_token_ends_the_session() {
    let platform = Platform::with(|config| config.sessions.reuse_grace_seconds = 0).await;
    let first = platform.sign_in(ADMIN).await;
    let other = platform.sign_in(ADMIN).await;
    let second = refresh(&platform.client, &first).await.expect(200).body;
    refresh(&platform.client, &first).await.expect_problem(401, "session-ended");
    refresh(&platform.client, &second).await.expect_problem(401, "session-ended");
    let _ = refresh(&platform.client, &other).await.expect(200);
}

#[tokio::test]
async fn other_text_is_refused_as_a_refresh_token() {
    let platform = Platform::start().await;
    let session = platform.sign_in(ADMIN).await;
    let token = session["refresh_token"].as_str().unwrap();
    let (id, secret) = token.split_once('.').unwrap();
    let mut changed = secret.to_owned();
    changed.replace_range(0..1, if secret.starts_with('A') { "B" } else { "A" });
    for bad in ["", "x", id, session["access_token"].as_str().unwrap(), &format!("{id}.{changed}")] {
        let body = json!({ "refresh_token": bad });
        platform.client.post("/v1/sessions/refresh", body).await.expect_problem(401, "session-ended");
    }
    let _ = refresh(&platform.client, &session).await.expect(200);
}

#[tokio::test]
async fn signing_out_ends_the_session_of_the_token() {
    let platform = Platform::start().await;
    let (session, other) = (platform.sign_in(ADMIN).await, platform.sign_in(ADMIN).await);
    let client = platform.client.token(session["access_token"].as_str().unwrap());
    let _ = client.delete("/v1/sessions/current").await.expect(204);
    testkit::eventually("the access token is refused too", async || {
        (client.delete("/v1/sessions/current").await.status == 401).then_some(())
    })
    .await;
    refresh(&platform.client, &session).await.expect_problem(401, "session-ended");
    let _ = refresh(&platform.client, &other).await.expect(200);
    platform.client.delete("/v1/sessions/current").await.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn the_tenant_is_chosen_at_sign_in_and_changed_by_refreshing() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "designer@x.test").await;
    let (one, two, foreign) = (
        platform.tenant(&admin, "one").await,
        platform.tenant(&admin, "two").await,
        platform.tenant(&admin, "foreign").await,
    );
    platform.member(&admin, &one, &user, "owner").await;
    platform.member(&admin, &two, &user, "viewer").await;

    let session = platform.sign_in("designer@x.test").await;
    assert_eq!((&session["tenant"]["id"], &session["role"]), (&json!(one), &json!("owner")));
    let body = json!({ "email": "designer@x.test", "password": PASSWORD, "tenant_id": two });
    let for_two = platform.client.post("/v1/sessions", body).await.expect(200).body;
    assert_eq!((&for_two["tenant"]["id"], &for_two["role"]), (&json!(two), &json!("viewer")));
    let body = json!({ "refresh_token": session["refresh_token"], "tenant_id": two });
    let changed = platform.client.post("/v1/sessions/refresh", body).await.expect(200).body;
    assert_eq!(changed["tenant"]["id"], json!(two));
    let stays = refresh(&platform.client, &changed).await.expect(200).body;
    assert_eq!(stays["tenant"]["id"], json!(two));
    let me =
        platform.client.token(stays["access_token"].as_str().unwrap()).get("/v1/me").await.expect(200).body;
    assert_eq!((&me["tenant_id"], &me["role"]), (&json!(two), &json!("viewer")));
    assert_eq!(me["memberships"].as_array().unwrap().len(), 2);

    let missing = ids::TenantId::new().to_string();
    let mut answers = Vec::new();
    for tenant in [&foreign, &missing] {
        let body = json!({ "email": "designer@x.test", "password": PASSWORD, "tenant_id": tenant });
        answers
            .push(platform.client.post("/v1/sessions", body).await.expect_problem(403, "not-a-member").text);
    }
    assert_eq!(answers[0], answers[1], "a foreign tenant looks like none");
}

#[tokio::test]
async fn nobody_signs_in_to_a_suspended_tenant() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "designer@x.test").await;
    let tenant = platform.tenant(&admin, "studio").await;
    platform.member(&admin, &tenant, &user, "owner").await;
    let session = platform.sign_in("designer@x.test").await;

    let path = format!("/v1/tenants/{tenant}");
    let _ = admin.patch(&path, "*", json!({ "state": "suspended" })).await.expect(200);
    refresh(&platform.client, &session).await.expect_problem(403, "tenant-suspended");
    assert_eq!(platform.sign_in("designer@x.test").await["tenant"], Value::Null);
    let _ = admin.patch(&path, "*", json!({ "state": "active" })).await.expect(200);
    let _ = refresh(&platform.client, &session).await.expect(200);
}

#[tokio::test]
async fn a_session_ends_with_its_membership_and_with_its_user() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let mut sessions = Vec::new();
    for (email, role) in [("a@x.test", "owner"), ("b@x.test", "member"), ("c@x.test", "member")] {
        let user = platform.user(&admin, email).await;
        platform.member(&admin, &tenant, &user, role).await;
        sessions.push((user, platform.sign_in(email).await));
    }
    let _ = admin.delete(&format!("/v1/tenants/{tenant}/members/{}", sessions[1].0)).await.expect(204);
    refresh(&platform.client, &sessions[1].1).await.expect_problem(401, "session-ended");

    let path = format!("/v1/users/{}", sessions[2].0);
    let _ = admin.patch(&path, "*", json!({ "disabled": true })).await.expect(200);
    refresh(&platform.client, &sessions[2].1).await.expect_problem(401, "session-ended");
    try_in(&platform.client, "c@x.test", PASSWORD).await.expect_problem(403, "user-disabled");
    try_in(&platform.client, "c@x.test", "wrong password").await.expect_problem(401, "wrong-credentials");
    let _ = admin.patch(&path, "*", json!({ "disabled": false })).await.expect(200);
    let _ = try_in(&platform.client, "c@x.test", PASSWORD).await.expect(200);
    refresh(&platform.client, &sessions[2].1).await.expect_problem(401, "session-ended");
    let _ = refresh(&platform.client, &sessions[0].1).await.expect(200);
}

#[tokio::test]
async fn a_further_session_of_a_user_takes_the_place_of_the_one_not_used_for_longest() {
    let platform = Platform::with(|config| config.sessions.most_per_user = 3).await;
    let admin = platform.admin().await;
    let _ = platform.user(&admin, "designer@x.test").await;
    let other = platform.sign_in(ADMIN).await;
    let sign_in = async || platform.sign_in("designer@x.test").await;
    let (first, second, third) = (sign_in().await, sign_in().await, sign_in().await);
    let first = refresh(&platform.client, &first).await.expect(200).body;
    let fourth = sign_in().await;

    refresh(&platform.client, &second).await.expect_problem(401, "session-ended");
    let ended = platform.client.token(second["access_token"].as_str().unwrap());
    testkit::eventually("its access token is refused too", async || {
        (ended.get("/v1/me").await.status == 401).then_some(())
    })
    .await;
    for open in [&first, &third, &fourth, &other] {
        let _ = refresh(&platform.client, open).await.expect(200);
    }
    let designer = platform.client.token(fourth["access_token"].as_str().unwrap());
    let listed = designer.get("/v1/sessions").await.expect(200).body;
    assert_eq!(listed["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn sign_ins_at_once_leave_the_number_of_sessions() {
    let platform = Platform::with(|config| config.sessions.most_per_user = 2).await;
    let admin = platform.admin().await;
    let _ = platform.user(&admin, "designer@x.test").await;
    let sign_in = async || platform.sign_in("designer@x.test").await;
    tokio::join!(sign_in(), sign_in(), sign_in(), sign_in(), sign_in());
    // each may have run before any of the others was visible
    let last = platform.as_user("designer@x.test").await;
    let listed = last.get("/v1/sessions").await.expect(200).body;
    assert_eq!(listed["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_concurrently_changed_password_creates_no_session() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "designer@x.test").await;
    // delays the sign-in between the password check and the new session
    let mut holding = platform.db.admin().await;
    let mut held = holding.begin().await.unwrap();
    sqlx::query("lock table identity.sign_in_throttles in exclusive mode").execute(&mut *held).await.unwrap();
    let client = platform.client.clone();
    let signing_in = tokio::spawn(async move { try_in(&client, "designer@x.test", PASSWORD).await });
    platform.db.wait_for_blocked_query().await;
    let change = json!({ "password": "another good password" });
    let _ = admin.patch(&format!("/v1/users/{user}"), "*", change).await.expect(200);
    held.commit().await.unwrap();
    signing_in.await.unwrap().expect_problem(401, "wrong-credentials");
}

#[tokio::test]
async fn all_old_failures_are_deleted_however_many() {
    let platform = Platform::start().await;
    let mut admin = platform.db.admin().await;
    let old = "insert into identity.sign_in_throttles
               select decode(md5(n::text), 'hex'), '', 1, now() - interval '2 days', now() - interval '2 days'
               from generate_series(1, 2500) n";
    sqlx::query(old).execute(&mut admin).await.unwrap();
    let _replica = platform.replica().await;
    testkit::eventually("all are deleted", async || {
        let left = "select count(*) from identity.sign_in_throttles";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut admin).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
}
