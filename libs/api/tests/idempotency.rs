//! Writes that are repeated, sent concurrently, or sent with another body under the same key.

#![expect(clippy::unwrap_used, reason = "a failed assertion is the point of a test")]

use std::sync::Arc;

use atelier_api::{IdempotencyKey, Json, Problem, Reply, idempotency::forget_old};
use axum::{
    Router,
    extract::{FromRequestParts as _, State},
    http::StatusCode,
    routing::post,
};
use db::Db;
use serde_json::{Value, json};
use testkit::{Client, TestDb};
use tokio::sync::Semaphore;

#[derive(Clone)]
struct App {
    db: Db,
    /// Effects wait for a permit, so that a test can delay one.
    gate: Arc<Semaphore>,
}

async fn write(
    State(app): State<App>,
    key: IdempotencyKey,
    Json(body): Json<Value>,
) -> Result<Reply, Problem> {
    key.once(app.db.platform().await?, "test", &body, async |tx| {
        let _permit = app.gate.acquire().await.map_err(Problem::internal)?;
        sqlx::query("insert into notes values ($1)").bind(body.to_string()).execute(&mut *tx).await?;
        if body["fail"] == true {
            return Err(Problem::forbidden("as asked"));
        }
        Ok(Reply::json(StatusCode::CREATED, &body)?
            .etag(7)
            .location("/notes/1")
            .once_only(json!({ "secret": "s3cret" })))
    })
    .await
}

async fn app(permits: usize) -> (TestDb, App, Client) {
    let database = TestDb::new();
    let (_, db) = database.open("test", &sqlx::migrate!("tests/migrations")).await;
    let app = App { db, gate: Arc::new(Semaphore::new(permits)) };
    let url = testkit::serve(Router::new().route("/notes", post(write)).with_state(app.clone())).await;
    (database, app, Client::new(&url))
}

async fn notes(app: &App) -> i64 {
    let mut tx = app.db.worker().await.unwrap();
    sqlx::query_scalar("select count(*) from notes").fetch_one(&mut *tx).await.unwrap()
}

#[tokio::test]
async fn the_same_write_twice_happens_once_and_tells_no_secret_twice() {
    let (_database, app, client) = app(10).await;
    let client = client.key("k1");
    let first = client.post("/notes", json!({ "a": 1 })).await.expect(201);
    assert_eq!(first.body, json!({ "a": 1, "secret": "s3cret" }));
    let again = client.post("/notes", json!({ "a": 1 })).await.expect(201);
    assert_eq!(again.body, json!({ "a": 1 }));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("etag"), Some("\"7\""));
    assert_eq!(again.header("location"), Some("/notes/1"));
    client.post("/notes", json!({ "a": 2 })).await.expect_problem(422, "idempotency-key-reused");
    assert_eq!(notes(&app).await, 1);
}

#[tokio::test]
async fn a_failed_write_leaves_neither_effect_nor_key() {
    let (_database, app, client) = app(10).await;
    client.key("k").post("/notes", json!({ "fail": true })).await.expect_problem(403, "forbidden");
    assert_eq!(notes(&app).await, 0);
    let _ = client.key("k").post("/notes", json!({ "a": 1 })).await.expect(201);
    assert_eq!(notes(&app).await, 1);
}

