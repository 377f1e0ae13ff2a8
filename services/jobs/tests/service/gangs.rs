//! Gangs: jobs that several workers run together, by their listener.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, Response, eventually};

use crate::{
    fixture::{Fixture, Service},
    fleet::{Work, Worker, reaches},
};

/// A dedicated pool with workers, and a member of its tenant.
struct Band {
    fixture: Fixture,
    service: Service,
    tenant: TenantId,
    member: Client,
    pool: String,
    workers: Vec<Worker>,
}

/// The body of a job of two workers.
fn duet() -> Value {
    json!({ "application": "command", "method": "run", "parameters": { "command": ["true"] }, "gang": { "size": 2 } })
}

impl Band {
    async fn new(count: usize) -> Self {
        let mut fixture = Fixture::new().await;
        fixture.config.scheduler.retry_ms = 1;
        let service = fixture.start().await;
        let tenant = TenantId::new();
        let body = json!({ "name": "acme", "gpu_specs": ["small"], "tenant_id": tenant, "dedicated": true,
                           "applications": ["command"] });
        let made = fixture.admin(&service).post("/v1/platform-pools", body).await.expect(201);
        let (pool, member) = (made.str("id").to_owned(), fixture.member(&service, tenant));
        let mut workers = Vec::new();
        for n in 0..count {
            workers.push(Worker::start(&fixture, &service, &pool, &format!("w{n}")).await);
        }
        Self { fixture, service, tenant, member, pool, workers }
    }

    async fn submit(&self, body: Value) -> String {
        self.member.post("/v1/jobs", body).await.expect(202).str("id").to_owned()
    }

    /// What each worker has to run now: none if it waits.
    async fn look(&self) -> Vec<Option<(Work, Value)>> {
        let mut found = Vec::new();
        for worker in &self.workers {
            let answer = worker.poll(None, 0).await.expect(200);
            let work = &answer.body["instruction"]["work"];
            found.push(work["job_id"].as_str().map(|job| {
                let attempt = work["attempt"].as_i64().unwrap();
                (Work { job: job.to_owned(), attempt }, work["gang"].clone())
            }));
        }
        found
    }

    /// Waits until two workers have the job. Returns their positions by rank, and the attempt.
    async fn assigned(&self, job: &str) -> ([usize; 2], Work) {
        eventually("two workers have the job", async || {
            let mut places = [None; 2];
            let mut attempt = None;
            for (n, work) in self.look().await.into_iter().enumerate() {
                let Some((work, gang)) = work.filter(|(work, _)| work.job == job) else { continue };
                assert_eq!(gang["world_size"], 2);
                places[usize::try_from(gang["rank"].as_u64().unwrap()).unwrap()] = Some(n);
                attempt = Some(work);
            }
            Some(([places[0]?, places[1]?], attempt?))
        })
        .await
    }

    async fn join(&self, worker: usize, work: &Work, address: &str) -> Response {
        self.workers[worker].call(work, "join", json!({ "address": address })).await
    }

    async fn state(&self, job: &str) -> String {
        self.member.get(&format!("/v1/jobs/{job}")).await.expect(200).str("state").to_owned()
    }
}

#[tokio::test]
async fn all_workers_run_a_job_or_none() {
    let band = Band::new(2).await;
    // one worker is taken
    let mut solo = duet();
    solo["gang"] = Value::Null;
    let first = band.submit(solo).await;
    let (its, single) = eventually("a worker has the job", async || {
        let looks = band.look().await.into_iter().enumerate();
        looks.filter_map(|(n, work)| work.map(|work| (n, work))).next()
    })
    .await;
    assert_eq!((single.0.job.as_str(), &single.1), (first.as_str(), &Value::Null));
    let job = band.submit(duet()).await;
    eventually("the job gathers its workers", async || {
        let why = band.member.get(&format!("/v1/jobs/{job}/explanation")).await.expect(200);
        ["no_unit", "gathering_gang", "busy"].contains(&why.body["code"].as_str()?).then_some(())
    })
    .await;
    assert_eq!(band.look().await[1 - its], None, "half of a gang runs");
    let _ = band.workers[its].complete_with(&single.0, &[]).await.expect(200);

    let ([lead, second], work) = band.assigned(&job).await;
    // results are those of rank 0, and nobody else's
    band.workers[second].progress(&work, 1).await.expect_problem(409, "attempt-not-yours");
    band.workers[second].complete_with(&work, &[]).await.expect_problem(409, "attempt-not-yours");
    assert_eq!(band.join(second, &work, "10.0.0.2:4000").await.expect(200).body["master"], Value::Null);
    assert_eq!(band.state(&job).await, "assigned");
    for _ in 0..2 {
        let joined = band.join(lead, &work, "10.0.0.1:4000").await.expect(200);
        assert_eq!(joined.body["master"], "10.0.0.1:4000");
    }
    assert_eq!(band.join(second, &work, "10.0.0.2:4000").await.expect(200).body["master"], "10.0.0.1:4000");
    let _ = band.workers[lead].progress(&work, 1).await.expect(200);
    assert_eq!(band.state(&job).await, "running");
    // the program of a worker may end before that of rank 0
    band.workers[lead].call(&work, "done", json!({})).await.expect_problem(409, "attempt-not-yours");
    for _ in 0..2 {
        let _ = band.workers[second].call(&work, "done", json!({})).await.expect(200);
        assert_eq!(band.look().await[second], None);
    }
    let waiting = band.submit(duet()).await;
    let _ = band.workers[lead].complete_with(&work, &[]).await.expect(200);
    reaches(&band.member, &job, "succeeded").await;
    assert_eq!(band.workers[second].stop(&work).await, "not_yours");
    let (_, next) = band.assigned(&waiting).await;
    assert_eq!(next.job, waiting);
    band.service.stop().await;
}

