use serde_json::json;
use sqlx::Connection as _;
use testkit::eventually;

use crate::platform::Platform;

#[tokio::test]
async fn owners_manage_members_and_others_only_read() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let owner = platform.user(&admin, "owner@x.test").await;
    let viewer = platform.user(&admin, "viewer@x.test").await;
    let newcomer = platform.user(&admin, "newcomer@x.test").await;
    platform.member(&admin, &tenant, &owner, "owner").await;
    platform.member(&admin, &tenant, &viewer, "viewer").await;
    let members = format!("/v1/tenants/{tenant}/members");

    let as_owner = platform.as_user("owner@x.test").await;
    let body = json!({ "user_id": newcomer, "role": "member" });
    // nobody is added without their consent
    let refused = as_owner.post(&members, body.clone()).await.expect_problem(403, "forbidden");
    assert!(refused.str("next").contains("/invitations"), "{}", refused.text);
    let made = admin.post(&members, body.clone()).await.expect(201);
    assert_eq!((made.str("user_id"), made.str("role")), (newcomer.as_str(), "member"));
    admin.post(&members, body).await.expect_problem(409, "already-a-member");
    let path = made.header("location").unwrap().to_owned();
    let etag = as_owner.get(&path).await.expect(200).header("etag").unwrap().to_owned();
    let _ = as_owner.patch(&path, &etag, json!({ "role": "viewer" })).await.expect(200);
    as_owner.patch(&path, &etag, json!({ "role": "owner" })).await.expect_problem(412, "changed-meanwhile");

    let as_viewer = platform.as_user("viewer@x.test").await;
    let list = as_viewer.get(&members).await.expect(200);
    assert_eq!(list.body["items"].as_array().unwrap().len(), 3);
    as_viewer.patch(&path, "*", json!({ "role": "owner" })).await.expect_problem(403, "forbidden");
    as_viewer.delete(&path).await.expect_problem(403, "forbidden");

    let _ = as_owner.delete(&path).await.expect(204);
    as_owner.get(&path).await.expect_problem(404, "not-found");
    for body in [
        json!({ "role": "member" }),
        json!({ "role": "member", "email": "a@b", "user_id": viewer }),
        json!({ "role": "member", "user_id": ids::UserId::new() }),
        json!({ "role": "emperor", "user_id": viewer }),
    ] {
        admin.post(&members, body).await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test]
async fn the_last_owner_remains() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let (a, b) = (platform.user(&admin, "a@x.test").await, platform.user(&admin, "b@x.test").await);
    platform.member(&admin, &tenant, &a, "owner").await;
    platform.member(&admin, &tenant, &b, "member").await;
    let path = |user: &str| format!("/v1/tenants/{tenant}/members/{user}");
    admin.delete(&path(&a)).await.expect_problem(409, "last-owner");
    admin.patch(&path(&a), "*", json!({ "role": "member" })).await.expect_problem(409, "last-owner");
    let refused = admin.delete(&format!("/v1/users/{a}")).await.expect_problem(409, "last-owner");
    assert_eq!(refused.str("tenant_id"), tenant);
    let _ = admin.patch(&path(&b), "*", json!({ "role": "owner" })).await.expect(200);

    // both leave concurrently: one of them must remain
    let (one, two) = (path(&a), path(&b));
    let (left, right) = tokio::join!(admin.delete(&one), admin.delete(&two));
    let mut statuses = [left.status, right.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [204, 409]);
}

