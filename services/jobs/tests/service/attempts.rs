//! Attempts: from a queued job to its end, with a fault at each step.

use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Work, Worker, reaches},
};

/// A service with a pool of one worker, and a member of a tenant.
pub(crate) struct Floor {
    pub(crate) fixture: Fixture,
    pub(crate) service: Service,
    pool: String,
    pub(crate) member: Client,
    pub(crate) worker: Worker,
}

impl Floor {
    pub(crate) async fn new() -> Self {
        let mut fixture = Fixture::new().await;
        fixture.config.scheduler.retry_ms = 1;
        Self::of(fixture).await
    }

    pub(crate) async fn of(fixture: Fixture) -> Self {
        let service = fixture.start().await;
        let pool = pool(&fixture.admin(&service)).await;
        let member = fixture.member(&service, TenantId::new());
        let worker = Worker::start(&fixture, &service, &pool, "first").await;
        Self { fixture, service, pool, member, worker }
    }

    /// Number of successful attempts of a job.
    async fn counted(&self, job: &str) -> i64 {
        let mut conn = self.fixture.db.admin().await;
        let count = "select count(*) from jobs.attempts where job_id = $1 and state = 'succeeded'";
        let id: ids::JobId = job.parse().unwrap();
        let count = sqlx::query_scalar(count).bind(id).fetch_one(&mut conn).await.unwrap();
        conn.close().await.unwrap();
        count
    }
}

#[tokio::test]
async fn a_job_runs_and_succeeds_once() {
    let floor = Floor::new().await;
    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    let work = floor.worker.work().await;
    assert_eq!((work.job.as_str(), work.attempt), (job.as_str(), 1));
    // a call whose answer was lost is repeated
    assert_eq!(floor.worker.work().await, work);
    assert_eq!(reaches(&floor.member, &job, "assigned").await.body["started_at"], Value::Null);
    let running = floor.worker.progress(&work, 7).await.expect(200);
    assert_eq!(running.str("state"), "running");
    let read = reaches(&floor.member, &job, "running").await;
    assert_eq!(read.body["progress"], json!({ "phase": "working", "step": 7, "steps": 20 }));
    assert!(read.body["started_at"].is_string());
    assert_eq!(floor.worker.poll(Some(&work), 0).await.expect(200).body["instruction"], Value::Null);
    for _ in 0..2 {
        assert_eq!(floor.worker.complete(&work).await.expect(200).str("state"), "succeeded");
    }
    let read = reaches(&floor.member, &job, "succeeded").await;
    assert_eq!((&read.body["attempts"], &read.body["progress"]), (&json!(1), &Value::Null));
    assert!(read.body["ended_at"].is_string());
    assert_eq!(floor.counted(&job).await, 1);
    floor.worker.fail(&work, true).await.expect_problem(409, "attempt-not-yours");
    floor.worker.progress(&work, 8).await.expect_problem(409, "attempt-not-yours");
    let cancel = floor.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await;
    assert_eq!(cancel.expect_problem(409, "job-ended").str("state"), "succeeded");
    // and the worker is free
    let next = submit(&floor.member, json!({})).await.str("id").to_owned();
    assert_eq!(floor.worker.work().await.job, next);
    floor.service.stop().await;
}

#[tokio::test]
async fn a_failure_is_tried_again_and_the_third_is_final() {
    let floor = Floor::new().await;
    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    for attempt in 1..=3 {
        let work = floor.worker.work().await;
        assert_eq!((work.job.as_str(), work.attempt), (job.as_str(), attempt));
        let _ = floor.worker.progress(&work, 1).await.expect(200);
        let state = if attempt < 3 { "queued" } else { "failed" };
        assert_eq!(floor.worker.fail(&work, true).await.expect(200).str("state"), state);
        // the end of an attempt cannot be repeated
        floor.worker.fail(&work, true).await.expect_problem(409, "attempt-not-yours");
    }
    let read = reaches(&floor.member, &job, "failed").await;
    assert_eq!(read.body["problem"], json!({ "code": "engine-failed", "message": "It broke." }));

    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    let work = floor.worker.work().await;
    assert_eq!(floor.worker.fail(&work, false).await.expect(200).str("state"), "failed");
    assert_eq!(reaches(&floor.member, &job, "failed").await.body["attempts"], 1);
    floor.service.stop().await;
}

