use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, Response};

use crate::platform::{ADMIN, Platform};

/// A tenant with two owners and a viewer.
struct Studio {
    platform: Platform,
    admin: Client,
    tenant: String,
    owner: String,
    as_owner: Client,
}

impl Studio {
    async fn new() -> Self {
        let platform = Platform::start().await;
        let admin = platform.admin().await;
        let tenant = platform.tenant(&admin, "studio").await;
        let owner = platform.user(&admin, "owner@x.test").await;
        platform.member(&admin, &tenant, &owner, "owner").await;
        for (email, role) in [("second@x.test", "owner"), ("viewer@x.test", "viewer")] {
            let user = platform.user(&admin, email).await;
            platform.member(&admin, &tenant, &user, role).await;
        }
        let as_owner = platform.as_user("owner@x.test").await;
        Self { platform, admin, tenant, owner, as_owner }
    }

    fn path(&self) -> String {
        format!("/v1/tenants/{}/invitations", self.tenant)
    }

    async fn invite(&self, email: &str, role: &str) -> Response {
        self.as_owner.post(&self.path(), json!({ "email": email, "role": role })).await
    }

    /// Creates a user, invites them, and returns their client and the id of the invitation.
    async fn invited(&self, email: &str) -> (Client, String) {
        self.platform.user(&self.admin, email).await;
        let id = self.invite(email, "member").await.expect(201).str("id").to_owned();
        (self.platform.as_user(email).await, id)
    }

    /// The tenant's members by e-mail address, with their roles.
    async fn members(&self) -> Vec<(String, String)> {
        let list = self.admin.get(&format!("/v1/tenants/{}/members", self.tenant)).await.expect(200);
        let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
        list.body["items"].as_array().unwrap().iter().map(|m| (text(m, "email"), text(m, "role"))).collect()
    }

    async fn is_member(&self, email: &str) -> bool {
        self.members().await.iter().any(|(member, _)| member == email)
    }

    async fn sql(&self, statement: &'static str) {
        sqlx::query(statement).execute(&mut self.platform.db.admin().await).await.unwrap();
    }
}

async fn received(client: &Client) -> Vec<Value> {
    client.get("/v1/me/invitations").await.expect(200).body["items"].as_array().unwrap().clone()
}

async fn accept(client: &Client, id: &str) -> Response {
    client.post(&format!("/v1/me/invitations/{id}/accept"), Value::Null).await
}

async fn decline(client: &Client, id: &str) -> Response {
    client.post(&format!("/v1/me/invitations/{id}/decline"), Value::Null).await
}

#[tokio::test]
async fn an_invited_person_accepts_and_acts_for_the_tenant() {
    let studio = Studio::new().await;
    studio.platform.user(&studio.admin, "Ada@x.test").await;
    let ada = studio.platform.as_user("ada@x.test").await;
    assert_eq!(received(&ada).await, Vec::<Value>::new());
    let invited = studio.invite("ada@X.test", "member").await.expect(201);
    assert_eq!((invited.str("email"), invited.str("role")), ("ada@X.test", "member"));
    assert_eq!(invited.str("invited_by"), studio.owner);
    let open = studio.as_owner.get(&studio.path()).await.expect(200);
    assert_eq!(open.body, json!({ "items": [invited.body], "next_cursor": null, "unreadable": [] }));

    let list = received(&ada).await;
    let expected = json!([{
        "id": invited.str("id"), "tenant": { "id": studio.tenant, "name": "studio" }, "role": "member",
        "invited_by": "owner@x.test",
        "created_at": invited.str("created_at"), "expires_at": invited.str("expires_at"),
    }]);
    assert_eq!(json!(list), expected);
    assert!(!studio.is_member("Ada@x.test").await, "not without consent");

    let key = ada.key("accept");
    let accepted = accept(&key, invited.str("id")).await.expect(200);
    let tenant = json!({ "id": studio.tenant, "name": "studio" });
    assert_eq!(accepted.body, json!({ "tenant": tenant, "state": "active", "role": "member" }));
    let replayed = accept(&key, invited.str("id")).await.expect(200);
    assert_eq!(replayed.header("idempotency-replayed"), Some("true"));
    accept(&ada, invited.str("id")).await.expect_problem(404, "not-found");
    assert_eq!(received(&ada).await, Vec::<Value>::new());
    assert_eq!(studio.as_owner.get(&studio.path()).await.body["items"], json!([]));
    let session = studio.platform.sign_in("ada@x.test").await;
    assert_eq!((&session["tenant"], &session["role"]), (&tenant, &json!("member")));
    studio.invite("ADA@x.test", "viewer").await.expect_problem(409, "already-a-member");
}

