//! Share links of instances.

use auth::{Claims, Revocation, Role};
use ids::{InstanceId, SessionId, TenantId};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::harness::{Fixture, Replica};

#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
pub(crate) fn in_hours(hours: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(hours)
}

fn path(id: InstanceId) -> String {
    format!("/v1/instances/{id}/share-links")
}

async fn create(client: &Client, id: InstanceId, port: Value) -> Response {
    client.post(&path(id), json!({ "name": "for Ann", "port": port, "expires_at": in_hours(24) })).await
}

/// The secret and the host label of a link's URL.
fn parts(link: &Response) -> (String, String) {
    let url: url::Url = link.str("url").parse().unwrap();
    assert_eq!(url.path(), "/.atelier/share");
    let secret = url.query_pairs().find(|(name, _)| name == "link").unwrap().1.into_owned();
    (secret, url.host_str().unwrap().split('.').next().unwrap().to_owned())
}

impl Fixture {
    async fn open(&self, (secret, label): &(String, String)) -> Response {
        let body = json!({ "secret": secret, "host_label": label });
        self.gateway().post("/internal/v1/share-links/open", body).await
    }

    async fn links_of_route(&self, label: &str) -> Value {
        self.gateway().get(&format!("/internal/v1/routes/{label}")).await.expect(200).body["share_links"]
            .clone()
    }

    async fn with_port() -> (Self, InstanceId) {
        let fixture = Self::start().await;
        let mut order = Self::order();
        order["public_ports"] = json!([{ "port": 8188 }]);
        let id = fixture.ordered(order).await;
        fixture.brought_up(id).await;
        let _ = fixture.in_state(id, "running").await;
        (fixture, id)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_one_port_until_it_is_deleted() {
    let (fixture, id) = Fixture::with_port().await;
    let (own, port) = (id.k8s_name(), format!("p8188-{}", id.k8s_name()));
    let made = create(&fixture.member(), id, json!(8188)).await.expect(201);
    let (link, link_id) = (parts(&made), made.str("id").to_owned());
    assert_eq!(link.1, port);
    assert_eq!((made.body["port"].as_i64(), made.str("name")), (Some(8188), "for Ann"));
    let service = create(&fixture.member(), id, Value::Null).await.expect(201);
    assert_eq!(parts(&service).1, own);

    // any number of times, at its host name only
    for _ in 0..2 {
        let opened = fixture.open(&link).await.expect(200).body;
        assert_eq!(
            (&opened["share_link_id"], &opened["tenant_id"]),
            (&json!(link_id), &json!(fixture.tenant))
        );
        assert_eq!((&opened["instance_id"], &opened["expires_at"]), (&json!(id), &made.body["expires_at"]));
    }
    for (secret, label) in
        [(&link.0, &own), (&"x".repeat(43), &port), (&link.0, &InstanceId::new().k8s_name())]
    {
        fixture.open(&(secret.clone(), label.clone())).await.expect_problem(404, "not-found");
    }
    assert_eq!(fixture.links_of_route(&port).await, json!([link_id]));
    assert_eq!(fixture.links_of_route(&own).await, json!([service.str("id")]));

    // the secret is shown once
    let listed = fixture.member().get(&path(id)).await.expect(200);
    let items = listed.body["items"].as_array().unwrap();
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item["url"].is_null()) && !listed.text.contains(&link.0));
    assert!(items[1]["last_used_at"].is_string() && items[0]["last_used_at"].is_null(), "{}", listed.text);

