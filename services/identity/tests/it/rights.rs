//! Tokens that are older than the rights of their users.

use serde_json::{Value, json};
use testkit::{Client, SERVICE_TOKEN, eventually};

use crate::platform::{ADMIN, PASSWORD, Platform};

/// A tenant with an owner and a member, and their tokens.
struct Studio {
    platform: Platform,
    admin: Client,
    members: String,
    invitations: String,
    owner: String,
    as_owner: Client,
}

impl Studio {
    async fn new() -> Self {
        let platform = Platform::start().await;
        let admin = platform.admin().await;
        let tenant = platform.tenant(&admin, "studio").await;
        let (owner, other) =
            (platform.user(&admin, "owner@x.test").await, platform.user(&admin, "other@x.test").await);
        platform.member(&admin, &tenant, &owner, "owner").await;
        platform.member(&admin, &tenant, &other, "owner").await;
        let as_owner = platform.as_user("owner@x.test").await;
        Self {
            platform,
            admin,
            members: format!("/v1/tenants/{tenant}/members"),
            invitations: format!("/v1/tenants/{tenant}/invitations"),
            owner,
            as_owner,
        }
    }

    fn member(&self) -> String {
        format!("{}/{}", self.members, self.owner)
    }
}

/// Waits until a token is refused everywhere.
async fn refused(client: &Client) {
    eventually("the token is refused", async || (client.get("/v1/me").await.status == 401).then_some(()))
        .await;
}

/// The status of a write, which must not have succeeded.
fn assert_refused(response: &testkit::Response) {
    assert!(matches!(response.status, 401 | 403 | 404), "{}: {}", response.status, response.body);
}

#[tokio::test]
async fn a_removed_owner_cannot_come_back() {
    let studio = Studio::new().await;
    let _ = studio.admin.delete(&studio.member()).await.expect(204);
    let again = json!({ "email": "owner@x.test", "role": "owner" });
    assert_refused(&studio.as_owner.post(&studio.invitations, again).await);
    refused(&studio.as_owner).await;
    studio.admin.get(&studio.member()).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn a_demoted_owner_cannot_promote_themselves() {
    let studio = Studio::new().await;
    let _ = studio.admin.patch(&studio.member(), "*", json!({ "role": "viewer" })).await.expect(200);
    assert_refused(&studio.as_owner.patch(&studio.member(), "*", json!({ "role": "owner" })).await);
    refused(&studio.as_owner).await;
    assert_eq!(studio.admin.get(&studio.member()).await.expect(200).str("role"), "viewer");
    // the session continues with the lower role
    let as_viewer = studio.platform.as_user("owner@x.test").await;
    as_viewer.patch(&studio.member(), "*", json!({ "role": "owner" })).await.expect_problem(403, "forbidden");
}

#[tokio::test]
async fn a_promotion_keeps_the_token() {
    let studio = Studio::new().await;
    let _ = studio.admin.patch(&studio.member(), "*", json!({ "role": "member" })).await.expect(200);
    let as_member = studio.platform.as_user("owner@x.test").await;
    let _ = studio.admin.patch(&studio.member(), "*", json!({ "role": "owner" })).await.expect(200);
    // the role in the database decides, not the one in the token
    let viewer = json!({ "email": ADMIN, "role": "viewer" });
    let _ = as_member.post(&studio.invitations, viewer).await.expect(201);
}

#[tokio::test]
async fn an_administrator_who_lost_the_rights_cannot_use_them() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    for (email, change) in [
        ("demoted@x.test", Some(json!({ "admin": false }))),
        ("disabled@x.test", Some(json!({ "disabled": true }))),
        ("deleted@x.test", None),
    ] {
        let body = json!({ "email": email, "password": PASSWORD, "admin": true });
        let id = admin.post("/v1/users", body).await.expect(201).str("id").to_owned();
        let path = format!("/v1/users/{id}");
        let before = platform.as_user(email).await;
        let _ = match change {
            Some(change) => admin.patch(&path, "*", change).await.expect(200),
            None => admin.delete(&path).await.expect(204),
        };
        assert_refused(&before.patch(&path, "*", json!({ "admin": true, "disabled": false })).await);
        let accomplice =
            json!({ "email": format!("accomplice-{email}"), "password": PASSWORD, "admin": true });
        assert_refused(&before.post("/v1/users", accomplice).await);
        assert_refused(&before.post("/v1/tenants", json!({ "name": email })).await);
        assert_refused(&before.post("/v1/signing-keys/rotate", json!({})).await);
        refused(&before).await;
    }
    let users = admin.get("/v1/users").await.expect(200);
    let admins = users.body["items"].as_array().unwrap().iter().filter(|user| user["admin"] == true).count();
    assert_eq!(admins, 2, "the first one, and the disabled one: {}", users.body);
}