#[tokio::test]
async fn known_and_unknown_addresses_get_the_same_answer() {
    let studio = Studio::new().await;
    studio.platform.user(&studio.admin, "known@x.test").await;
    let mut answers = Vec::new();
    for email in ["known@x.test", "never@x.test", ADMIN] {
        let answer = studio.invite(email, "viewer").await;
        let mut text = answer.text.replace(email, "");
        for member in ["id", "created_at", "expires_at"] {
            text = text.replace(answer.str(member), "");
        }
        let headers: Vec<_> = answer.headers.keys().map(ToString::to_string).collect();
        answers.push((answer.status, text, headers));
    }
    assert_eq!(answers[0].0, 201);
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
}

#[tokio::test]
async fn an_account_that_is_created_later_finds_its_invitation() {
    let studio = Studio::new().await;
    let id = studio.invite("Later@x.test", "viewer").await.expect(201).str("id").to_owned();
    studio.platform.user(&studio.admin, "later@x.test").await;
    let later = studio.platform.as_user("later@x.test").await;
    assert_eq!(received(&later).await[0]["id"], json!(id));
    let _ = accept(&later, &id).await.expect(200);
    assert!(studio.is_member("later@x.test").await);
}

#[tokio::test]
async fn another_persons_invitation_looks_like_a_missing_one() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    studio.platform.user(&studio.admin, "eve@x.test").await;
    let eve = studio.platform.as_user("eve@x.test").await;
    assert_eq!(received(&eve).await, Vec::<Value>::new());
    let mut texts = Vec::new();
    for id in [id.as_str(), &ids::InvitationId::new().to_string(), "inv_x"] {
        texts.push(accept(&eve, id).await.expect_problem(404, "not-found").text);
        texts.push(decline(&eve, id).await.expect_problem(404, "not-found").text);
        texts.push(accept(&studio.admin, id).await.expect_problem(404, "not-found").text);
        let withdrawn = eve.delete(&format!("{}/{id}", studio.path())).await;
        texts.push(withdrawn.expect_problem(404, "not-found").text);
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "{texts:?}");
    let _ = accept(&ada, &id).await.expect(200);
}

#[tokio::test]
async fn a_declined_invitation_has_ended() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    let _ = decline(&ada, &id).await.expect(204);
    decline(&ada, &id).await.expect_problem(404, "not-found");
    accept(&ada, &id).await.expect_problem(404, "not-found");
    assert_eq!(studio.as_owner.get(&studio.path()).await.body["items"], json!([]));
    assert!(!studio.is_member("ada@x.test").await);
}

#[tokio::test]
async fn a_withdrawn_invitation_has_ended() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    let path = format!("{}/{id}", studio.path());
    let foreign = studio.platform.tenant(&studio.admin, "foreign").await;
    let wrong = format!("/v1/tenants/{foreign}/invitations/{id}");
    studio.admin.delete(&wrong).await.expect_problem(404, "not-found");
    let renewed = studio.invite("ada@x.test", "member").await.expect(201);
    assert_eq!(renewed.header("location"), Some(path.as_str()));
    let _ = studio.as_owner.delete(&path).await.expect(204);
    studio.as_owner.delete(&path).await.expect_problem(404, "not-found");
    accept(&ada, &id).await.expect_problem(404, "not-found");
    assert_eq!(received(&ada).await, Vec::<Value>::new());
}

