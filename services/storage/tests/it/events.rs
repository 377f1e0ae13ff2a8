//! `GET /v1/storage-events`: what happens to storages, as it happens.

use std::time::Duration;

use auth::{Revocation, Role};
use ids::{InstanceId, TenantId};
use serde_json::{Value, json};
use sqlx::Connection;
use tokio::time::{Instant, timeout};

use crate::fixture::{Fixture, Service, ended, make, remove, specs};

const PATH: &str = "/v1/storage-events";

struct Reader {
    response: reqwest::Response,
    text: String,
    position: String,
}

async fn request(service: &Service, token: &str, query: &str, last: Option<&str>) -> reqwest::Response {
    let url = format!("{}{PATH}{query}", service.client.base());
    let mut request =
        reqwest::Client::new().get(url).bearer_auth(token).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    request.send().await.unwrap()
}

impl Reader {
    /// Opens a stream, and reads the position at which it begins.
    async fn open(service: &Service, token: &str, query: &str, last: Option<&str>) -> Self {
        let response = request(service, token, query, last).await;
        assert_eq!(response.status(), 200);
        let mut reader = Self { response, text: String::new(), position: String::new() };
        assert_eq!(reader.block().await, Some(None));
        reader
    }

    /// The event of the next block, if it has one; none at the end of the stream.
    async fn block(&mut self) -> Option<Option<Value>> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
                let event = field("data: ").map(|data| serde_json::from_str::<Value>(data).unwrap());
                assert_eq!(event.as_ref().and_then(|event| event["type"].as_str()), field("event: "));
                if let Some(id) = field("id: ") {
                    id.clone_into(&mut self.position);
                }
                self.text = rest.to_owned();
                return Some(event);
            }
            let part = timeout(Duration::from_secs(30), self.response.chunk()).await.expect("an event comes");
            self.text.push_str(std::str::from_utf8(&part.unwrap()?).unwrap());
        }
    }

    async fn next(&mut self) -> Value {
        loop {
            if let Some(event) = self.block().await.expect("the stream goes on") {
                return event;
            }
        }
    }

    /// The events up to the first that is wanted.
    async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        let mut events = vec![self.next().await];
        while !events.last().is_some_and(&wanted) {
            events.push(self.next().await);
        }
        events
    }
}

fn is_end(event: &Value) -> bool {
    event["operation"]["state"] == "succeeded"
}

/// Type, and state of the storage or the operation.
fn short(event: &Value) -> String {
    let state = event["state"].as_str().or_else(|| event["operation"]["state"].as_str()).unwrap_or_default();
    format!("{} {state}", event["type"].as_str().unwrap())
}

async fn written(fixture: &Fixture) -> i64 {
    let mut conn = fixture.db.admin().await;
    let count = sqlx::query_scalar("select count(*) from storage.storage_events").fetch_one(&mut conn).await;
    conn.close().await.unwrap();
    count.unwrap()
}

/// When the storages are compared with the cluster again, in microseconds since 1970; 0 while they are.
async fn next_comparison(fixture: &Fixture) -> i64 {
    let mut conn = fixture.db.admin().await;
    let due =
        "select coalesce((extract(epoch from max(wake_at)) * 1000000)::bigint, 0) from storage.storages";
    let due = sqlx::query_scalar(due).fetch_one(&mut conn).await;
    conn.close().await.unwrap();
    due.unwrap()
}

