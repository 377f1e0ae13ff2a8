//! Request numbers, batches, and changes of jobs that wait.

use futures::future::join_all;
use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, Response, eventually};
use uuid::Uuid;

use crate::{
    fixture::{Fixture, Service, fox, pool, submit},
    fleet::{Worker, reaches},
};

/// The job of a client's number.
fn numbered(req_no: Uuid, prompt: &str) -> Value {
    let mut body = fox();
    body["req_no"] = json!(req_no);
    body["parameters"]["prompt"] = json!(prompt);
    body
}

async fn start() -> (Fixture, Service, String, Client) {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    (fixture, service, pool, member)
}

async fn count(member: &Client) -> usize {
    member.get("/v1/jobs?limit=200").await.expect(200).body["items"].as_array().unwrap().len()
}

#[tokio::test]
async fn a_request_number_stands_for_one_job() {
    let (fixture, service, _, member) = start().await;
    let number = Uuid::new_v4();
    let answers = join_all((0..8).map(|_| member.post("/v1/jobs", numbered(number, "a fox")))).await;
    let ids: Vec<_> = answers.into_iter().map(|answer| answer.expect(202).str("id").to_owned()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(count(&member).await, 1);
    // what is a default is the same content
    let mut same = numbered(number, "a fox");
    same["priority"] = json!(5);
    same["parameters"]["steps"] = json!(20);
    assert_eq!(member.post("/v1/jobs", same).await.expect(202).str("id"), ids[0]);
    let other = member.post("/v1/jobs", numbered(number, "a dog")).await.expect_problem(409, "req-no-reused");
    assert_eq!(other.str("job_id"), ids[0]);
    let found = member.get(&format!("/v1/jobs?req_no={number}")).await.expect(200);
    assert_eq!(
        (&found.body["items"][0]["id"], &found.body["items"][0]["req_no"]),
        (&json!(ids[0]), &json!(number))
    );
    let none = member.get(&format!("/v1/jobs?req_no={}", Uuid::new_v4())).await.expect(200);
    assert_eq!(none.body["items"], json!([]));
    // another tenant's numbers are its own
    let stranger = fixture.member(&service, TenantId::new());
    let own = stranger.post("/v1/jobs", numbered(number, "a dog")).await.expect(202);
    assert_ne!(own.str("id"), ids[0]);
    let found = stranger.get(&format!("/v1/jobs?req_no={number}")).await.expect(200);
    assert_eq!(found.body["items"][0]["id"], own.body["id"]);

    // a repetition may be late
    let late = Uuid::new_v4();
    let mut soon = numbered(late, "a fox");
    soon["deadline"] = json!(fixture.in_seconds(1));
    let job = member.post("/v1/jobs", soon.clone()).await.expect(202).str("id").to_owned();
    reaches(&member, &job, "expired").await;
    assert_eq!(member.post("/v1/jobs", soon.clone()).await.expect(202).str("state"), "expired");
    soon["req_no"] = json!(Uuid::new_v4());
    member.post("/v1/jobs", soon.clone()).await.expect_problem(422, "invalid-field");
    // and the number of a deleted job is not free
    let mut conn = fixture.db.admin().await;
    sqlx::query("delete from jobs.jobs where req_no = $1").bind(late).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    soon["req_no"] = json!(late);
    assert_eq!(member.post("/v1/jobs", soon).await.expect_problem(409, "req-no-reused").str("job_id"), job);
    service.stop().await;
}

#[tokio::test]
async fn each_job_of_a_batch_is_accepted_or_refused_by_itself() {
    let (fixture, service, pool, member) = start().await;
    let (number, reused) = (Uuid::new_v4(), Uuid::new_v4());
    let known = member.post("/v1/jobs", numbered(reused, "a fox")).await.expect(202).str("id").to_owned();
    let invalid =
        json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "" } });
    let jobs = json!([
        fox(),
        invalid,
        numbered(number, "a fox"),
        numbered(number, "a fox"),
        numbered(number, "a dog"),
        numbered(reused, "a fox"),
        numbered(reused, "a dog"),
    ]);
    let once = member.key("a-batch");
    let made = once.post("/v1/job-batches", json!({ "jobs": jobs })).await.expect(202);
    let items = made.body["items"].as_array().unwrap();
    let outcome: Vec<String> = items
        .iter()
        .map(|item| match (&item["job"], &item["problem"]) {
            (Value::Null, problem) => {
                problem["type"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
            }
            (job, Value::Null) => job["state"].as_str().unwrap().to_owned(),
            both => panic!("{both:?}"),
        })
        .collect();
    assert_eq!(
        outcome,
        ["queued", "invalid-field", "queued", "queued", "req-no-reused", "queued", "req-no-reused"]
    );
    assert_eq!(items[1]["problem"]["errors"][0]["pointer"], "/parameters/prompt");
    assert_eq!(items[2]["job"]["id"], items[3]["job"]["id"]);
    assert_eq!(items[5]["job"]["id"], known.as_str());
    assert_eq!(count(&member).await, 3);
    let again = once.post("/v1/job-batches", json!({ "jobs": jobs })).await.expect(202);
    assert_eq!((again.header("idempotency-replayed"), &again.body), (Some("true"), &made.body));
    for size in [0, 1_001] {
        let refused = member.post("/v1/job-batches", json!({ "jobs": vec![fox(); size] })).await;
        assert_eq!(refused.expect_problem(422, "invalid-field").body["errors"][0]["pointer"], "/jobs");
    }

    // and they run
    let full = member.post("/v1/job-batches", json!({ "jobs": vec![fox(); 1_000] })).await.expect(202);
    assert!(full.body["items"].as_array().unwrap().iter().all(|item| item["job"]["state"] == "queued"));
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    for _ in 0..4 {
        let work = worker.work().await;
        assert_eq!(worker.complete(&work).await.expect(200).str("state"), "succeeded");
    }
    service.stop().await;
}