#[tokio::test]
async fn an_invitation_expires_after_two_weeks() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    let days = "select extract(day from expires_at - created_at + interval '1 minute')::int
                from identity.invitations";
    let days: i32 = sqlx::query_scalar(days).fetch_one(&mut studio.platform.db.admin().await).await.unwrap();
    assert_eq!(days, 14);
    studio.sql("update identity.invitations set expires_at = now()").await;
    assert_eq!(received(&ada).await, Vec::<Value>::new());
    assert_eq!(studio.as_owner.get(&studio.path()).await.body["items"], json!([]));
    accept(&ada, &id).await.expect_problem(404, "not-found");
    decline(&ada, &id).await.expect_problem(404, "not-found");
    studio.as_owner.delete(&format!("{}/{id}", studio.path())).await.expect_problem(404, "not-found");
    let again = studio.invite("ada@x.test", "viewer").await.expect(201);
    assert_ne!(again.str("id"), id);
    studio.sql("update identity.invitations set expires_at = now()").await;
    let _replica = studio.platform.replica().await;
    let mut db = studio.platform.db.admin().await;
    testkit::eventually("expired invitations are deleted", async || {
        let left = "select count(*) from identity.invitations";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&mut db).await.unwrap();
        (left == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_address_has_one_open_invitation_of_a_tenant() {
    let studio = Studio::new().await;
    let first = studio.invite("ada@x.test", "member").await.expect(201);
    let second = studio.invite("ADA@x.test", "viewer").await.expect(201);
    assert_eq!(first.str("id"), second.str("id"));
    assert_eq!((second.str("email"), second.str("role")), ("ada@x.test", "viewer"));
    assert!(second.str("expires_at") > first.str("expires_at"));
    let open = studio.as_owner.get(&studio.path()).await.expect(200);
    assert_eq!(open.body["items"], json!([second.body]));
}

#[tokio::test]
async fn of_two_acceptances_at_once_one_succeeds() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    // both have found the invitation when the tenant is unlocked
    let mut holding = studio.platform.db.admin().await;
    let mut held = holding.begin().await.unwrap();
    sqlx::query("select 1 from identity.tenants for update").execute(&mut *held).await.unwrap();
    let tries = [(), ()].map(|()| {
        let (ada, id) = (ada.clone(), id.clone());
        tokio::spawn(async move { accept(&ada, &id).await.status })
    });
    studio.platform.db.wait_for_blocked_query().await;
    held.commit().await.unwrap();
    let mut statuses = Vec::new();
    for one in tries {
        statuses.push(one.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 404]);
    assert!(studio.is_member("ada@x.test").await);
}

#[tokio::test]
async fn nobody_joins_a_suspended_tenant() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    let tenant = format!("/v1/tenants/{}", studio.tenant);
    let _ = studio.admin.patch(&tenant, "*", json!({ "state": "suspended" })).await.expect(200);
    accept(&ada, &id).await.expect_problem(403, "tenant-suspended");
    let _ = studio.admin.patch(&tenant, "*", json!({ "state": "active" })).await.expect(200);
    let _ = accept(&ada, &id).await.expect(200);
}

#[tokio::test]
async fn an_invitation_is_void_while_its_inviter_cannot_manage_the_tenant() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    let (member, user) = (
        format!("/v1/tenants/{}/members/{}", studio.tenant, studio.owner),
        format!("/v1/users/{}", studio.owner),
    );
    for (path, void, valid) in [
        (&member, json!({ "role": "member" }), json!({ "role": "owner" })),
        (&user, json!({ "disabled": true }), json!({ "disabled": false })),
    ] {
        let _ = studio.admin.patch(path, "*", void).await.expect(200);
        accept(&ada, &id).await.expect_problem(404, "not-found");
        let _ = studio.admin.patch(path, "*", valid).await.expect(200);
    }
    let _ = studio.admin.delete(&member).await.expect(204);
    accept(&ada, &id).await.expect_problem(404, "not-found");
    // another owner confirms it
    let second = studio.platform.as_user("second@x.test").await;
    let again =
        second.post(&studio.path(), json!({ "email": "ada@x.test", "role": "viewer" })).await.expect(201);
    assert_eq!(again.str("id"), id);
    assert_eq!(accept(&ada, &id).await.expect(200).str("role"), "viewer");
}

