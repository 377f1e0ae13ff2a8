//! The events of all jobs of a tenant, and of all tenants.

use auth::Role;
use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::Client;

use crate::{
    fixture::{Fixture, pool, submit},
    fleet::{Worker, reaches},
    streams::{Message, Stream, request},
};

const PATH: &str = "/v1/job-events";

/// The ids of events.
fn ids(events: &[Value]) -> Vec<String> {
    events.iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

fn data(messages: &[Message]) -> Vec<Value> {
    messages.iter().map(|message| message.data.clone()).collect()
}

async fn list(client: &Client, query: &str) -> Vec<Value> {
    client.get(&format!("{PATH}?{query}")).await.expect(200).body["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_tenant_follows_all_of_its_jobs_and_goes_on_at_another_replica() {
    let fixture = Fixture::new().await;
    let (service, other) = (fixture.start().await, fixture.start().await);
    let pool = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, token) = (fixture.member(&service, tenant), fixture.issuer.user(tenant, Role::Viewer));
    let foreign = fixture.member(&service, TenantId::new());
    let _ = submit(&foreign, json!({})).await;
    let number = uuid::Uuid::now_v7().to_string();
    let first = submit(&member, json!({ "req_no": number, "priority": 9 })).await.str("id").to_owned();
    let mut stream = Stream::open(&other, &token, PATH, None).await;
    let begun = stream.until("job.submitted").await;
    assert_eq!(ids(&data(&begun)), [format!("{first}-1")]);
    let event = &begun[0].data;
    assert_eq!(
        (event["kind"].as_str(), event["req_no"].as_str()),
        (Some("generation"), Some(number.as_str()))
    );
    assert_eq!((&event["method"], &event["tenant_id"]), (&json!("txt2img"), &json!(tenant)));
    let second = submit(&member, json!({})).await.str("id").to_owned();
    assert_eq!(ids(&data(&stream.until("job.submitted").await)), [format!("{second}-1")]);
    let position = stream.last.clone().unwrap();
    drop(stream);

    let _ = member.post(&format!("/v1/jobs/{second}/cancel"), Value::Null).await.expect(202);
    // only the first job of this tenant is left, and the other tenant's
    let foreign_worker = Worker::start(&fixture, &service, &pool, "first").await;
    let worker = Worker::start(&fixture, &service, &pool, "second").await;
    let works = [foreign_worker.work().await, worker.work().await];
    for (worker, work) in [&foreign_worker, &worker].into_iter().zip(&works) {
        let _ = worker.complete(work).await.expect(200);
    }
    let _ = reaches(&member, &first, "succeeded").await;
    // it continues at another replica without gaps and duplicates
    let mut resumed = Stream::open(&service, &token, PATH, Some(&position)).await;
    let followed = resumed.until("job.succeeded").await;
    let kinds: Vec<_> = followed.iter().map(|message| message.kind.as_str()).collect();
    assert_eq!(kinds, ["job.cancelled", "job.assigned", "job.succeeded"]);
    assert_eq!(ids(&data(&followed)), [format!("{second}-2"), format!("{first}-2"), format!("{first}-3")]);
    // also in the middle of a batch
    let mut again = Stream::open(&other, &token, PATH, followed[0].id.as_deref()).await;
    assert_eq!(again.until("job.succeeded").await, followed[1..]);

    let mut oldest = list(&member, "").await;
    oldest.reverse();
    assert_eq!(oldest[0], begun[0].data);
    assert_eq!(ids(&oldest)[2..], ids(&data(&followed)));
    let page = member.get(&format!("{PATH}?limit=2")).await.expect(200);
    let rest = list(&member, &format!("cursor={}", page.str("next_cursor"))).await;
    assert_eq!(rest.len(), oldest.len() - 2);
    assert_eq!(ids(&list(&member, "type=job.cancelled").await), [format!("{second}-2")]);
    assert_eq!(ids(&list(&member, "state=succeeded&kind=generation").await), [format!("{first}-3")]);
    assert_eq!(list(&member, "kind=training").await, [json!(null); 0]);
    let of_job = member.get(&format!("/v1/jobs/{second}/events?limit=1")).await.expect(200);
    assert_eq!(of_job.body["items"][0], data(&followed)[0]);
    service.stop().await;
}

#[tokio::test]
async fn a_filtered_stream_tells_how_far_it_was_read() {
    let mut fixture = Fixture::new().await;
    fixture.config.streams.heartbeat_seconds = 1;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, token) = (fixture.member(&service, tenant), fixture.issuer.user(tenant, Role::Viewer));
    let old = submit(&member, json!({})).await.str("id").to_owned();
    let path = format!("{PATH}?type=job.cancelled&after=latest");
    let mut stream = Stream::open(&service, &token, &path, None).await;
    let _ = submit(&member, json!({})).await;
    let _ = member.post(&format!("/v1/jobs/{old}/cancel"), Value::Null).await.expect(202);
    let only = stream.until("job.cancelled").await;
    assert_eq!(ids(&data(&only)), [format!("{old}-2")]);
    let _ = submit(&member, json!({})).await;
    // nothing matches: a keep-alive comment has the position
    let last = stream.next_position().await;
    let next = submit(&member, json!({})).await.str("id").to_owned();
    let mut rest = Stream::open(&service, &token, PATH, Some(&last)).await;
    assert_eq!(ids(&data(&rest.until("job.submitted").await)), [format!("{next}-1")]);
    for bad in ["after=1", "after=", "limit=2"] {
        let answer = request(&service, &token, &format!("{PATH}?{bad}"), None).await;
        assert_eq!(answer.status(), 422, "{bad}");
    }
    member.get(&format!("{PATH}?after=latest")).await.expect_problem(422, "invalid-field");
    service.stop().await;
    assert_eq!(rest.next().await.unwrap().data, "the service is restarting; connect again");
}