#[tokio::test]
async fn a_signed_out_session_changes_no_rights() {
    let studio = Studio::new().await;
    let _ = studio.as_owner.delete("/v1/sessions/current").await.expect(204);
    let body = json!({ "email": ADMIN, "role": "owner" });
    assert_refused(&studio.as_owner.post(&studio.invitations, body).await);
    refused(&studio.as_owner).await;
    let _ = studio.platform.as_user("owner@x.test").await.get("/v1/me").await.expect(200);
}

#[tokio::test]
async fn a_new_password_ends_the_other_sessions_only() {
    let studio = Studio::new().await;
    let other = studio.platform.as_user("owner@x.test").await;
    let change = json!({ "current_password": PASSWORD, "new_password": "another fine password" });
    let _ = studio.as_owner.put("/v1/me/password", change).await.expect(204);
    refused(&other).await;
    let _ = studio.as_owner.get("/v1/me").await.expect(200);
}

#[tokio::test]
async fn nobody_acts_for_a_suspended_tenant() {
    let studio = Studio::new().await;
    let tenant = studio.members.trim_end_matches("/members").to_owned();
    let _ = studio.admin.patch(&tenant, "*", json!({ "state": "suspended" })).await.expect(200);
    refused(&studio.as_owner).await;
    let _ = studio.admin.patch(&tenant, "*", json!({ "state": "active" })).await.expect(200);
    // tokens from before the suspension stay revoked, new ones work
    let _ = studio.platform.as_user("owner@x.test").await.get(&tenant).await.expect(200);
    assert_eq!(studio.as_owner.get("/v1/me").await.status, 401);
}

#[tokio::test]
async fn services_follow_the_revocations_by_cursor() {
    let studio = Studio::new().await;
    let service = studio.platform.client.token(SERVICE_TOKEN);
    let read = async |after: &str, wait: u32| {
        let query = format!("/internal/v1/revocations?after={after}&wait_seconds={wait}");
        service.get(&query).await.expect(200).body
    };
    let first = read("", 0).await;
    assert_eq!((first["items"].clone(), first["complete"].clone()), (json!([]), json!(true)));
    let cursor = first["next_cursor"].as_str().unwrap().to_owned();
    let member = studio.member();
    let (page, removed) = tokio::join!(read(&cursor, 10), studio.admin.delete(&member));
    let _ = removed.expect(204);
    let changes: Vec<Value> =
        page["items"].as_array().unwrap().iter().map(|item| item["change"].clone()).collect();
    let tenant = studio.members.split('/').nth(3).unwrap();
    assert_eq!(changes, [json!({ "user_id": studio.owner, "tenant_id": tenant, "session_id": null })]);
    let next = read(page["next_cursor"].as_str().unwrap(), 0).await;
    assert_eq!(next["items"], json!([]), "no row is returned twice");
    assert_eq!(read("", 0).await["items"].as_array().unwrap().len(), 1);

    service.get("/internal/v1/revocations?after=nonsense").await.expect_problem(422, "invalid-field");
    service.get("/internal/v1/revocations?wait_seconds=21").await.expect_problem(422, "invalid-field");
    studio.admin.get("/internal/v1/revocations").await.expect_problem(401, "unauthenticated");
}

#[tokio::test]
async fn services_ask_what_a_user_may_do_without_a_token() {
    let studio = Studio::new().await;
    let service = studio.platform.client.service("gpu");
    let tenant = studio.members.trim_end_matches("/members");
    let rights = format!("/internal{tenant}/members/{}", studio.owner);
    let read = service.get(&rights).await.expect(200);
    assert_eq!(read.str("role"), "owner");
    let as_of: jiff::Timestamp = read.str("as_of").parse().unwrap();
    let _ = studio.admin.patch(&studio.member(), "*", json!({ "role": "viewer" })).await.expect(200);
    assert_eq!(service.get(&rights).await.expect(200).str("role"), "viewer");
    // the change revokes rights that were read before it
    let changes = service.get("/internal/v1/revocations?after=").await.expect(200);
    let revoked: jiff::Timestamp = changes.body["items"][0]["at"].as_str().unwrap().parse().unwrap();
    assert!(as_of <= revoked, "{as_of} {revoked}");
    // the same rules as for sign-in: no rights in a suspended tenant, for a disabled user, or without a membership
    let _ = studio.admin.patch(tenant, "*", json!({ "state": "suspended" })).await.expect(200);
    service.get(&rights).await.expect_problem(404, "not-found");
    let _ = studio.admin.patch(tenant, "*", json!({ "state": "active" })).await.expect(200);
    let _ = service.get(&rights).await.expect(200);
    let user = format!("/v1/users/{}", studio.owner);
    let _ = studio.admin.patch(&user, "*", json!({ "disabled": true })).await.expect(200);
    service.get(&rights).await.expect_problem(404, "not-found");
    let stranger = format!("/internal{tenant}/members/{}", ids::UserId::new());
    service.get(&stranger).await.expect_problem(404, "not-found");
    studio.admin.get(&rights).await.expect_problem(401, "unauthenticated");
}