async fn patch(member: &Client, job: &Response, change: Value) -> Response {
    let path = format!("/v1/jobs/{}", job.str("id"));
    member.patch(&path, "*", change).await
}

#[tokio::test]
async fn a_job_that_waits_is_changed() {
    let (fixture, service, pool, member) = start().await;
    let first = submit(&member, json!({})).await;
    let second = submit(&member, json!({ "deadline": fixture.in_seconds(2) })).await;
    let path = format!("/v1/jobs/{}", second.str("id"));
    let blind = member.send(reqwest::Method::PATCH, &path, &json!({ "priority": 9 })).await;
    blind.expect_problem(428, "if-match-required");
    let stale = member.patch(&path, "\"7\"", json!({ "priority": 9 })).await;
    stale.expect_problem(412, "changed-meanwhile");
    for (change, pointer) in [
        (json!({ "priority": 10 }), "/priority"),
        (json!({ "deadline": "2020-01-01T00:00:00Z" }), "/deadline"),
    ] {
        let refused = patch(&member, &second, change).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let etag = member.get(&path).await.expect(200).header("etag").unwrap().to_owned();
    let deadline = fixture.in_seconds(3_600);
    let changed = member.patch(&path, &etag, json!({ "priority": 9, "deadline": deadline })).await;
    let changed = changed.expect(200);
    assert_eq!((&changed.body["priority"], changed.str("level")), (&json!(9), "ordinary"));
    assert_ne!(changed.header("etag").unwrap(), etag);
    let same = patch(&member, &second, json!({ "priority": 9 })).await.expect(200);
    assert_eq!(same.header("etag"), changed.header("etag"), "nothing has changed");

    // it does not expire
    let waits = patch(&member, &first, json!({ "deadline": fixture.in_seconds(2) })).await.expect(200);
    reaches(&member, waits.str("id"), "expired").await;
    // nor does one whose new deadline the scheduler has not read yet
    let unread = submit(&member, json!({ "deadline": fixture.in_seconds(1) })).await;
    let mut conn = fixture.db.admin().await;
    sqlx::query("update jobs.jobs set deadline = now() + interval '1 hour' where id = $1")
        .bind(unread.str("id").parse::<ids::JobId>().unwrap())
        .execute(&mut conn)
        .await
        .unwrap();
    conn.close().await.unwrap();
    let after = submit(&member, json!({ "deadline": fixture.in_seconds(2) })).await;
    reaches(&member, after.str("id"), "expired").await;
    let read = member.get(&format!("/v1/jobs/{}", unread.str("id"))).await.expect(200);
    assert_eq!(read.str("state"), "queued");
    let _ = member.post(&format!("/v1/jobs/{}/cancel", unread.str("id")), Value::Null).await.expect(202);
    // the newest goes first
    let third = submit(&member, json!({})).await;
    let urgent = submit(&member, json!({})).await;
    let _ = patch(&member, &urgent, json!({ "priority": 8 })).await.expect(200);
    let _ = patch(&member, &second, json!({ "priority": 6 })).await.expect(200);
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let work = worker.work().await;
    assert_eq!(work.job, urgent.str("id"));
    let _ = worker.complete(&work).await.expect(200);
    let work = worker.work().await;
    assert_eq!(work.job, second.str("id"));
    let refused = eventually("the change is refused", async || {
        let refused = patch(&member, &second, json!({ "priority": 1 })).await;
        (refused.status != 200).then_some(refused)
    })
    .await;
    assert_eq!(refused.expect_problem(409, "job-not-queued").str("state"), "assigned");
    let _ = worker.complete(&work).await.expect(200);
    patch(&member, &second, json!({ "priority": 1 })).await.expect_problem(409, "job-ended");
    assert_eq!(worker.work().await.job, third.str("id"));
    service.stop().await;
}