#[tokio::test]
async fn changes_of_storages_are_told_once_each_to_their_tenant() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    specs(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let token = fixture.issuer.user(tenant, Role::Viewer);
    let member = fixture.member(&service, tenant);
    let stranger = TenantId::new();
    let of_stranger = fixture.issuer.user(stranger, Role::Member);
    let mut reader = Reader::open(&service, &token, "?after=latest", None).await;
    let beginning = reader.position.clone();
    let mut other = Reader::open(&service, &of_stranger, "?after=latest", None).await;

    let made = make(&member, "pictures", "archive", 10).await;
    let mut events = reader.until(is_end).await;
    let (first, last) = (short(&events[0]), short(events.last().unwrap()));
    assert_eq!((first.as_str(), last.as_str()), ("operation.changed pending", "operation.changed succeeded"));
    let created = events.iter().find(|event| event["type"] == "storage.created").unwrap();
    let time = &created["time"];
    let expected = json!({
        "type": "storage.created", "time": time, "tenant_id": tenant, "storage_id": made.str("id"),
        "name": "pictures", "kind": "bucket", "state": "pending", "reason": null, "message": null,
        "size_gib": 10, "capacity_gib": null, "operation_id": made.str("operation_id"),
    });
    assert_eq!(created, &expected);
    assert!(events.iter().any(|event| short(event) == "storage.changed available"), "{events:?}");
    let operation = ended(&member, made.str("operation_id")).await;
    let told = &events.last().unwrap()["operation"];
    for field in ["id", "kind", "target", "state", "problem"] {
        assert_eq!(told[field], operation.body[field], "{field}");
    }

    // what changes nothing is not written
    let before = written(&fixture).await;
    let due = next_comparison(&fixture).await;
    testkit::eventually("the storage is compared", async || {
        (next_comparison(&fixture).await > due).then_some(())
    })
    .await;
    assert_eq!(written(&fixture).await, before);

    // cut, changed meanwhile, and resumed: from any event the rest follows
    let cut = reader.position.clone();
    drop(reader);
    let path = format!("/v1/storages/{}", made.str("id"));
    let _ = member.patch(&path, "*", json!({ "name": "paintings" })).await.expect(200);
    let attachment = format!("/internal/v1/storages/{}/attachments/{}", made.str("id"), InstanceId::new());
    let peer = service.client.service("gpu");
    let request_body = json!({ "tenant_id": tenant, "mode": "read_only" });
    let _ = peer.put(&attachment, request_body).await.expect(200);
    let _ = peer.delete(&attachment).await.expect(204);
    remove(&member, made.str("id")).await;
    let mut reader = Reader::open(&service, &token, "", Some(&cut)).await;
    let rest = reader.until(|event| event["type"] == "operation.changed" && is_end(event)).await;
    assert_eq!(rest[0]["name"], "paintings");
    let kinds: Vec<_> = rest.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..3], ["storage.changed", "storage.attached", "storage.detached"]);
    assert!(kinds.contains(&"storage.deleted"), "{kinds:?}");
    events.extend(rest);
    let mut all = Reader::open(&service, &token, "", Some(&beginning)).await;
    let mut again = Vec::new();
    while again.len() < events.len() {
        again.push(all.next().await);
    }
    assert_eq!(again, events, "without a gap, and none twice");

    // another tenant has seen its own only
    let _ = make(&fixture.member(&service, stranger), "theirs", "archive", 1).await;
    for event in other.until(is_end).await {
        assert!(!event.to_string().contains(&tenant.to_string()), "{event}");
        assert!(!event.to_string().contains(made.str("id")), "{event}");
    }
}

#[tokio::test]
async fn a_stream_ends_with_the_rights_and_positions_with_age() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let tenant = TenantId::new();
    let claims = fixture.issuer.claims(Some((tenant, Role::Member)), false);
    let token = fixture.issuer.sign(&claims);
    let mut reader = Reader::open(&service, &token, "", None).await;
    let (_, cursor) = reader.position.split_once('@').unwrap();
    let old = format!("1700000000@{cursor}");
    let gone = request(&service, &token, "", Some(&old)).await;
    assert_eq!(gone.status(), 410);
    assert!(gone.text().await.unwrap().contains("events-deleted"));
    for bad in ["?after=x", "?after=7", "?limit=3"] {
        assert_eq!(request(&service, &token, bad, None).await.status(), 422, "{bad}");
    }
    let client = service.client.token(&token);
    client.get(PATH).await.expect_problem(422, "invalid-field");
    fixture.admin(&service).get(PATH).await.expect_problem(403, "forbidden");

    let now = Instant::now();
    fixture.issuer.revoke(Revocation {
        user_id: Some(claims.sub),
        tenant_id: Some(tenant),
        ..Revocation::default()
    });
    while reader.block().await.is_some() {}
    assert!(now.elapsed() < Duration::from_secs(1), "{:?}", now.elapsed());
}