#[tokio::test]
async fn a_cancelled_job_stops_and_its_late_results_do_not_count() {
    let floor = Floor::new().await;
    // before the worker has begun
    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    reaches(&floor.member, &job, "assigned").await;
    let path = format!("/v1/jobs/{job}/cancel");
    assert_eq!(floor.member.post(&path, Value::Null).await.expect(202).str("state"), "cancelling");
    assert_eq!(floor.worker.poll(None, 0).await.expect(200).body["instruction"], Value::Null);
    reaches(&floor.member, &job, "cancelled").await;
    // while it runs: the worker is notified, and still completes it
    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    let work = floor.worker.work().await;
    let _ = floor.worker.progress(&work, 1).await.expect(200);
    let path = format!("/v1/jobs/{job}/cancel");
    for _ in 0..2 {
        assert_eq!(floor.member.post(&path, Value::Null).await.expect(202).str("state"), "cancelling");
    }
    assert_eq!(floor.worker.progress(&work, 2).await.expect(200).str("state"), "cancelling");
    assert_eq!(floor.worker.stop(&work).await, "cancelled");
    assert_eq!(floor.worker.complete(&work).await.expect(200).str("state"), "cancelled");
    assert_eq!(floor.worker.complete(&work).await.expect(200).str("state"), "cancelled");
    reaches(&floor.member, &job, "cancelled").await;
    assert_eq!(floor.counted(&job).await, 0);
    floor.service.stop().await;
}

#[tokio::test]
async fn a_silent_worker_is_lost_and_what_it_still_reports_does_not_count() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 1;
    fixture.config.scheduler.silent_ms = 400;
    fixture.config.scheduler.lost_ms = 800;
    let mut floor = Floor::of(fixture).await;
    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    let lost = floor.worker.work().await;
    let _ = floor.worker.progress(&lost, 3).await.expect(200);
    let read = reaches(&floor.member, &job, "queued").await;
    assert_eq!((&read.body["reason"], &read.body["attempts"]), (&json!("worker_lost"), &json!(1)));
    // the old process still runs
    floor.worker.complete(&lost).await.expect_problem(409, "attempt-not-yours");
    floor.worker.poll(Some(&lost), 0).await.expect_problem(409, "attempt-not-yours");
    // another one takes over
    let second = Worker::start(&floor.fixture, &floor.service, &floor.pool, "second").await;
    let work = second.work().await;
    assert_eq!((work.job.as_str(), work.attempt), (job.as_str(), 2));
    floor.worker.register().await;
    floor.worker.complete(&lost).await.expect_problem(409, "attempt-not-yours");
    let stop = floor.worker.poll(Some(&lost), 0).await.expect(200);
    assert_eq!(stop.body["instruction"]["stop"]["reason"], "not_yours");
    assert_eq!(second.complete(&work).await.expect(200).str("state"), "succeeded");
    assert_eq!(floor.counted(&job).await, 1);
    floor.service.stop().await;
}

#[tokio::test]
async fn a_process_that_registers_again_has_lost_its_attempt() {
    let mut floor = Floor::new().await;
    let job = submit(&floor.member, json!({})).await.str("id").to_owned();
    let first = floor.worker.work().await;
    let before = floor.worker.session;
    floor.worker.register().await;
    assert!(floor.worker.session > before);
    let again = floor.worker.work().await;
    assert_eq!((again.job.as_str(), again.attempt), (job.as_str(), 2));
    floor.worker.complete(&first).await.expect_problem(409, "attempt-not-yours");
    assert_eq!(floor.worker.complete(&again).await.expect(200).str("state"), "succeeded");
    assert_eq!(floor.counted(&job).await, 1);
    floor.service.stop().await;
}