#[tokio::test]
async fn an_invitation_ends_with_its_inviter() {
    let studio = Studio::new().await;
    let (ada, id) = studio.invited("ada@x.test").await;
    let _ = studio.admin.delete(&format!("/v1/users/{}", studio.owner)).await.expect(204);
    assert_eq!(received(&ada).await, Vec::<Value>::new());
    accept(&ada, &id).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn only_owners_and_administrators_manage_invitations() {
    let studio = Studio::new().await;
    let id = studio.invite("ada@x.test", "member").await.expect(201).str("id").to_owned();
    let viewer = studio.platform.as_user("viewer@x.test").await;
    let body = json!({ "email": "eve@x.test", "role": "owner" });
    viewer.get(&studio.path()).await.expect_problem(403, "forbidden");
    viewer.post(&studio.path(), body.clone()).await.expect_problem(403, "forbidden");
    viewer.delete(&format!("{}/{id}", studio.path())).await.expect_problem(403, "forbidden");
    let _ = studio.admin.post(&studio.path(), body).await.expect(201);
    assert_eq!(studio.admin.get(&studio.path()).await.body["items"].as_array().unwrap().len(), 2);

    let foreign = studio.platform.tenant(&studio.admin, "foreign").await;
    let missing = ids::TenantId::new().to_string();
    for tenant in [foreign, missing] {
        let path = format!("/v1/tenants/{tenant}/invitations");
        studio.as_owner.get(&path).await.expect_problem(404, "not-found");
        let body = json!({ "email": "ada@x.test", "role": "viewer" });
        studio.as_owner.post(&path, body).await.expect_problem(404, "not-found");
        studio.as_owner.delete(&format!("{path}/{id}")).await.expect_problem(404, "not-found");
    }
    for body in [
        json!({ "email": "no address", "role": "viewer" }),
        json!({ "email": "a@b", "role": "emperor" }),
        json!({ "role": "viewer" }),
    ] {
        studio.as_owner.post(&studio.path(), body).await.expect_problem(422, "invalid-field");
    }
}

#[tokio::test]
async fn a_removed_member_does_not_return_with_an_old_invitation() {
    let studio = Studio::new().await;
    let ada = studio.platform.user(&studio.admin, "ada@x.test").await;
    let id = studio.invite("ADA@x.test", "owner").await.expect(201).str("id").to_owned();
    studio.platform.member(&studio.admin, &studio.tenant, &ada, "viewer").await;
    let _ = studio.as_owner.delete(&format!("/v1/tenants/{}/members/{ada}", studio.tenant)).await.expect(204);
    accept(&studio.platform.as_user("ada@x.test").await, &id).await.expect_problem(404, "not-found");
}

#[tokio::test]
async fn open_invitations_are_limited_and_listed_in_pages() {
    let studio = Studio::new().await;
    studio
        .sql(
            "insert into identity.invitations (id, tenant_id, email, role, invited_by, expires_at)
             select gen_random_uuid(), m.tenant_id, 'guest' || n || '@x.test', 'viewer', m.user_id,
                    now() + case when n <= 99 then interval '1 hour' else interval '0' end
             from generate_series(1, 120) n,
                  (select tenant_id, user_id from identity.members where role = 'owner' limit 1) m",
        )
        .await;
    let _ = studio.invite("ada@x.test", "viewer").await.expect(201);
    studio.invite("bob@x.test", "viewer").await.expect_problem(409, "too-many-invitations");
    // renewing adds none
    let _ = studio.invite("ada@x.test", "member").await.expect(201);
    let (mut ids, mut path) = (Vec::new(), format!("{}?limit=40", studio.path()));
    loop {
        let page = studio.as_owner.get(&path).await.expect(200).body;
        ids.extend(page["items"].as_array().unwrap().iter().map(|i| i["id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("{}?limit=40&cursor={cursor}", studio.path());
    }
    assert_eq!(ids.len(), 100);
    assert!(ids.is_sorted());
}

#[tokio::test]
async fn a_repeated_invitation_request_is_carried_out_once() {
    let studio = Studio::new().await;
    let once = studio.as_owner.key("once");
    let body = json!({ "email": "ada@x.test", "role": "member" });
    let first = once.post(&studio.path(), body.clone()).await.expect(201);
    let again = once.post(&studio.path(), body).await.expect(201);
    assert_eq!(first.body, again.body);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
}
