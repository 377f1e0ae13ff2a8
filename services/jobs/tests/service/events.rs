//! Events of jobs, as lists and as streams.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::Client;

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Worker, reaches},
    streams::{self, Message, Stream},
};

/// Opens the stream of a job after the event with this number, once the tenant may have another.
async fn open(service: &Service, token: &str, job: &str, last: Option<i64>) -> Stream {
    Stream::open(service, token, &path(job), last.map(|last| last.to_string()).as_deref()).await
}

async fn request(service: &Service, token: &str, job: &str, last: Option<i64>) -> reqwest::Response {
    streams::request(service, token, &path(job), last.map(|last| last.to_string()).as_deref()).await
}

fn path(job: &str) -> String {
    format!("/v1/jobs/{job}/events")
}

/// Returns the types of a job's events, oldest first, and checks their numbers.
async fn kinds(member: &Client, job: &str) -> Vec<String> {
    let list = member.get(&format!("/v1/jobs/{job}/events")).await.expect(200);
    let mut items = list.body["items"].as_array().unwrap().clone();
    items.reverse();
    let numbers: Vec<_> = items.iter().map(|event| event["sequence"].as_i64().unwrap()).collect();
    assert_eq!(numbers, (1..).take(items.len()).collect::<Vec<_>>());
    items.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
}

fn of(messages: &[Message]) -> Vec<(Option<i64>, &str)> {
    let number = |message: &Message| message.id.as_ref().map(|id| id.parse().unwrap());
    messages.iter().map(|message| (number(message), message.kind.as_str())).collect()
}

#[tokio::test]
async fn a_stream_follows_a_job_to_its_end() {
    let fixture = Fixture::new().await;
    let (service, other) = (fixture.start().await, fixture.start().await);
    let pool = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, token) = (fixture.member(&service, tenant), fixture.issuer.user(tenant, auth::Role::Viewer));
    let job = submit(&member, json!({})).await.str("id").to_owned();
    // the other replica streams events that the first one records
    let mut stream = open(&other, &token, &job, None).await;
    assert_eq!(of(&stream.until("job.submitted").await), [(Some(1), "job.submitted")]);
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let work = worker.work().await;
    let _ = worker.progress(&work, 3).await.expect(200);
    let begun = stream.until("job.progress").await;
    assert_eq!(of(&begun), [(Some(2), "job.assigned"), (Some(3), "job.started"), (None, "job.progress")]);
    assert_eq!(begun[2].data, json!({ "phase": "working", "step": 3, "steps": 20 }));
    assert_eq!((&begun[1].data["state"], &begun[1].data["attempts"]), (&json!("running"), &json!(1)));
    let _ = worker.progress(&work, 7).await.expect(200);
    assert_eq!(stream.until("job.progress").await[0].data["step"], 7);
    let _ = worker.complete(&work).await.expect(200);
    assert_eq!(of(&stream.until("job.succeeded").await), [(Some(4), "job.succeeded")]);
    assert_eq!(stream.next().await.unwrap().data, "the job has ended");
    assert_eq!(stream.next().await, None);
    // it can be resumed on any replica after the last event, and reports that no more events follow
    let mut resumed = open(&service, &token, &job, Some(2)).await;
    assert_eq!(
        of(&resumed.until("job.succeeded").await),
        [(Some(3), "job.started"), (Some(4), "job.succeeded")]
    );
    assert_eq!(request(&service, &token, &job, Some(4)).await.status(), 204);
    assert_eq!(request(&service, &token, &job, Some(5)).await.status(), 422);
}

#[tokio::test]
async fn each_change_of_a_job_is_an_event() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let waiting = submit(&member, json!({})).await.str("id").to_owned();
    let path = format!("/v1/jobs/{waiting}");
    let change = json!({ "priority": 9 });
    let _ = member.patch(&path, "*", change.clone()).await.expect(200);
    // repeating the request changes nothing
    let _ = member.patch(&path, "*", change).await.expect(200);
    let _ = member.post(&format!("{path}/cancel"), Value::Null).await.expect(202);
    let _ = member.post(&format!("{path}/cancel"), Value::Null).await.expect(202);
    assert_eq!(kinds(&member, &waiting).await, ["job.submitted", "job.changed", "job.cancelled"]);

    let late = submit(&member, json!({ "deadline": fixture.in_seconds(1) })).await.str("id").to_owned();
    let _ = reaches(&member, &late, "expired").await;
    assert_eq!(kinds(&member, &late).await, ["job.submitted", "job.expired"]);

    let running = submit(&member, json!({})).await.str("id").to_owned();
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let work = worker.work().await;
    let _ = worker.progress(&work, 1).await.expect(200);
    let _ = worker.fail(&work, true).await.expect(200);
    let _ = member.post(&format!("/v1/jobs/{running}/cancel"), Value::Null).await.expect(202);
    let expected = ["job.submitted", "job.assigned", "job.started", "job.requeued", "job.cancelled"];
    assert_eq!(kinds(&member, &running).await, expected);
    let requeued = member.get(&format!("/v1/jobs/{running}/events?type=job.requeued")).await.expect(200);
    let event = &requeued.body["items"][0];
    assert_eq!((&event["reason"], &event["state"]), (&json!("retry"), &json!("queued")));
    assert!(event["not_before"].is_string());

    let failing = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let _ = worker.progress(&work, 1).await.expect(200);
    let _ = worker.fail(&work, false).await.expect(200);
    let failed = member.get(&format!("/v1/jobs/{failing}/events?limit=1")).await.expect(200);
    assert_eq!(failed.body["items"][0]["problem"]["code"], "engine-failed");
    let next = format!("/v1/jobs/{failing}/events?limit=1&cursor={}", failed.str("next_cursor"));
    assert_eq!(member.get(&next).await.expect(200).body["items"][0]["type"], "job.started");

    let stopped = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let _ = member.post(&format!("/v1/jobs/{stopped}/cancel"), Value::Null).await.expect(202);
    assert_eq!(worker.stop(&work).await, "cancelled");
    let _ = worker.leave(&work).await.expect(200);
    let expected = ["job.submitted", "job.assigned", "job.cancelling", "job.cancelled"];
    assert_eq!(kinds(&member, &stopped).await, expected);
}

#[tokio::test]
async fn events_and_their_streams_end_with_the_job() {
    let mut fixture = Fixture::new().await;
    fixture.config.streams.per_tenant = 1;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, token) = (fixture.member(&service, tenant), fixture.issuer.user(tenant, auth::Role::Viewer));
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let mut stream = open(&service, &token, &job, None).await;
    let _ = stream.until("job.submitted").await;
    assert_eq!(request(&service, &token, &job, None).await.status(), 429);
    let foreign = fixture.member(&service, TenantId::new());
    let _ = foreign.get(&format!("/v1/jobs/{job}/events")).await.expect(404);
    let mut conn = fixture.db.admin().await;
    sqlx::query("delete from jobs.jobs").execute(&mut conn).await.unwrap();
    assert_eq!(stream.next().await.unwrap().data, "the job was deleted");
    assert_eq!(stream.next().await, None);
    let left: i64 =
        sqlx::query_scalar("select count(*) from jobs.job_events").fetch_one(&mut conn).await.unwrap();
    assert_eq!(left, 0);
    // the stream no longer counts
    let next = submit(&member, json!({})).await.str("id").to_owned();
    let mut last = open(&service, &token, &next, None).await;
    let _ = last.until("job.submitted").await;
    service.stop().await;
    assert_eq!(last.next().await.unwrap().data, "the service is restarting; connect again");
}