#[tokio::test]
async fn workers_prove_themselves_and_administrators_remove_idle_ones() {
    let floor = Floor::new().await;
    let bad = floor.service.worker_api.token("awt_unknown");
    bad.post("/worker/v1/register", json!({})).await.expect_problem(401, "unauthenticated");
    floor
        .service
        .worker_api
        .post("/worker/v1/register", json!({}))
        .await
        .expect_problem(401, "unauthenticated");
    floor.service.client.post("/worker/v1/register", json!({})).await.expect_problem(404, "no-such-route");
    floor.service.worker_api.get("/v1/jobs").await.expect_problem(404, "no-such-route");

    let admin = floor.fixture.admin(&floor.service);
    let workers = format!("/v1/platform-pools/{}/workers", floor.pool);
    let path = format!("{workers}/{}", floor.worker.id);
    assert_eq!(admin.get(&path).await.expect(200).str("state"), "ready");
    for (body, pointer) in [
        (json!({ "name": "A", "gpu_spec": "small", "node": "n" }), "/name"),
        (json!({ "name": "a", "gpu_spec": "large", "node": "n" }), "/gpu_spec"),
        (json!({ "name": "a", "gpu_spec": "small", "node": "" }), "/node"),
    ] {
        let refused = admin.post(&workers, body).await.expect_problem(422, "invalid-field");
        assert_eq!(refused.body["errors"][0]["pointer"], pointer);
    }
    let taken = json!({ "name": "first", "gpu_spec": "small", "node": "n" });
    admin.post(&workers, taken).await.expect_problem(409, "name-taken");
    submit(&floor.member, json!({})).await;
    let work = floor.worker.work().await;
    assert_eq!(admin.get(&path).await.expect(200).str("job_id"), work.job);
    admin.delete(&path).await.expect_problem(409, "worker-busy");
    let _ = floor.worker.complete(&work).await.expect(200);
    let _ = admin.delete(&path).await.expect(204);
    floor.worker.poll(None, 0).await.expect_problem(401, "unauthenticated");
    floor.service.stop().await;
}

#[tokio::test]
async fn a_waiting_job_explains_itself() {
    let floor = Floor::new().await;
    let first = submit(&floor.member, json!({})).await.str("id").to_owned();
    let work = floor.worker.work().await;
    let explain =
        async |job: &str| floor.member.get(&format!("/v1/jobs/{job}/explanation")).await.expect(200).body;
    let running = explain(&first).await;
    assert_eq!((&running["state"], &running["code"]), (&json!("assigned"), &Value::Null));
    let second = submit(&floor.member, json!({})).await.str("id").to_owned();
    let third = submit(&floor.member, json!({})).await.str("id").to_owned();
    let busy = explain(&second).await;
    assert_eq!(
        (&busy["code"], &busy["position"], &busy["ahead_of_own"]),
        (&json!("busy"), &json!(1), &json!(0))
    );
    assert!(busy["until"].is_string() && busy["expected_start"].is_string(), "{busy}");
    let range = &busy["expected"]["start"];
    assert_eq!(range["p50"], busy["expected_start"]);
    assert!(range["p10"].as_str() <= range["p50"].as_str() && busy["expected"]["end"].is_object(), "{busy}");
    let behind = explain(&third).await;
    assert_eq!(
        (&behind["code"], &behind["position"], &behind["ahead_of_own"]),
        (&json!("behind_own"), &json!(2), &json!(1))
    );
    let stranger = floor.fixture.member(&floor.service, TenantId::new());
    let foreign = stranger.get(&format!("/v1/jobs/{third}/explanation")).await;
    foreign.expect_problem(404, "not-found");
    let _ = floor.worker.complete(&work).await.expect(200);
    assert_eq!(floor.worker.work().await.job, second);
    floor.service.stop().await;
}

#[tokio::test]
async fn a_job_whose_deadline_passes_expires() {
    let floor = Floor::new().await;
    submit(&floor.member, json!({})).await;
    let _ = floor.worker.work().await;
    #[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(700);
    let job = submit(&floor.member, json!({ "deadline": soon.to_string() })).await.str("id").to_owned();
    reaches(&floor.member, &job, "expired").await;
    floor.service.stop().await;
}

#[tokio::test]
async fn priorities_order_the_jobs_of_a_tenant() {
    let floor = Floor::new().await;
    // the first job occupies the worker until all others wait
    submit(&floor.member, json!({})).await;
    let mut work = floor.worker.work().await;
    let mut jobs = Vec::new();
    for priority in [4, 6, 5] {
        let body = json!({ "priority": priority, "level": "ordinary" });
        jobs.push(submit(&floor.member, body).await.str("id").to_owned());
    }
    for expected in [1, 2, 0] {
        let _ = floor.worker.complete(&work).await.expect(200);
        work = floor.worker.work().await;
        assert_eq!(work.job, jobs[expected]);
    }
    floor.service.stop().await;
}