#[tokio::test]
async fn a_tenant_of_others_is_not_found() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let (own, foreign) = (platform.tenant(&admin, "own").await, platform.tenant(&admin, "foreign").await);
    let (me, them) = (platform.user(&admin, "me@x.test").await, platform.user(&admin, "them@x.test").await);
    platform.member(&admin, &own, &me, "owner").await;
    platform.member(&admin, &foreign, &them, "owner").await;
    let client = platform.as_user("me@x.test").await;
    let missing = ids::TenantId::new().to_string();
    let mut texts = Vec::new();
    for tenant in [foreign.as_str(), missing.as_str(), "ten_x", "usr_01939f0a7c3d7e6b8a1f4f0d5c2b1a00"] {
        let base = format!("/v1/tenants/{tenant}");
        texts.push(client.get(&base).await.expect_problem(404, "not-found").text);
        texts.push(client.get(&format!("{base}/members")).await.expect_problem(404, "not-found").text);
        let member = format!("{base}/members/{them}");
        texts.push(client.get(&member).await.expect_problem(404, "not-found").text);
        texts.push(client.delete(&member).await.expect_problem(404, "not-found").text);
        let role = json!({ "role": "viewer" });
        texts.push(client.patch(&member, "*", role).await.expect_problem(404, "not-found").text);
        let new = json!({ "user_id": me, "role": "owner" });
        texts.push(client.post(&format!("{base}/members"), new).await.expect_problem(404, "not-found").text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
}

#[tokio::test]
async fn only_a_suspended_tenant_without_members_is_deleted() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "Studio").await;
    admin.post("/v1/tenants", json!({ "name": "studio" })).await.expect_problem(409, "name-taken");
    let (a, b) = (platform.user(&admin, "a@x.test").await, platform.user(&admin, "b@x.test").await);
    platform.member(&admin, &tenant, &a, "owner").await;
    platform.member(&admin, &tenant, &b, "member").await;
    platform.sign_in("a@x.test").await;
    let path = format!("/v1/tenants/{tenant}");
    admin.delete(&path).await.expect_problem(409, "tenant-active");
    let _ = admin.patch(&path, "*", json!({ "state": "suspended" })).await.expect(200);
    admin.delete(&path).await.expect_problem(409, "tenant-has-members");
    let _ = admin.delete(&format!("{path}/members/{b}")).await.expect(204);
    let _ = admin.delete(&path).await.expect(202);
    eventually("the tenant is deleted", async || (admin.get(&path).await.status == 404).then_some(())).await;
    let list = admin.get("/v1/tenants?name_prefix=stu&state=suspended").await.expect(200);
    assert_eq!(list.body["items"], json!([]));
}

#[tokio::test]
async fn a_user_who_concurrently_becomes_the_last_owner_is_not_deleted() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let (a, b) = (platform.user(&admin, "a@x.test").await, platform.user(&admin, "b@x.test").await);
    platform.member(&admin, &tenant, &a, "owner").await;
    platform.member(&admin, &tenant, &b, "member").await;
    // the statements of two concurrent requests before they commit
    let mut managing = platform.db.admin().await;
    let mut managed = managing.begin().await.unwrap();
    for change in [
        "select 1 from identity.tenants for update",
        "update identity.members set role = 'owner'",
        "delete from identity.members where user_id = (select id from identity.users where email = 'a@x.test')",
    ] {
        sqlx::query(change).execute(&mut *managed).await.unwrap();
    }
    let leaving = tokio::spawn(async move { admin.delete(&format!("/v1/users/{b}")).await });
    platform.db.wait_for_blocked_query().await;
    managed.commit().await.unwrap();
    leaving.await.unwrap().expect_problem(409, "last-owner");
}

#[tokio::test]
async fn a_name_that_another_tenant_takes_concurrently_is_refused() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let (one, two) = (platform.tenant(&admin, "one").await, platform.tenant(&admin, "two").await);
    let mut naming = platform.db.admin().await;
    let mut named = naming.begin().await.unwrap();
    let rename = "update identity.tenants set name = 'Three' where name = 'two'";
    sqlx::query(rename).execute(&mut *named).await.unwrap();
    let renaming = {
        let admin = admin.clone();
        tokio::spawn(async move {
            admin.patch(&format!("/v1/tenants/{one}"), "*", json!({ "name": "three" })).await
        })
    };
    platform.db.wait_for_blocked_query().await;
    named.commit().await.unwrap();
    renaming.await.unwrap().expect_problem(409, "name-taken");
    let _ = admin.patch(&format!("/v1/tenants/{two}"), "*", json!({ "name": "three" })).await.expect(200);
}

