use serde_json::json;
use sqlx::Connection as _;

use crate::platform::{ADMIN, PASSWORD, Platform};

#[tokio::test]
async fn a_user_is_created_read_changed_and_deleted() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let body = json!({ "email": "Ada@x.test", "display_name": "Ada L.", "password": PASSWORD });
    let made = admin.post("/v1/users", body).await.expect(201);
    let path = made.header("location").unwrap().to_owned();
    assert_eq!(path, format!("/v1/users/{}", made.str("id")));
    assert_eq!((made.str("email"), made.str("display_name")), ("Ada@x.test", "Ada L."));
    assert!(!made.text.contains("argon2") && !made.text.contains(PASSWORD));

    let read = admin.get(&path).await.expect(200);
    let etag = read.header("etag").unwrap().to_owned();
    let changed = admin.patch(&path, &etag, json!({ "display_name": "Ada" })).await.expect(200);
    assert_eq!(changed.str("display_name"), "Ada");
    admin.patch(&path, &etag, json!({ "display_name": "B" })).await.expect_problem(412, "changed-meanwhile");
    let _ = admin.send("PATCH".parse().unwrap(), &path, &json!({})).await.expect(428);

    let same = json!({ "email": "ADA@X.TEST", "password": PASSWORD });
    admin.post("/v1/users", same).await.expect_problem(409, "email-taken");
    let _ = admin.delete(&path).await.expect(204);
    admin.get(&path).await.expect_problem(404, "not-found");
    admin.delete(&path).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn a_repeated_request_creates_one_user() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let key = admin.key("the-same");
    let body = json!({ "email": "ada@x.test", "password": "a password to find" });
    let first = key.post("/v1/users", body.clone()).await.expect(201);
    let again = key.post("/v1/users", body).await.expect(201);
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = json!({ "email": "ada@x.test", "password": "another password" });
    key.post("/v1/users", other).await.expect_problem(422, "idempotency-key-reused");
    let list = admin.get("/v1/users?email_prefix=ADA").await.expect(200);
    assert_eq!(list.body["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn users_are_listed_in_pages() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    for i in 0..5 {
        platform.user(&admin, &format!("user{i}@x.test")).await;
    }
    let mut seen = Vec::new();
    let mut path = "/v1/users?limit=2&email_prefix=user".to_owned();
    loop {
        let page = admin.get(&path).await.expect(200).body;
        seen.extend(
            page["items"].as_array().unwrap().iter().map(|u| u["email"].as_str().unwrap().to_owned()),
        );
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/users?limit=2&email_prefix=user&cursor={cursor}");
    }
    assert_eq!(seen, (0..5).map(|i| format!("user{i}@x.test")).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_last_administrator_remains() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let id = admin.get("/v1/me").await.body["user"]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/users/{id}");
    admin.patch(&path, "*", json!({ "admin": false })).await.expect_problem(409, "last-administrator");
    admin.patch(&path, "*", json!({ "disabled": true })).await.expect_problem(409, "last-administrator");
    admin.delete(&path).await.expect_problem(409, "last-administrator");
    let body = json!({ "email": "second@x.test", "password": PASSWORD, "admin": true });
    let _ = admin.post("/v1/users", body).await.expect(201);
    let _ = admin.patch(&path, "*", json!({ "admin": false })).await.expect(200);
}

#[tokio::test]
async fn the_first_administrator_is_created_once() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let id = admin.get("/v1/me").await.body["user"]["id"].as_str().unwrap().to_owned();
    let _ = admin
        .patch(&format!("/v1/users/{id}"), "*", json!({ "password": "changed by hand" }))
        .await
        .expect(200);
    let (second, _end) = platform.replica().await;
    let body = json!({ "email": ADMIN, "password": PASSWORD });
    second.post("/v1/sessions", body).await.expect_problem(401, "wrong-credentials");
    let body = json!({ "email": ADMIN, "password": "changed by hand" });
    let _ = second.post("/v1/sessions", body).await.expect(200);
}

#[tokio::test]
async fn a_changed_password_ends_the_other_sessions() {
    let platform = Platform::start().await;
    let (own, other) = (platform.sign_in(ADMIN).await, platform.sign_in(ADMIN).await);
    let client = platform.client.token(own["access_token"].as_str().unwrap());
    let wrong = json!({ "current_password": "not this one", "new_password": "a new password" });
    client.put("/v1/me/password", wrong).await.expect_problem(422, "invalid-field");
    let weak = json!({ "current_password": PASSWORD, "new_password": "short" });
    client.put("/v1/me/password", weak).await.expect_problem(422, "invalid-field");

    let change = json!({ "current_password": PASSWORD, "new_password": "a new password" });
    let once = client.key("change");
    let _ = once.put("/v1/me/password", change.clone()).await.expect(204);
    let again = once.put("/v1/me/password", change.clone()).await.expect(204);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    client.put("/v1/me/password", change).await.expect_problem(422, "invalid-field");

    let refresh = |session: &serde_json::Value| json!({ "refresh_token": session["refresh_token"] });
    let _ = client.post("/v1/sessions/refresh", refresh(&own)).await.expect(200);
    client.post("/v1/sessions/refresh", refresh(&other)).await.expect_problem(401, "session-ended");
    let _ = client.post("/v1/sessions", json!({ "email": ADMIN, "password": PASSWORD })).await.expect(401);
    let _ = client
        .post("/v1/sessions", json!({ "email": ADMIN, "password": "a new password" }))
        .await
        .expect(200);
}