    let (_, cursor) = fixture.changed_routes("", 0).await;
    let _ = fixture.member().delete(&format!("{}/{link_id}", path(id))).await.expect(204);
    let (changes, _) = fixture.changed_routes(&cursor, 5).await;
    assert_eq!(changes, [json!({ "instance_id": id })], "the gateway is told");
    fixture.open(&link).await.expect_problem(404, "not-found");
    assert_eq!(fixture.links_of_route(&port).await, json!([]));
    fixture.member().delete(&format!("{}/{link_id}", path(id))).await.expect_problem(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_belong_to_writers_of_the_tenant() {
    let (fixture, id) = Fixture::with_port().await;
    let made = create(&fixture.member(), id, Value::Null).await.expect(201);
    let one = format!("{}/{}", path(id), made.str("id"));
    let viewer = fixture.user(fixture.tenant, Role::Viewer);
    create(&viewer, id, Value::Null).await.expect_problem(403, "forbidden");
    viewer.delete(&one).await.expect_problem(403, "forbidden");
    let _ = viewer.get(&path(id)).await.expect(200);
    let stranger = fixture.user(TenantId::new(), Role::Owner);
    stranger.get(&path(id)).await.expect_problem(404, "not-found");
    create(&stranger, id, Value::Null).await.expect_problem(404, "not-found");
    stranger.delete(&one).await.expect_problem(404, "not-found");

    // another instance's link
    let other = fixture.ordered(Fixture::order()).await;
    fixture
        .member()
        .delete(&format!("{}/{}", path(other), made.str("id")))
        .await
        .expect_problem(404, "not-found");

    for (body, pointer) in [
        (json!({ "name": "", "expires_at": in_hours(1) }), "/name"),
        (json!({ "name": "x", "expires_at": in_hours(31 * 24) }), "/expires_at"),
        (json!({ "name": "x", "expires_at": in_hours(-1) }), "/expires_at"),
        (json!({ "name": "x", "port": 9000, "expires_at": in_hours(1) }), "/port"),
    ] {
        let refused = fixture.member().post(&path(id), body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    for _ in 1..20 {
        let _ = create(&fixture.member(), id, Value::Null).await.expect(201);
    }
    let refused =
        create(&fixture.member(), id, Value::Null).await.expect_problem(409, "too-many-share-links");
    assert_eq!(
        (&refused.body["limit"], &refused.body["detail"]),
        (&json!(20), &json!("The instance already has 20 share links."))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_ends_with_the_rights_of_its_creator() {
    let (fixture, id) = Fixture::with_port().await;
    let (kept, ended) = (fixture.member(), fixture.user(fixture.tenant, Role::Member));
    let kept = parts(&create(&kept, id, Value::Null).await.expect(201));
    let made = create(&ended, id, Value::Null).await.expect(201);
    let link = parts(&made);
    let _ = fixture.open(&link).await.expect(200);
    fixture.issuer.revoke(Revocation {
        user_id: Some(made.str("created_by").parse().unwrap()),
        tenant_id: Some(fixture.tenant),
        ..Revocation::default()
    });
    eventually("the link is refused", async || (fixture.open(&link).await.status == 404).then_some(())).await;
    eventually("it is deleted", async || {
        let listed = fixture.member().get(&path(id)).await.expect(200);
        (!listed.text.contains(made.str("id"))).then_some(())
    })
    .await;
    let _ = fixture.open(&kept).await.expect(200);
}

/// A person with an account, and a client of the gateway in the person's request.
struct Person {
    claims: Claims,
    token: String,
}

impl Fixture {
    fn person(&self, email: &str) -> Person {
        let claims = self.issuer.claims(Some((TenantId::new(), Role::Viewer)), false);
        let claims = Claims { sid: Some(SessionId::new()), ..claims };
        self.neighbours.set_email(claims.sub, email);
        Person { token: self.issuer.sign(&claims), claims }
    }

    /// Asks for a ticket in the request of a person.
    async fn ticket(&self, (secret, label): &(String, String), person: &Person) -> Response {
        let body = json!({ "secret": secret, "host_label": label });
        self.gateway().on_behalf(&person.token).post("/internal/v1/share-links/tickets", body).await
    }

    async fn redeem_link(&self, ticket: &str, label: &str) -> Response {
        let body = json!({ "ticket": ticket, "host_label": label });
        self.gateway().post("/internal/v1/share-links/redeem", body).await
    }
}

async fn create_for(client: &Client, id: InstanceId, recipient: Value) -> Response {
    let link = json!({ "name": "for Ann", "recipient": recipient, "expires_at": in_hours(24) });
    client.post(&path(id), link).await
}

fn ticket_of(answer: &Response) -> String {
    let url: url::Url = answer.str("url").parse().unwrap();
    assert_eq!(url.path(), "/.atelier/share");
    url.query_pairs().find(|(name, _)| name == "ticket").unwrap().1.into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_for_one_person_opens_to_that_person_only() {
    let (fixture, id) = Fixture::with_port().await;
    let (ann, bob) = (fixture.person("Ann@x.test"), fixture.person("bob@x.test"));
    let first = create_for(&fixture.member(), id, json!({ "email": "ann@X.test" })).await.expect(201);
    let second = create_for(&fixture.member(), id, json!({ "email": "ANN@x.test" })).await.expect(201);
    assert_eq!(first.body["recipient"], json!({ "email": "ann@X.test" }));
    let listed = fixture.member().get(&path(id)).await.expect(200);
    assert_eq!(listed.body["items"][0]["recipient"], json!({ "email": "ANN@x.test" }));
    let label = id.k8s_name();

    for made in [&first, &second] {
        let link = parts(made);
        // the link alone opens nothing, and neither does another person
        fixture.open(&link).await.expect_problem(404, "not-found");
        let missing = fixture.ticket(&("x".repeat(43), label.clone()), &bob).await.expect(404);
        let refused = fixture.ticket(&link, &bob).await.expect(404);
        assert_eq!(refused.body, missing.body);
        fixture
            .ticket(&(link.0.clone(), InstanceId::new().k8s_name()), &ann)
            .await
            .expect_problem(404, "not-found");
        let ticket = ticket_of(&fixture.ticket(&link, &ann).await.expect(200));
        fixture.redeem_link(&ticket, &format!("p8188-{label}")).await.expect_problem(404, "not-found");
        let ticket = ticket_of(&fixture.ticket(&link, &ann).await.expect(200));
        let opened = fixture.redeem_link(&ticket, &label).await.expect(200).body;
        assert_eq!(opened["share_link_id"], made.body["id"]);
        assert_eq!(
            (&opened["person"]["user_id"], &opened["person"]["session_id"]),
            (&json!(ann.claims.sub), &json!(ann.claims.sid))
        );
        assert_eq!(
            (&opened["created_by"], &opened["tenant_id"]),
            (&made.body["created_by"], &json!(fixture.tenant))
        );
        fixture.redeem_link(&ticket, &label).await.expect_problem(404, "not-found");
    }
    let listed = fixture.member().get(&path(id)).await.expect(200);
    assert!(listed.body["items"].as_array().unwrap().iter().all(|link| link["last_used_at"].is_string()));

    // a link for everyone needs no ticket and returns none
    let open = parts(&create(&fixture.member(), id, Value::Null).await.expect(201));
    fixture.ticket(&open, &ann).await.expect_problem(404, "not-found");
    // the gateway says for whom it asks
    let body = json!({ "secret": parts(&second).0, "host_label": label });
    let tickets = "/internal/v1/share-links/tickets";
    fixture.gateway().post(tickets, body.clone()).await.expect_problem(401, "unauthenticated");
    let other = Client::new(&fixture.base).service("storage").on_behalf(&ann.token);
    other.post(tickets, body).await.expect_problem(403, "forbidden");

    // a ticket ends with its link
    let link = parts(&second);
    let ticket = ticket_of(&fixture.ticket(&link, &ann).await.expect(200));
    let _ = fixture.member().delete(&format!("{}/{}", path(id), second.str("id"))).await.expect(204);
    fixture.redeem_link(&ticket, &label).await.expect_problem(404, "not-found");
    fixture.ticket(&link, &ann).await.expect_problem(404, "not-found");
    // and the link with the rights of its creator
    let link = parts(&first);
    let ticket = ticket_of(&fixture.ticket(&link, &ann).await.expect(200));
    fixture.issuer.revoke(Revocation {
        user_id: Some(first.str("created_by").parse().unwrap()),
        ..Revocation::default()
    });
    eventually("the link is refused", async || {
        (fixture.ticket(&link, &ann).await.status == 404).then_some(())
    })
    .await;
    fixture.redeem_link(&ticket, &label).await.expect_problem(404, "not-found");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_the_same_in_any_form() {
    let (fixture, id) = Fixture::with_port().await;
    // as the identity service has it
    let anne = fixture.person("zo\u{eb}@b\u{fc}cher.test");
    for typed in
        ["zo\u{eb}@xn--bcher-kva.test", "Zoe\u{308}@BU\u{308}CHER.test", "\u{ff5a}o\u{eb}@b\u{fc}cher.test"]
    {
        let made = create_for(&fixture.member(), id, json!({ "email": typed })).await.expect(201);
        let _ = fixture.ticket(&parts(&made), &anne).await.expect(200);
    }
    let mut admin = fixture.db.admin().await;
    let kept = "select distinct lower(recipient_email) from gpu.share_links";
    let kept: Vec<String> = sqlx::query_scalar(kept).fetch_all(&mut admin).await.unwrap();
    assert_eq!(kept, ["zo\u{eb}@b\u{fc}cher.test"]);
    // the same of names
    let named = json!({ "name": "Ko\u{308}ln", "expires_at": in_hours(24) });
    assert_eq!(fixture.member().post(&path(id), named).await.expect(201).str("name"), "K\u{f6}ln");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipient_has_an_email_address() {
    let (fixture, id) = Fixture::with_port().await;
    let refused = create_for(&fixture.member(), id, json!({ "email": "ann" })).await;
    assert_eq!(refused.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/recipient/email");
    // without the identity service, addresses mean nothing
    let mut config = fixture.config.clone();
    config.identity = None;
    let replica = Replica::start(&config, false).await;
    let member = Client::new(&replica.base).token(&fixture.issuer.user(fixture.tenant, Role::Member));
    let refused = create_for(&member, id, json!({ "email": "ann@x.test" })).await;
    assert_eq!(refused.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/recipient");
    replica.process.shutdown.begin();
}
