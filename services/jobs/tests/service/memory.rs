//! Jobs that run out of the memory of a GPU.

use ids::TenantId;
use serde_json::json;

use crate::{
    fixture::{Fixture, Service, submit},
    fleet::{Work, Worker, any_work, reaches},
};

const CODE: &str = "out-of-memory";

/// A pool of two specifications, the smaller one first.
async fn pool() -> (Fixture, Service, String) {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 1;
    let service = fixture.start().await;
    let body = json!({ "name": "generation", "gpu_specs": ["small", "large"] });
    let pool = fixture.admin(&service).post("/v1/platform-pools", body).await.expect(201);
    let pool = pool.str("id").to_owned();
    (fixture, service, pool)
}

async fn run_out(worker: &Worker, work: &Work) {
    let _ = worker.fail_with(work, CODE, true).await.expect(200);
}

#[tokio::test]
async fn a_job_that_runs_out_of_memory_is_tried_once_more_on_a_larger_gpu() {
    let (fixture, service, pool) = pool().await;
    let small = Worker::start(&fixture, &service, &pool, "small").await;
    let large = Worker::start_with(&fixture, &service, &pool, "large", "large").await;
    let member = fixture.member(&service, TenantId::new());
    let both = [&small, &large];

    let job = submit(&member, json!({})).await.str("id").to_owned();
    let (on, work) = any_work(&both).await;
    assert_eq!((on, work.attempt), (0, 1), "the first specification comes first");
    run_out(&small, &work).await;
    let (on, again) = any_work(&both).await;
    assert_eq!((on, again.attempt, &again.job), (1, 2, &job), "the smaller one is idle");
    // one that fails otherwise may run anywhere
    submit(&member, json!({})).await;
    let (on, other) = any_work(&[&small]).await;
    let _ = both[on].fail(&other, true).await.expect(200);
    let (on, other) = any_work(&[&small]).await;
    let _ = both[on].complete(&other).await.expect(200);

    run_out(&large, &again).await;
    let failed = reaches(&member, &job, "failed").await;
    assert_eq!(failed.body["problem"]["code"], CODE);
    service.stop().await;
}

#[tokio::test]
async fn without_a_larger_gpu_it_is_tried_once_more_on_the_same() {
    let (fixture, service, pool) = pool().await;
    let small = Worker::start(&fixture, &service, &pool, "small").await;
    let member = fixture.member(&service, TenantId::new());
    let job = submit(&member, json!({})).await.str("id").to_owned();
    for attempt in [1, 2] {
        let work = small.work().await;
        assert_eq!(work.attempt, attempt);
        run_out(&small, &work).await;
    }
    let failed = reaches(&member, &job, "failed").await;
    assert_eq!(failed.body["problem"]["code"], CODE);
    service.stop().await;
}