#[tokio::test]
async fn a_gang_ends_with_any_of_its_workers() {
    let mut band = Band::new(2).await;
    let job = band.submit(duet()).await;
    let ([lead, second], work) = band.assigned(&job).await;
    let _ = band.workers[lead].progress(&work, 1).await.expect(200);
    let _ = band.workers[second].fail(&work, true).await.expect(200);
    // rank 0 has not stopped yet: it gets nothing else, and the job waits for it
    assert_eq!(band.workers[lead].stop(&work).await, "not_yours");
    band.workers[lead].progress(&work, 2).await.expect_problem(409, "attempt-not-yours");
    assert_eq!(band.look().await[second], None);
    assert_eq!(band.state(&job).await, "queued");
    let ([lead, second], again) = band.assigned(&job).await;
    assert_eq!((again.job.as_str(), again.attempt), (job.as_str(), 2));

    // a process is replaced: all are told, and the next attempt needs both
    band.workers[second].register().await;
    assert_eq!(band.workers[lead].stop(&again).await, "not_yours");
    let (places, third) = band.assigned(&job).await;
    assert_eq!(third.attempt, 3);
    let _ = band.workers[places[0]].complete_with(&third, &[]).await.expect(200);
    let done = reaches(&band.member, &job, "succeeded").await;
    assert_eq!(done.body["attempts"], 3);
    band.service.stop().await;
}

#[tokio::test]
async fn a_cancelled_gang_ends_when_rank_0_has_left() {
    let band = Band::new(2).await;
    let job = band.submit(duet()).await;
    let ([lead, second], work) = band.assigned(&job).await;
    let _ = band.workers[lead].progress(&work, 1).await.expect(200);
    let _ = band.member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
    for worker in [lead, second] {
        assert_eq!(band.workers[worker].stop(&work).await, "cancelled");
    }
    for _ in 0..2 {
        assert_eq!(band.workers[second].leave(&work).await.expect(200).str("state"), "cancelling");
    }
    let idle = band.workers[second].poll(None, 0).await.expect(200);
    assert_eq!(idle.body["instruction"], Value::Null, "it has left, and gets the attempt no more");
    assert_eq!(band.state(&job).await, "cancelling");
    assert_eq!(band.workers[lead].leave(&work).await.expect(200).str("state"), "cancelled");
    let next = band.submit(duet()).await;
    let (_, work) = band.assigned(&next).await;
    assert_eq!(work.job, next);
    band.service.stop().await;
}

#[tokio::test]
async fn the_next_scheduler_knows_a_gang() {
    let mut band = Band::new(3).await;
    let job = band.submit(duet()).await;
    let (places, work) = band.assigned(&job).await;
    // two gangs of two do not share three workers
    let other = band.submit(duet()).await;
    band.service.stop().await;
    band.service = band.fixture.start().await;
    band.member = band.fixture.member(&band.service, band.tenant);
    band.workers = band.workers.iter().map(|worker| worker.through(&band.service)).collect();
    eventually("the pool is scheduled again", async || {
        let why = band.member.get(&format!("/v1/jobs/{other}/explanation")).await;
        (why.status == 200 && why.body["code"].is_string()).then_some(())
    })
    .await;
    assert_eq!(band.state(&other).await, "queued");
    let stranger = Worker::start(&band.fixture, &band.service, &band.pool, "late").await;
    let address = json!({ "address": "10.0.0.9:1" });
    stranger.call(&work, "join", address).await.expect_problem(409, "attempt-not-yours");
    let _ = stranger.unregister().await.expect(200);
    let _ = band.workers[places[0]].complete_with(&work, &[]).await.expect(200);
    let ([lead, _], work) = band.assigned(&other).await;
    let _ = band.workers[lead].complete_with(&work, &[]).await.expect(200);
    for job in [job, other] {
        reaches(&band.member, &job, "succeeded").await;
    }
    band.service.stop().await;
}

#[tokio::test]
async fn a_gang_has_to_fit() {
    let band = Band::new(2).await;
    let mut body = duet();
    body["gang"]["size"] = json!(3);
    let refused = band.member.post("/v1/jobs", body.clone()).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/gang/size");
    for size in [1, 65] {
        body["gang"]["size"] = json!(size);
        band.member.post("/v1/jobs", body.clone()).await.expect_problem(422, "invalid-field");
    }
    let fox = json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a fox" },
                      "gang": { "size": 2 } });
    let refused = band.member.post("/v1/jobs", fox).await.expect_problem(422, "invalid-field");
    assert_eq!(refused.body["errors"][0]["pointer"], "/gang");
    let made = band.member.post("/v1/jobs", duet()).await.expect(202);
    assert_eq!(made.body["gang"], json!({ "size": 2, "same_node": false }));
    band.service.stop().await;
}
