//! What a caller may not do: see another tenant's, write as a viewer, send nonsense, do a thing twice.

use auth::Role;
use ids::{InstanceId, OperationId, TenantId};
use reqwest::Method;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    harness::{Fixture, Setup},
    neighbours::Condition,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_instance_is_like_one_that_is_not() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let operation = fixture.member().get(&format!("/v1/instances/{id}")).await.str("operation_id").to_owned();
    let stranger = fixture.user(TenantId::new(), Role::Owner);
    let none = InstanceId::new();
    for (method, path) in [
        (Method::GET, ""),
        (Method::PATCH, ""),
        (Method::DELETE, ""),
        (Method::POST, "/start"),
        (Method::POST, "/stop"),
        (Method::POST, "/restart"),
        (Method::POST, "/tickets"),
        (Method::GET, "/log"),
        (Method::GET, "/terminal"),
        (Method::GET, "/usage"),
        (Method::GET, "/metrics"),
    ] {
        let body = if method == Method::PATCH { json!({ "name": "mine" }) } else { Value::Null };
        let stranger = stranger.header("if-match", "*");
        let foreign = stranger.send(method.clone(), &format!("/v1/instances/{id}{path}"), &body).await;
        let missing = stranger.send(method.clone(), &format!("/v1/instances/{none}{path}"), &body).await;
        let nonsense = stranger.send(method.clone(), &format!("/v1/instances/nonsense{path}"), &body).await;
        let foreign = foreign.expect_problem(404, "not-found");
        assert_eq!(foreign.text, missing.text, "{method} {path}");
        assert_eq!(foreign.text, nonsense.text, "{method} {path}");
    }
    let missing = format!("/v1/instance-operations/{}", OperationId::new());
    let missing = stranger.get(&missing).await.expect_problem(404, "not-found");
    let foreign = stranger.get(&format!("/v1/instance-operations/{operation}")).await;
    assert_eq!(foreign.text, missing.text);
    for list in ["/v1/instances", "/v1/instance-operations"] {
        assert_eq!(stranger.get(list).await.expect(200).body["items"], json!([]));
        assert_ne!(fixture.member().get(list).await.expect(200).body["items"], json!([]));
    }
    let filtered = format!("/v1/instance-operations?instance_id={id}");
    assert_eq!(stranger.get(&filtered).await.expect(200).body["items"], json!([]));
    let _ = fixture.member().get(&format!("/v1/instances/{id}")).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_itself_shows_a_tenant_only_its_own_rows() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let _ = fixture.member().post(&format!("/v1/instances/{id}/tickets"), Value::Null).await.expect(201);
    let db = db::Db::connect("gpu", &fixture.config.database).unwrap();
    // the statements name no tenant at all
    let counts = async |tx: &mut db::Tx| -> Vec<i64> {
        let mut counts = Vec::new();
        for statement in [
            "select count(*) from instances",
            "select count(*) from operations",
            "select count(*) from runs",
            "select count(*) from tickets",
            "select count(*) from idempotency_keys where scope like 'ten%'",
        ] {
            counts.push(sqlx::query_scalar(statement).fetch_one(&mut **tx).await.unwrap());
        }
        counts
    };
    let mut own = db.tenant(fixture.tenant).await.unwrap();
    assert_eq!(counts(&mut own).await, [1, 1, 1, 1, 2]);
    let mut foreign = db.tenant(TenantId::new()).await.unwrap();
    assert_eq!(counts(&mut foreign).await, [0, 0, 0, 0, 0]);
    let changed = sqlx::query("update instances set name = 'mine'").execute(&mut *foreign).await.unwrap();
    assert_eq!(changed.rows_affected(), 0);
    let mut none = db.platform().await.unwrap();
    assert_eq!(counts(&mut none).await, [0, 0, 0, 0, 0]);
    // nor can a request write the meter, whosever it is
    let forged = sqlx::query("update runs set price_per_hour = 0").execute(&mut *own).await;
    assert!(forged.unwrap_err().to_string().contains("permission denied"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_reads_and_does_not_write() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let viewer = fixture.user(fixture.tenant, Role::Viewer).header("if-match", "*");
    let path = format!("/v1/instances/{id}");
    let _ = viewer.get(&path).await.expect(200);
    let _ = viewer.get(&format!("{path}/usage")).await.expect(200);
    viewer.post("/v1/instances", Fixture::order()).await.expect_problem(403, "forbidden");
    viewer.send(Method::PATCH, &path, &json!({ "name": "x" })).await.expect_problem(403, "forbidden");
    viewer.delete(&path).await.expect_problem(403, "forbidden");
    for action in ["start", "stop", "restart", "tickets"] {
        viewer.post(&format!("{path}/{action}"), Value::Null).await.expect_problem(403, "forbidden");
    }
    viewer.get(&format!("{path}/terminal")).await.expect_problem(403, "forbidden");
    Client::new(&fixture.base).get(&path).await.expect_problem(401, "unauthenticated");
    fixture.admin().get(&path).await.expect_problem(403, "forbidden");
    fixture.member().get("/internal/v1/routes/x").await.expect_problem(401, "unauthenticated");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_write_again_is_the_same_answer() {
    let fixture = Fixture::start().await;
    let keyed = fixture.member().key("order-1");
    let first = keyed.post("/v1/instances", Fixture::order()).await.expect(202);
    let again = keyed.post("/v1/instances", Fixture::order()).await.expect(202);
    assert_eq!(first.str("id"), again.str("id"));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("location"), first.header("location"));
    let mut other = Fixture::order();
    other["name"] = json!("other");
    keyed.post("/v1/instances", other).await.expect_problem(422, "idempotency-key-reused");
    assert_eq!(fixture.member().get("/v1/instances").await.body["items"].as_array().unwrap().len(), 1);
    // the stored answer is given even when the order could not be checked now
    fixture.neighbours.be(Condition::Away);
    let _ = keyed.post("/v1/instances", Fixture::order()).await.expect(202);
    fixture.neighbours.be(Condition::Well);
    // another tenant's key of the same text is another key
    let stranger = fixture.user(TenantId::new(), Role::Member).key("order-1");
    let theirs = stranger.post("/v1/instances", Fixture::order()).await.expect(202);
    assert_ne!(theirs.str("id"), first.str("id"));
    // many at once, one instance
    let racing = fixture.member().key("race");
    let answers =
        futures::future::join_all((0..8).map(|_| racing.post("/v1/instances", Fixture::order()))).await;
    assert!(answers.iter().all(|a| a.status == 202 || a.status == 409));
    let made = fixture.member().get("/v1/instances").await;
    assert_eq!(made.body["items"].as_array().unwrap().len(), 2);
    // without a key, none
    let bare = reqwest::Client::new()
        .post(format!("{}/v1/instances", fixture.base))
        .bearer_auth(fixture.issuer.user(fixture.tenant, Role::Member))
        .json(&Fixture::order());
    assert_eq!(bare.send().await.unwrap().status(), 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_opens_its_instance_once_and_is_shown_once() {
    let fixture = Fixture::start().await;
    let id = fixture.running().await;
    let other = fixture.running().await;
    let keyed = fixture.member().key("ticket-1");
    let path = format!("/v1/instances/{id}/tickets");
    let made = keyed.post(&path, Value::Null).await.expect(201);
    let url: url::Url = made.str("url").parse().unwrap();
    assert_eq!(url.host_str(), Some(format!("{}.localhost", id.k8s_name()).as_str()));
    assert_eq!(url.path(), "/.atelier/session");
    let ticket = url.query_pairs().find(|(name, _)| name == "ticket").unwrap().1.into_owned();
    assert!(ticket.len() >= 43, "256 bits");
    let again = keyed.post(&path, Value::Null).await.expect(201);
    assert_eq!(again.body["url"], Value::Null, "the ticket is shown again");

    let redeem = async |ticket: &str, label: String| {
        fixture
            .gateway()
            .post("/internal/v1/tickets/redeem", json!({ "ticket": ticket, "host_label": label }))
            .await
    };
    redeem(&ticket, other.k8s_name()).await.expect_problem(404, "not-found");
    redeem("nonsense", id.k8s_name()).await.expect_problem(404, "not-found");
    redeem(&ticket, "nonsense".into()).await.expect_problem(404, "not-found");
    // of many who bring it at once, one gets in
    let answers = futures::future::join_all((0..8).map(|_| redeem(&ticket, id.k8s_name()))).await;
    let let_in: Vec<_> = answers.iter().filter(|answer| answer.status == 200).collect();
    assert_eq!(let_in.len(), 1);
    assert_eq!(let_in[0].str("tenant_id"), fixture.tenant.to_string());
    redeem(&ticket, id.k8s_name()).await.expect_problem(404, "not-found");

    // an old one opens nothing
    let made = fixture.member().post(&path, Value::Null).await.expect(201);
    let url: url::Url = made.str("url").parse().unwrap();
    let ticket = url.query_pairs().next().unwrap().1.into_owned();
    let mut admin = fixture.db.admin().await;
    sqlx::query("update gpu.tickets set expires_at = now()").execute(&mut admin).await.unwrap();
    redeem(&ticket, id.k8s_name()).await.expect_problem(404, "not-found");
    // and the database does not know it
    let stored: Vec<Vec<u8>> =
        sqlx::query_scalar("select hash from gpu.tickets").fetch_all(&mut admin).await.unwrap();
    assert!(stored.iter().all(|hash| hash.as_slice() != ticket.as_bytes()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nonsense_is_refused_with_the_place_and_makes_nothing() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let foreign = fixture.neighbours.add_storage(TenantId::new());
    let member = fixture.member();
    let long = "x".repeat(64);
    for (pointer, value) in [
        ("/name", json!("")),
        ("/name", json!(" spaced ")),
        ("/name", json!("line\nbreak")),
        ("/name", json!(long)),
        ("/name", json!(7)),
        ("/gpu_spec", json!("no-such")),
        ("/gpu_spec", json!("retired")),
        ("/gpu_spec", json!("../../v1/claims")),
        ("/gpu_spec", json!("")),
        ("/version", json!("no-such")),
        ("/storage_id", json!("nonsense")),
        ("/storage_id", json!(ids::StorageId::new())),
        ("/storage_id", json!(foreign)),
        ("/datacenter", json!("uk-1")),
        ("/datacenter", json!(ids::DatacenterId::new())),
        ("/env", json!({})),
        ("/env/0/name", json!([{ "name": "9", "value": "" }])),
        ("/env/1/name", json!([{ "name": "A" }, { "name": "A" }])),
        ("/env/0/name", json!([{ "name": "ATELIER_X" }])),
        ("/env/0/value", json!([{ "name": "A", "value": "a\u{0}b" }])),
        ("/surprise", json!(1)),
    ] {
        let mut order = Fixture::order();
        order[pointer.split('/').nth(1).unwrap()] = value;
        let refused = member.post("/v1/instances", order).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer, "{}", refused.text);
    }
    let mut many = Fixture::order();
    many["env"] = (0..101).map(|i| json!({ "name": format!("V{i}"), "value": "" })).collect();
    member.post("/v1/instances", many).await.expect_problem(422, "invalid-field");
    let raw = async |body: String| {
        reqwest::Client::new()
            .post(format!("{}/v1/instances", fixture.base))
            .bearer_auth(fixture.issuer.user(fixture.tenant, Role::Member))
            .header("idempotency-key", "k")
            .header("content-type", "application/json")
            .body(body)
            .send()
            .await
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(raw("{".into()).await, 400);
    assert_eq!(raw(format!("\"{}\"", "x".repeat(300 * 1024))).await, 413);
    for query in ["?limit=0", "?limit=201", "?limit=x", "?cursor=x", "?state=flying", "?surprise=1"] {
        member.get(&format!("/v1/instances{query}")).await.expect_problem(422, "invalid-field");
    }
    assert_eq!(member.get("/v1/instances").await.expect(200).body["items"], json!([]));
    assert_eq!(fixture.neighbours.attachments(), 0);
    let mut order = Fixture::order();
    order["datacenter"] = json!(fixture.neighbours.datacenter);
    let _ = member.post("/v1/instances", order).await.expect(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_are_listed_filtered_and_renamed() {
    let fixture = Fixture::with(Setup { units: 0, workers: false, ..Setup::default() }).await;
    let member = fixture.member();
    let mut ids = Vec::new();
    for name in ["Alpha", "alpine", "beta"] {
        let mut order = Fixture::order();
        order["name"] = json!(name);
        ids.push(fixture.ordered(order).await);
    }
    let names = async |query: &str| -> Vec<String> {
        let list = member.get(&format!("/v1/instances{query}")).await.expect(200);
        list.body["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names("").await, ["beta", "alpine", "Alpha"]);
    assert_eq!(names("?name=ALP").await, ["alpine", "Alpha"]);
    assert_eq!(names("?name=%25").await, Vec::<String>::new());
    assert_eq!(names("?state=pending").await.len(), 3);
    assert_eq!(names("?state=running").await.len(), 0);
    let path = format!("/v1/instances/{}", ids[0]);
    let read = member.get(&path).await.expect(200);
    let etag = read.header("etag").unwrap();
    member.send(Method::PATCH, &path, &json!({ "name": "x" })).await.expect_problem(428, "if-match-required");
    assert_eq!(member.patch(&path, etag, json!({ "name": "gamma" })).await.expect(200).str("name"), "gamma");
    member.patch(&path, etag, json!({ "name": "delta" })).await.expect_problem(412, "changed-meanwhile");
    member.patch(&path, "*", json!({ "state": "running" })).await.expect_problem(422, "invalid-field");
    // a name is made up where none is given
    let id = fixture.ordered(Fixture::order()).await;
    let named = member.get(&format!("/v1/instances/{id}")).await;
    assert!(named.str("name").starts_with("shell-"));
    // what was never claimed can be deleted at once
    let _ = member.delete(&format!("/v1/instances/{id}")).await.expect(202);
    eventually("it is gone", async || {
        fixture.reconcile(id).await;
        (member.get(&format!("/v1/instances/{id}")).await.status == 404).then_some(())
    })
    .await;
}