#[tokio::test]
async fn of_two_concurrent_password_changes_the_first_wins() {
    let platform = Platform::start().await;
    let client = platform.admin().await;
    let to = |new: &str| json!({ "current_password": PASSWORD, "new_password": new });
    let mut holding = platform.db.admin().await;
    let mut held = holding.begin().await.unwrap();
    sqlx::query("lock table identity.idempotency_keys in access exclusive mode")
        .execute(&mut *held)
        .await
        .unwrap();
    let second = {
        let (client, change) = (client.clone(), to("the second password"));
        tokio::spawn(async move { client.put("/v1/me/password", change).await })
    };
    // the current password has been verified, and is not replaced yet
    platform.db.wait_for_blocked_query().await;
    let first = "update identity.users set password_hash = 'the first, of another request'";
    sqlx::query(first).execute(&mut *held).await.unwrap();
    held.commit().await.unwrap();
    second.await.unwrap().expect_problem(422, "invalid-field");
}

#[tokio::test]
async fn concurrent_password_changes_cannot_pass_the_lock() {
    let platform = Platform::with(|config| config.passwords.concurrency = 1).await;
    let client = platform.admin().await;
    let tries = (0..20).map(|i| {
        let client = client.clone();
        let guess =
            json!({ "current_password": format!("guess number {i}"), "new_password": "a new password" });
        tokio::spawn(async move { client.put("/v1/me/password", guess).await.status })
    });
    let mut refused = 0;
    for one in tries.collect::<Vec<_>>() {
        refused += usize::from(one.await.unwrap() == 422);
    }
    assert!(refused <= 8, "{refused} of 20 guesses were tried");
}

#[tokio::test]
async fn only_administrators_manage_users_and_tenants() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "designer@x.test").await;
    let tenant = platform.tenant(&admin, "studio").await;
    platform.member(&admin, &tenant, &user, "owner").await;
    let designer = platform.as_user("designer@x.test").await;
    for path in ["/v1/users", "/v1/tenants", "/v1/signing-keys", &format!("/v1/users/{user}")] {
        designer.get(path).await.expect_problem(403, "forbidden");
        platform.client.get(path).await.expect_problem(401, "unauthenticated");
    }
    designer
        .post("/v1/users", json!({ "email": "x@x", "password": PASSWORD }))
        .await
        .expect_problem(403, "forbidden");
    designer.post("/v1/tenants", json!({ "name": "x" })).await.expect_problem(403, "forbidden");
    designer.post("/v1/signing-keys/rotate", json!(null)).await.expect_problem(403, "forbidden");
    let path = format!("/v1/tenants/{tenant}");
    designer.patch(&path, "*", json!({ "state": "suspended" })).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn everybody_changes_their_name_and_language() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let user = platform.user(&admin, "ada@x.test").await;
    let ada = platform.as_user("ada@x.test").await;
    let me = ada.get("/v1/me").await.expect(200);
    assert_eq!((&me.body["language"], &me.body["user"]["display_name"]), (&json!(null), &json!("ada")));
    let etag = me.header("etag").unwrap().to_owned();

    let changed = ada.patch("/v1/me", &etag, json!({ "display_name": "Zoe\u{308}" })).await.expect(200);
    assert_eq!(changed.body["user"]["display_name"], "Zo\u{eb}");
    assert_eq!(changed.body["language"], json!(null));
    ada.patch("/v1/me", &etag, json!({ "language": "en" })).await.expect_problem(412, "changed-meanwhile");
    let etag = changed.header("etag").unwrap();
    let changed = ada.patch("/v1/me", etag, json!({ "language": "zh-CN" })).await.expect(200);
    assert_eq!(
        (&changed.body["language"], &changed.body["user"]["display_name"]),
        (&json!("zh-CN"), &json!("Zo\u{eb}"))
    );
    assert_eq!(ada.get("/v1/me").await.expect(200).body, changed.body);
    assert_eq!(admin.get(&format!("/v1/users/{user}")).await.expect(200).str("display_name"), "Zo\u{eb}");
    for wrong in [
        json!({ "display_name": "" }),
        json!({ "display_name": "a\u{0}b" }),
        json!({ "language": "fr" }),
        json!({ "admin": true }),
        json!({ "email": "b@x.test" }),
    ] {
        ada.patch("/v1/me", "*", wrong).await.expect_problem(422, "invalid-field");
    }
}
