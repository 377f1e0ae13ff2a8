//! Tenants that are suspended or deleted.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, Service, fox, pool, submit},
    fleet::{Worker, reaches},
    metrics::value,
};

async fn order(service: &Service, tenant: TenantId, generation: i64, state: &str) {
    let order = json!({ "generation": generation, "state": state, "delete_storages": false });
    let path = format!("/internal/v1/tenants/{tenant}");
    let _ = service.client.service("identity").put(&path, order).await.expect(200);
}

async fn waits_because(member: &Client, job: &str, reason: Value) {
    eventually(&format!("{job} waits because of {reason}"), async || {
        let read = member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        (read.body["state"] == "queued" && read.body["reason"] == reason).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_suspended_tenant_submits_nothing_and_the_jobs_of_a_deleted_one_are_cancelled() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let (member, other) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    submit(&member, json!({})).await;
    submit(&other, json!({})).await;
    let identity = service.client.service("identity");
    let path = format!("/internal/v1/tenants/{tenant}");
    let order =
        |generation, state| json!({ "generation": generation, "state": state, "delete_storages": false });
    let suspended = identity.put(&path, order(2, "suspended")).await.expect(200);
    assert_eq!(suspended.body["done"], true);
    member.post("/v1/jobs", fox()).await.expect_problem(403, "tenant-suspended");
    // a late order changes nothing
    let _ = identity.put(&path, order(1, "active")).await.expect(200);
    member.post("/v1/jobs", fox()).await.expect_problem(403, "tenant-suspended");
    let deleting = identity.put(&path, order(3, "deleting")).await.expect(200);
    assert_eq!(deleting.body, json!({ "done": true, "remaining": {} }));
    let state = |list: testkit::Response| list.body["items"][0]["state"].as_str().unwrap().to_owned();
    assert_eq!(state(member.get("/v1/jobs").await.expect(200)), "cancelled");
    assert_eq!(state(other.get("/v1/jobs").await.expect(200)), "queued");
    service.client.service("gpu").put(&path, order(4, "active")).await.expect_problem(403, "forbidden");
    service.stop().await;
}

#[tokio::test]
async fn jobs_of_a_suspended_tenant_leave_their_workers_and_go_on_when_it_is_active_again() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let tenant = TenantId::new();
    let (member, other) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    let first = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let _ = worker.progress(&work, 3).await.expect(200);
    let second = submit(&member, json!({ "priority": 9 })).await.str("id").to_owned();
    order(&service, tenant, 2, "suspended").await;
    // what runs is told to leave, and waits in its place
    assert_eq!(worker.stop(&work).await, "preempted");
    let _ = worker.leave(&work).await.expect(200);
    for job in [&first, &second] {
        waits_because(&member, job, json!("tenant_suspended")).await;
        let why = member.get(&format!("/v1/jobs/{job}/explanation")).await.expect(200);
        assert_eq!((why.str("code"), &why.body["elsewhere"]), ("tenant_suspended", &json!([])));
        assert_eq!(why.body["expected_start"], Value::Null);
    }
    let attempts = member.get(&format!("/v1/jobs/{first}/attempts")).await.expect(200);
    assert_eq!(attempts.body["items"][0]["state"], "preempted");
    let events = member.get(&format!("/v1/jobs/{second}/events")).await.expect(200);
    let newest = &events.body["items"][0];
    assert_eq!((&newest["type"], &newest["reason"]), (&json!("job.changed"), &json!("tenant_suspended")));
    member.post("/v1/jobs/quote", fox()).await.expect_problem(403, "tenant-suspended");
    // the worker is free for others, whatever waited before
    let theirs = submit(&other, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    assert_eq!(work.job, theirs);
    let _ = worker.complete(&work).await.expect(200);
    // the next scheduler knows it
    service.stop().await;
    let service = fixture.start().await;
    let (worker, member, other) = (
        worker.through(&service),
        fixture.member(&service, tenant),
        fixture.member(&service, TenantId::new()),
    );
    let theirs = submit(&other, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    assert_eq!(work.job, theirs);
    let _ = worker.complete(&work).await.expect(200);
    assert_eq!(worker.poll(None, 0).await.expect(200).body["instruction"], Value::Null);

    order(&service, tenant, 3, "active").await;
    for expected in [&second, &first] {
        let work = worker.work().await;
        assert_eq!(work.job, *expected, "by priority, as if nothing had happened");
        let _ = worker.complete(&work).await.expect(200);
        let read = reaches(&member, expected, "succeeded").await;
        assert_eq!(read.body["reason"], Value::Null);
    }
    service.stop().await;
}

#[tokio::test]
async fn an_attempt_that_ends_while_its_tenant_is_suspended_is_no_failure() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.leave_ms = 1_000;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let mut worker = Worker::start(&fixture, &service, &pool, "one").await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let mut generation = 2;
    // its results are refused, it fails, it is lost, it does not leave
    for end in ["refused", "fails", "lost", "stays"] {
        let work = worker.work().await;
        let _ = worker.progress(&work, 3).await.expect(200);
        order(&service, tenant, generation, "suspended").await;
        match end {
            "refused" => drop(worker.fail_with(&work, "tenant-suspended", false).await.expect(200)),
            "fails" => drop(worker.fail(&work, true).await.expect(200)),
            "lost" => worker.register().await,
            _ => {
                eventually("the worker has lost its session", async || {
                    (worker.progress(&work, 4).await.status == 409).then_some(())
                })
                .await;
                worker.register().await;
            }
        }
        waits_because(&member, &job, json!("tenant_suspended")).await;
        order(&service, tenant, generation + 1, "active").await;
        generation += 2;
    }
    let work = worker.work().await;
    assert_eq!(work.attempt, 5);
    let _ = worker.complete(&work).await.expect(200);
    reaches(&member, &job, "succeeded").await;
    assert_eq!(value(&service, "jobs_nodes_cordoned_total").await, Some(0.0));
    service.stop().await;
}

#[tokio::test]
async fn a_waiting_job_of_a_suspended_tenant_can_be_cancelled_and_expires() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let _ = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let deadline = fixture.in_seconds(4).to_string();
    let late = submit(&member, json!({ "deadline": deadline })).await.str("id").to_owned();
    let cancelled = submit(&member, json!({})).await.str("id").to_owned();
    order(&service, tenant, 2, "suspended").await;
    waits_because(&member, &cancelled, json!("tenant_suspended")).await;
    let _ = member.post(&format!("/v1/jobs/{cancelled}/cancel"), Value::Null).await.expect(202);
    let read = reaches(&member, &cancelled, "cancelled").await;
    assert_eq!(read.body["reason"], Value::Null);
    reaches(&member, &late, "expired").await;
    service.stop().await;
}