/// Events of a transaction that commits late are not missed, and are returned in order.
#[tokio::test]
async fn the_feed_has_the_events_of_all_tenants_whenever_they_commit() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let caller = service.client.token(&testkit::service_token("gpu"));
    let read = async |cursor: &str| {
        let page = caller.get(&format!("/internal/v1/job-events?after={cursor}")).await.expect(200);
        (page.body["items"].as_array().unwrap().clone(), page.str("next_cursor").to_owned())
    };
    let (nothing, cursor) = read("").await;
    assert!(nothing.is_empty());
    let (one, two) = (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    let first = submit(&one, json!({})).await.str("id").to_owned();
    let id: ids::JobId = first.parse().unwrap();
    let mut slow = fixture.db.admin().await;
    let mut tx = slow.begin().await.unwrap();
    let change = "update jobs.jobs set priority = 1, generation = generation + 1 where id = $1";
    let _ = sqlx::query(change).bind(id).execute(&mut *tx).await.unwrap();
    let second = submit(&two, json!({})).await.str("id").to_owned();
    let (early, cursor) = read(&cursor).await;
    assert_eq!(ids(&early), [format!("{first}-1"), format!("{second}-1")]);
    tx.commit().await.unwrap();
    let (late, cursor) = read(&cursor).await;
    assert_eq!(ids(&late), [format!("{first}-2")]);
    // a waiting reader is notified
    let path = format!("/internal/v1/job-events?after={cursor}&wait_seconds=20");
    let (woken, third) = tokio::join!(caller.get(&path), submit(&two, json!({})));
    let items = woken.expect(200).body["items"].as_array().unwrap().clone();
    assert_eq!(ids(&items), [format!("{}-1", third.str("id"))]);
    for stranger in [&one, &fixture.admin(&service)] {
        stranger.get("/internal/v1/job-events").await.expect_problem(401, "unauthenticated");
    }
    slow.close().await.unwrap();
    service.stop().await;
}

/// The statements have no tenant predicate of their own.
#[tokio::test]
async fn row_level_security_hides_the_events_of_other_tenants() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let _ = submit(&fixture.member(&service, tenant), json!({})).await;
    let db = db::Db::connect(atelier_jobs::NAME, &fixture.config.database).unwrap();
    for (tenant, expected) in [(tenant, 1), (TenantId::new(), 0)] {
        let mut tx = db.tenant(tenant).await.unwrap();
        let count: i64 =
            sqlx::query_scalar("select count(*) from job_event_feed").fetch_one(&mut *tx).await.unwrap();
        assert_eq!(count, expected);
        let write = sqlx::query("update job_events set type = 'job.failed'").execute(&mut *tx).await;
        assert!(write.unwrap_err().to_string().contains("permission denied"));
    }
    service.stop().await;
}
