//! Results that are on their way to their tenant: out of its reach until they are delivered, and what follows when they cannot be.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Router, http::StatusCode};
use ids::TenantId;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, TestDb};

use crate::{
    fixture::{Fixture, pool, submit},
    fleet::{Work, Worker, put, reaches},
    runner::{Studio, engine, small},
};

/// A proxy in front of an object store, which passes on what `answer` has no answer for. Returns its URL.
async fn proxy(
    store: &str,
    answer: impl Fn(&Method) -> Option<(StatusCode, &'static str)> + Clone + Send + Sync + 'static,
) -> String {
    let (store, http) = (store.to_owned(), reqwest::Client::new());
    testkit::serve(Router::new().fallback(async move |request: axum::extract::Request| {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        if let Some((status, text)) = answer(&parts.method) {
            return (status, text.into());
        }
        let url = format!("{store}{}", parts.uri.path_and_query().unwrap());
        let answer = http.request(parts.method, url).headers(parts.headers).body(body).send().await.unwrap();
        (answer.status(), answer.bytes().await.unwrap())
    }))
    .await
}

/// A pool with one worker, whose process is the runner, behind a proxy.
async fn studio_behind(
    answer: impl Fn(&Method) -> Option<(StatusCode, &'static str)> + Clone + Send + Sync + 'static,
) -> Studio {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder).await;
    let fixture = Fixture::behind(TestDb::new(), async |store: &str| Some(proxy(store, answer).await)).await;
    let mut studio = Studio::prepare_in(fixture, &engine, folder).await;
    studio.start();
    studio
}

async fn attempts(member: &Client, job: &str) -> Vec<Value> {
    let page = member.get(&format!("/v1/jobs/{job}/attempts")).await.expect(200);
    page.body["items"].as_array().unwrap().clone()
}

/// Attempts that count as losses of their nodes.
async fn losses(fixture: &Fixture) -> i64 {
    let mut conn = fixture.db.admin().await;
    let sql = "select count(*) from jobs.attempts where lost_node is not null or state = 'lost'";
    let count = sqlx::query_scalar(sql).fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    count
}

#[tokio::test]
async fn results_are_out_of_the_tenants_reach_until_their_attempt_completes() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    submit(&member, json!({})).await;
    let work = worker.work().await;
    worker.upload(&work, "0.png").await;
    let storages = fixture.storage.token(&fixture.issuer.user(tenant, auth::Role::Member));
    let bucket = storages.get("/v1/storages").await.expect(200).body["items"][0]["id"].clone();
    let bucket = bucket.as_str().unwrap();
    let in_bucket = async |work: &Work| {
        let path = format!(
            "/internal/v1/buckets/{bucket}/objects?tenant_id={tenant}&prefix=jobs/{}/{}/",
            work.job, work.attempt
        );
        let found = fixture.storage.service("jobs").get(&path).await.expect(200);
        found.body["items"].as_array().unwrap().len()
    };
    assert_eq!(in_bucket(&work).await, 0, "it is not paid");
    assert_eq!(worker.complete_with(&work, &["0.png"]).await.expect(200).str("state"), "succeeded");
    assert_eq!(in_bucket(&work).await, 1);

    // an attempt that ends otherwise delivers nothing, and what it has staged is deleted
    submit(&member, json!({})).await;
    let work = worker.work().await;
    worker.upload(&work, "0.png").await;
    let url = worker.request_upload(&work, "0.png").await.expect(200).str("url").to_owned();
    let _ = worker.fail(&work, false).await.expect(200);
    assert_eq!(in_bucket(&work).await, 0);
    assert_eq!(put(&url, "abc").await, 200, "a late upload is not delivered either");
    assert_eq!(in_bucket(&work).await, 0);
    let mut conn = fixture.db.admin().await;
    let due = "update jobs.outputs set staged_until = now() where staged_until is not null returning 1";
    assert_eq!(sqlx::query(due).fetch_all(&mut conn).await.unwrap().len(), 2);
    testkit::eventually("what was staged is deleted", async || {
        let left = "select count(*) from jobs.outputs where staged_until is not null";
        (sqlx::query_scalar::<_, i64>(left).fetch_one(&mut conn).await.unwrap() == 0).then_some(())
    })
    .await;
    let staged: Vec<u8> = std::fs::read(fixture.objects_file("state.json")).unwrap();
    let state: Value = serde_json::from_slice(&staged).unwrap();
    let staging =
        state["buckets"].as_object().unwrap().keys().find(|name| name.starts_with("atelier-")).unwrap();
    assert_eq!(std::fs::read_dir(fixture.objects_file(&format!("objects/{staging}"))).unwrap().count(), 0);
    conn.close().await.unwrap();
    service.stop().await;
}