#[tokio::test]
async fn another_replica_goes_on_when_the_leader_is_gone() {
    let floor = Floor::new().await;
    let second = floor.fixture.start().await;
    submit(&floor.member, json!({})).await;
    let work = floor.worker.work().await;
    let waiting = submit(&floor.member, json!({})).await.str("id").to_owned();
    floor.service.stop().await;
    // the second replica knows the assignments of the first
    let worker = floor.worker.through(&second);
    assert_eq!(worker.complete(&work).await.expect(200).str("state"), "succeeded");
    let next = worker.work().await;
    assert_eq!((next.job.as_str(), next.attempt), (waiting.as_str(), 1));
    let mut conn = floor.fixture.db.admin().await;
    eventually("both jobs have had one attempt", async || {
        let count: i64 =
            sqlx::query_scalar("select count(*) from jobs.attempts").fetch_one(&mut conn).await.unwrap();
        (count == 2).then_some(())
    })
    .await;
    second.stop().await;
}

/// A worker that runs a background job, which is preempted by an urgent one of another tenant.
async fn preempted(floor: &Floor) -> (String, String, Work) {
    let background = submit(&floor.member, json!({ "level": "background" })).await.str("id").to_owned();
    let work = floor.worker.work().await;
    let _ = floor.worker.progress(&work, 1).await.expect(200);
    let other = floor.fixture.member(&floor.service, TenantId::new());
    let urgent = submit(&other, json!({ "level": "urgent" })).await.str("id").to_owned();
    assert_eq!(floor.worker.stop(&work).await, "preempted");
    assert!(floor.worker.progress(&work, 2).await.expect(200).body["leave_by"].is_string());
    (background, urgent, work)
}

#[tokio::test]
async fn a_background_job_leaves_for_an_urgent_one_and_is_tried_again() {
    let floor = Floor::new().await;
    let (background, urgent, work) = preempted(&floor).await;
    assert_eq!(floor.worker.leave(&work).await.expect(200).str("state"), "queued");
    let read = reaches(&floor.member, &background, "queued").await;
    assert_eq!(read.body["reason"], "preempted");
    let work = floor.worker.work().await;
    assert_eq!(work.job, urgent);
    let _ = floor.worker.complete(&work).await.expect(200);
    let work = floor.worker.work().await;
    assert_eq!((work.job.as_str(), work.attempt), (background.as_str(), 2));
    floor.service.stop().await;
}

#[tokio::test]
async fn a_worker_whose_job_does_not_leave_is_lost() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 1;
    fixture.config.scheduler.leave_ms = 300;
    let mut floor = Floor::of(fixture).await;
    let (background, urgent, work) = preempted(&floor).await;
    let read = reaches(&floor.member, &background, "queued").await;
    assert_eq!(read.body["reason"], "worker_lost");
    floor.worker.complete(&work).await.expect_problem(409, "attempt-not-yours");
    floor.worker.register().await;
    assert_eq!(floor.worker.work().await.job, urgent);
    floor.service.stop().await;
}

#[tokio::test]
async fn a_process_that_ends_leaves_no_job_behind_and_gets_none() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let admin = fixture.admin(&service);
    let pool = pool(&admin).await;
    let member = fixture.member(&service, TenantId::new());
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let mut first = Worker::start(&fixture, &service, &pool, "first").await;
    let work = first.work().await;
    let _ = first.unregister().await.expect(200);
    let waits = reaches(&member, &job, "queued").await;
    assert_eq!((&waits.body["reason"], &waits.body["attempts"]), (&json!("worker_lost"), &json!(1)));
    let listed = admin.get(&format!("/v1/platform-pools/{pool}/workers")).await.expect(200);
    assert_eq!(listed.body["items"][0]["state"], "offline");
    for refused in
        [first.unregister().await, first.poll(None, 0).await, first.complete_with(&work, &[]).await]
    {
        let _ = refused.expect_problem(409, "attempt-not-yours");
    }
    // another worker gets it, and the next process of the first one works again
    let second = Worker::start(&fixture, &service, &pool, "second").await;
    let again = second.work().await;
    assert_eq!((again.job, again.attempt), (job, 2));
    first.register().await;
    let next = submit(&member, json!({})).await.str("id").to_owned();
    assert_eq!(first.work().await.job, next);
}