/// Waits until a request holds its key.
async fn is_held(app: &App) {
    testkit::eventually("a request holds its key", async || {
        let mut tx = app.db.worker().await.ok()?;
        let locks = "select count(*) from pg_locks where locktype = 'advisory'
                     and database = (select oid from pg_database where datname = current_database())";
        let held: i64 = sqlx::query_scalar(locks).fetch_one(&mut *tx).await.ok()?;
        (held == 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn while_the_first_is_under_way_the_second_is_told_so() {
    let (_database, app, client) = app(0).await;
    let client = client.key("k");
    let first = tokio::spawn({
        let client = client.clone();
        async move { client.post("/notes", json!({ "a": 1 })).await }
    });
    is_held(&app).await;
    client.post("/notes", json!({ "a": 1 })).await.expect_problem(409, "idempotency-key-in-use");
    app.gate.add_permits(10);
    let _ = first.await.unwrap().expect(201);
    assert_eq!(notes(&app).await, 1);
}

/// The first request commits after the second has read the keys and before it locks its own.
#[tokio::test]
async fn a_second_that_did_not_see_the_first_has_no_effect() {
    let (_database, app, client) = app(0).await;
    let client = client.key("k");
    let second = tokio::spawn({
        let client = client.clone();
        async move { client.post("/notes", json!({ "a": 1 })).await }
    });
    is_held(&app).await;
    let mut first = app.db.worker().await.unwrap();
    let key = "insert into idempotency_keys (scope, key, request_hash, status, headers) values ('test', 'k', '', 201, '{}')";
    sqlx::query(key).execute(&mut *first).await.unwrap();
    first.commit().await.unwrap();
    app.gate.add_permits(10);
    second.await.unwrap().expect_problem(409, "idempotency-key-in-use");
    assert_eq!(notes(&app).await, 0);
}

#[tokio::test]
async fn a_write_without_a_valid_key_is_refused() {
    let (_database, _app, client) = app(1).await;
    for invalid in ["", "a b", &"k".repeat(256)] {
        client.key(invalid).post("/notes", json!({})).await.expect_problem(400, "idempotency-key-invalid");
    }
    let _ = client.key(&"k".repeat(255)).post("/notes", json!({})).await.expect(201);
    let bare = reqwest::Client::new().post(format!("{}/notes", client.base())).json(&json!({}));
    let answer = bare.send().await.unwrap();
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("idempotency-key-required"));
}

#[tokio::test]
async fn a_key_is_forgotten_after_a_day() {
    let (_database, app, client) = app(10).await;
    for key in ["old", "older", "oldest", "new"] {
        let _ = client.key(key).post("/notes", json!({ "key": key })).await.expect(201);
    }
    let mut tx = app.db.worker().await.unwrap();
    let age = "update idempotency_keys set created_at = now() - interval '25 hours' where key <> 'new'";
    sqlx::query(age).execute(&mut *tx).await.unwrap();
    assert_eq!(forget_old(&mut tx, 2).await.unwrap(), 2);
    assert_eq!(forget_old(&mut tx, 2).await.unwrap(), 1);
    tx.commit().await.unwrap();
    client.key("new").post("/notes", json!({ "a": 1 })).await.expect_problem(422, "idempotency-key-reused");
    let _ = client.key("old").post("/notes", json!({ "a": 1 })).await.expect(201);
}

/// Writes each item, with the key `k` and its number, in one transaction.
async fn write_each(State(app): State<App>, Json(items): Json<Vec<Value>>) -> Result<Reply, Problem> {
    let mut writes = Vec::new();
    for item in items {
        let request =
            axum::http::Request::post("/notes").header("idempotency-key", item["key"].as_str().unwrap());
        let (mut parts, ()) = request.body(()).unwrap().into_parts();
        writes.push((IdempotencyKey::from_request_parts(&mut parts, &()).await?, item));
    }
    let outcomes = IdempotencyKey::once_each(app.db.platform().await?, "test", &writes, async |tx, new| {
        let items: Vec<&Value> = new.iter().map(|n| &writes[*n].1).collect();
        let mut outcomes = Vec::new();
        for item in &items {
            if item["refuse"] == true {
                outcomes.push(Err(Problem::forbidden("as asked")));
                continue;
            }
            sqlx::query("insert into notes values ($1)").bind(item.to_string()).execute(&mut *tx).await?;
            outcomes.push(Ok(Reply::json(StatusCode::CREATED, item)?.etag(3)));
        }
        match items.iter().any(|item| item["fail"] == true) {
            true => Err(Problem::forbidden("all of it")),
            false => Ok(outcomes),
        }
    })
    .await?;
    let outcome = |outcome: Result<Reply, Problem>| match outcome {
        Ok(reply) => json!({ "status": reply.status.as_u16(), "body": reply.body, "etag": reply.etag }),
        Err(problem) => json!({ "status": problem.status.as_u16(), "type": problem.kind.to_string() }),
    };
    Reply::json(StatusCode::OK, &outcomes.into_iter().map(outcome).collect::<Vec<_>>())
}

#[tokio::test]
async fn writes_of_a_group_are_carried_out_once_each() {
    let (_database, app, _) = app(10).await;
    let url = testkit::serve(Router::new().route("/groups", post(write_each)).with_state(app.clone())).await;
    let client = Client::new(&url);
    let statuses = async |items: Value| {
        let answer = client.post("/groups", items).await.expect(200).body;
        answer.as_array().unwrap().iter().map(|one| one["status"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let (a, b) = (json!({ "key": "a" }), json!({ "key": "b" }));
    let (refused, twice) = (json!({ "key": "c", "refuse": true }), json!({ "key": "b", "other": 1 }));
    assert_eq!(statuses(json!([a, refused, b, twice])).await, [201, 403, 201, 409]);
    assert_eq!(notes(&app).await, 2);
    // earlier items are recognized, also together with new ones; refused items have left no key
    let (reused, new) = (json!({ "key": "a", "other": 1 }), json!({ "key": "c" }));
    let answer = client.post("/groups", json!([b, reused, new, a])).await.expect(200).body;
    assert_eq!(answer[0], json!({ "status": 201, "body": b, "etag": 3 }));
    assert_eq!(
        (&answer[1]["status"], &answer[2]["status"], &answer[3]["body"]),
        (&json!(422), &json!(201), &a)
    );
    assert_eq!(notes(&app).await, 3);
    // if one item fails, none is written
    client
        .post("/groups", json!([{ "key": "d" }, { "key": "e", "fail": true }]))
        .await
        .expect_problem(403, "forbidden");
    assert_eq!(notes(&app).await, 3);
    assert_eq!(statuses(json!([{ "key": "d" }])).await, [201]);
}