#[tokio::test]
async fn a_bucket_that_takes_nothing_ends_the_attempt_at_once() {
    let mut studio = Studio::new().await;
    let first = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    reaches(&studio.member, &first, "succeeded").await;
    for (code, change) in [
        ("storage-full", Fixture::fill_buckets as fn(&mut Value)),
        ("storage-missing", Fixture::remove_buckets as fn(&mut Value)),
    ] {
        studio.fixture.change_objects(change).await;
        let job = submit(&studio.member, small("a boat", 1)).await.str("id").to_owned();
        let failed = reaches(&studio.member, &job, "failed").await;
        assert_eq!((&failed.body["problem"]["code"], &failed.body["attempts"]), (&json!(code), &json!(1)));
        // the worker is there for others
        let other = studio.fixture.member(&studio.service, TenantId::new());
        let job = submit(&other, small("a fox", 1)).await.str("id").to_owned();
        reaches(&other, &job, "succeeded").await;
    }
    assert_eq!(losses(&studio.fixture).await, 0);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_result_that_is_lost_on_its_way_is_uploaded_again() {
    // the first result of each attempt is accepted, and not stored
    let puts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&puts);
    let mut studio = studio_behind(move |method| {
        let is_first = *method == Method::PUT && count.fetch_add(1, Ordering::Relaxed) == 0;
        is_first.then_some((StatusCode::OK, ""))
    })
    .await;
    let job = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    let done = reaches(&studio.member, &job, "succeeded").await;
    assert_eq!((&done.body["attempts"], puts.load(Ordering::Relaxed)), (&json!(1), 2));
    assert_eq!(losses(&studio.fixture).await, 0);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn results_that_never_arrive_are_no_loss_of_the_worker() {
    let mut studio = studio_behind(|method| (*method == Method::PUT).then_some((StatusCode::OK, ""))).await;
    let job = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"]),
        (&json!("upload-missing"), &json!(3))
    );
    assert_eq!(losses(&studio.fixture).await, 0);
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn what_the_object_store_refuses_for_good_is_not_repeated() {
    const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
    let puts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&puts);
    let mut studio = studio_behind(move |method| {
        let is_put = *method == Method::PUT;
        count.fetch_add(usize::from(is_put), Ordering::Relaxed);
        is_put.then_some((StatusCode::FORBIDDEN, DENIED))
    })
    .await;
    let job = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"]),
        (&json!("storage-refused"), &json!(1))
    );
    assert_eq!(puts.load(Ordering::Relaxed), 2, "once with a fresh address");
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn an_input_that_the_object_store_does_not_give_ends_the_attempt_at_once() {
    const DENIED: &str = "<Error><Code>AccessDenied</Code></Error>";
    let mut studio =
        studio_behind(|method| (*method == Method::GET).then_some((StatusCode::FORBIDDEN, DENIED))).await;
    let image = crate::uploads::pictures(&studio.member, 1).await.remove(0);
    let body = json!({ "method": "img2img", "parameters": { "prompt": "a fox", "image": image } });
    let job = submit(&studio.member, body).await.str("id").to_owned();
    let failed = reaches(&studio.member, &job, "failed").await;
    assert_eq!(
        (&failed.body["problem"]["code"], &failed.body["attempts"]),
        (&json!("storage-refused"), &json!(1))
    );
    assert_eq!(attempts(&studio.member, &job).await[0]["state"], "failed");
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn results_that_wait_for_the_object_store_do_not_hold_the_worker() {
    let mut studio = Studio::new().await;
    let first = submit(&studio.member, small("a fox", 1)).await.str("id").to_owned();
    reaches(&studio.member, &first, "succeeded").await;
    let address = studio.fixture.stop_objects().await;
    let mut waiting = Vec::new();
    for prompt in ["a boat", "a house", "a tree", "a dog"] {
        let job = submit(&studio.member, small(prompt, 1)).await.str("id").to_owned();
        reaches(&studio.member, &job, "running").await;
        waiting.push(job);
    }
    for job in &waiting {
        let read = studio.member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        assert_eq!((read.str("state"), &read.body["attempts"]), ("running", &json!(1)));
    }
    // one is cancelled meanwhile
    let cancelled = waiting.remove(0);
    let _ = studio.member.post(&format!("/v1/jobs/{cancelled}/cancel"), Value::Null).await.expect(202);
    reaches(&studio.member, &cancelled, "cancelled").await;
    studio.fixture.start_objects(&address).await;
    for job in &waiting {
        let done = reaches(&studio.member, job, "succeeded").await;
        assert_eq!(done.body["attempts"], 1, "the pictures are made once");
        assert_eq!(studio.pictures(job).await.len(), 1);
    }
    assert_eq!(losses(&studio.fixture).await, 0);

    // they are lost with the process, and made again
    let address = studio.fixture.stop_objects().await;
    let lost = submit(&studio.member, small("a cat", 1)).await.str("id").to_owned();
    reaches(&studio.member, &lost, "running").await;
    let next = submit(&studio.member, small("a bird", 1)).await.str("id").to_owned();
    reaches(&studio.member, &next, "running").await;
    studio.kill();
    studio.fixture.start_objects(&address).await;
    studio.start();
    for job in [&lost, &next] {
        let done = reaches(&studio.member, job, "succeeded").await;
        assert_eq!(done.body["attempts"], 2);
    }
    studio.stop().await;
    studio.service.stop().await;
}

#[tokio::test]
async fn a_worker_that_hands_an_attempt_over_gets_another() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 1;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let mut worker = Worker::start(&fixture, &service, &pool, "first").await;
    let mut held = Vec::new();
    for _ in 0..3 {
        let job = submit(&member, json!({})).await.str("id").to_owned();
        let work = worker.work().await;
        assert_eq!(work.job, job);
        let early = worker.call(&work, "deliver", json!({})).await.expect(200);
        assert_eq!(early.body, json!({ "handed_over": false }), "it has not begun");
        let _ = worker.progress(&work, 1).await.expect(200);
        for _ in 0..2 {
            let answer = worker.call(&work, "deliver", json!({})).await.expect(200);
            assert_eq!(answer.body, json!({ "handed_over": true }));
        }
        held.push(work);
    }
    // in any order, and once
    worker.upload(&held[1], "0.png").await;
    for _ in 0..2 {
        let done = worker.complete_with(&held[1], &["0.png"]).await.expect(200);
        assert_eq!(done.str("state"), "succeeded");
    }
    let _ = worker.fail(&held[0], false).await.expect(200);
    reaches(&member, &held[0].job, "failed").await;
    let _ = member.post(&format!("/v1/jobs/{}/cancel", held[2].job), Value::Null).await.expect(202);
    let told = worker.call(&held[2], "progress", json!({ "phase": "uploading" })).await.expect(200);
    assert_eq!(told.str("state"), "cancelling");
    let _ = worker.leave(&held[2]).await.expect(200);
    reaches(&member, &held[2].job, "cancelled").await;

    // another replica schedules, and the worker is idle for it
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let _ = worker.progress(&work, 1).await.expect(200);
    let _ = worker.call(&work, "deliver", json!({})).await.expect(200);
    service.stop().await;
    let service = fixture.start().await;
    worker = worker.through(&service);
    let member = fixture.member(&service, tenant);
    submit(&member, json!({})).await;
    let next = worker.work().await;
    assert_ne!(next.job, job);
    // its session ends: both are lost, and one of them counts against the node
    worker.register().await;
    testkit::eventually("the attempt that was delivering is lost", async || {
        let first = attempts(&member, &job).await;
        first.iter().any(|attempt| attempt["state"] == "lost").then_some(())
    })
    .await;
    let mut conn = fixture.db.admin().await;
    let counted = "select count(*) from jobs.attempts where lost_node is not null";
    assert_eq!(sqlx::query_scalar::<_, i64>(counted).fetch_one(&mut conn).await.unwrap(), 1);
    conn.close().await.unwrap();
    service.stop().await;
}