#[tokio::test]
async fn members_leave_and_the_last_owner_cannot() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let other = platform.tenant(&admin, "other").await;
    let (owner, viewer) =
        (platform.user(&admin, "owner@x.test").await, platform.user(&admin, "viewer@x.test").await);
    platform.member(&admin, &other, &viewer, "viewer").await;
    platform.member(&admin, &tenant, &owner, "owner").await;
    platform.member(&admin, &tenant, &viewer, "viewer").await;
    let path = |user: &str| format!("/v1/tenants/{tenant}/members/{user}");

    let as_viewer = platform.as_user("viewer@x.test").await;
    as_viewer.delete(&path(&owner)).await.expect_problem(404, "not-found");
    // the user acts for another tenant and leaves this one; a suspended tenant can be left too
    let _ = as_viewer.delete(&path(&viewer)).await.expect(204);
    as_viewer.delete(&path(&viewer)).await.expect_problem(404, "not-found");
    let left = admin.get(&format!("/v1/users/{viewer}/memberships")).await.expect(200);
    assert_eq!(left.body["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        (&left.body["items"][0]["tenant"]["id"], &left.body["items"][0]["role"]),
        (&json!(other), &json!("viewer"))
    );
    as_viewer.get(&format!("/v1/users/{viewer}/memberships")).await.expect_problem(403, "forbidden");
    let nobody = format!("/v1/users/{}/memberships", ids::UserId::new());
    admin.get(&nobody).await.expect_problem(404, "not-found");

    let as_owner = platform.as_user("owner@x.test").await;
    as_owner.delete(&path(&owner)).await.expect_problem(409, "last-owner");
    // an API key cannot make its user leave
    let body = json!({ "name": "ci", "scopes": ["members:write"] });
    let key = as_viewer.post("/v1/api-keys", body).await.expect(201);
    let exchange = json!({ "credential": key.str("secret"), "client_address": "203.0.113.7" });
    let granted =
        platform.client.service("gateway").post("/internal/v1/token-exchanges", exchange).await.expect(200);
    let keyed = platform.client.token(granted.str("access_token"));
    let own = format!("/v1/tenants/{other}/members/{viewer}");
    keyed.delete(&own).await.expect_problem(403, "forbidden");
    let _ = as_viewer.delete(&own).await.expect(204);
    eventually("the token for the tenant is refused", async || {
        (as_viewer.get("/v1/me").await.status == 401).then_some(())
    })
    .await;
}

#[tokio::test]
async fn owners_rename_their_tenant_and_do_nothing_else_to_it() {
    let platform = Platform::start().await;
    let admin = platform.admin().await;
    let tenant = platform.tenant(&admin, "studio").await;
    let taken = platform.tenant(&admin, "agency").await;
    for role in ["owner", "member"] {
        let user = platform.user(&admin, &format!("{role}@x.test")).await;
        platform.member(&admin, &tenant, &user, role).await;
    }
    let path = format!("/v1/tenants/{tenant}");
    let owner = platform.as_user("owner@x.test").await;
    let member = platform.as_user("member@x.test").await;
    let etag = owner.get(&path).await.expect(200).header("etag").unwrap().to_owned();
    let renamed = owner.patch(&path, &etag, json!({ "name": "Atelier Ko\u{308}ln" })).await.expect(200);
    assert_eq!(renamed.str("name"), "Atelier K\u{f6}ln");
    owner.patch(&path, &etag, json!({ "name": "again" })).await.expect_problem(412, "changed-meanwhile");
    owner.patch(&path, "*", json!({ "name": "AGENCY" })).await.expect_problem(409, "name-taken");
    owner.patch(&path, "*", json!({ "name": "" })).await.expect_problem(422, "invalid-field");
    member.patch(&path, "*", json!({ "name": "mine" })).await.expect_problem(403, "forbidden");
    let of_other = format!("/v1/tenants/{taken}");
    owner.patch(&of_other, "*", json!({ "name": "mine" })).await.expect_problem(404, "not-found");
    for change in [json!({ "state": "suspended" }), json!({ "name": "x", "stop_instances": true })] {
        owner.patch(&path, "*", change).await.expect_problem(403, "forbidden");
    }
    let _ = admin.patch(&path, "*", json!({ "name": "studio", "state": "suspended" })).await.expect(200);
}
