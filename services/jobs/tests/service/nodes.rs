//! Nodes on which workers are lost again and again.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Worker, any_work, reaches},
    metrics::value,
};

/// Lets a worker be lost with a job, which is cancelled then.
async fn lose(worker: &mut Worker, member: &Client) {
    let job = submit(member, json!({})).await.str("id").to_owned();
    assert_eq!(worker.work().await.job, job);
    worker.register().await;
    let _ = member.post(&format!("/v1/jobs/{job}/cancel"), Value::Null).await.expect(202);
}

async fn is_cordoned(service: &Service) {
    eventually("a node is cordoned", async || {
        (value(service, "jobs_nodes_cordoned_total").await == Some(1.0)).then_some(())
    })
    .await;
}

/// Submits three jobs and lets these workers run them. Returns which did.
async fn run_three(workers: &[&Worker; 2], member: &Client) -> Vec<usize> {
    for _ in 0..3 {
        submit(member, json!({})).await;
    }
    let mut ran = Vec::new();
    for _ in 0..3 {
        let (n, work) = any_work(workers).await;
        let _ = workers[n].complete(&work).await.expect(200);
        ran.push(n);
    }
    ran
}

#[tokio::test]
async fn a_node_on_which_three_workers_were_lost_gets_no_jobs_for_ten_minutes() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 60_000;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let mut bad = Worker::start_on(&fixture, &service, &pool, "bad", "node-1").await;
    lose(&mut bad, &member).await;
    lose(&mut bad, &member).await;
    // this end was announced
    submit(&member, json!({})).await;
    bad.work().await;
    let _ = bad.unregister().await.expect(200);
    bad.register().await;
    // two losses are no reason
    let good = Worker::start_on(&fixture, &service, &pool, "good", "node-2").await;
    submit(&member, json!({})).await;
    submit(&member, json!({})).await;
    let (first, second) = (bad.work().await, good.work().await);
    for (worker, work) in [(&bad, &first), (&good, &second)] {
        let _ = worker.complete(work).await.expect(200);
    }
    assert_eq!(value(&service, "jobs_nodes_cordoned_total").await, Some(0.0));
    // without another worker the node keeps its jobs, whatever was lost there; each scheduler looks before its first round
    let _ = good.unregister().await.expect(200);
    lose(&mut bad, &member).await;
    service.stop().await;
    let service = fixture.start().await;
    let (bad, mut good, member) =
        (bad.through(&service), good.through(&service), fixture.member(&service, tenant));
    submit(&member, json!({})).await;
    let _ = bad.complete(&bad.work().await).await.expect(200);

    good.register().await;
    is_cordoned(&service).await;
    assert_eq!(run_three(&[&bad, &good], &member).await, [1, 1, 1]);
    // the next scheduler knows it
    service.stop().await;
    let service = fixture.start().await;
    let (bad, good, member) =
        (bad.through(&service), good.through(&service), fixture.member(&service, tenant));
    is_cordoned(&service).await;
    assert_eq!(run_three(&[&bad, &good], &member).await, [1, 1, 1]);

    let mut conn = fixture.db.admin().await;
    let past =
        "update jobs.attempts set ended_at = ended_at - interval '10 minutes' where lost_node is not null";
    sqlx::query(past).execute(&mut conn).await.unwrap();
    submit(&member, json!({})).await;
    submit(&member, json!({})).await;
    let (first, second) = (bad.work().await, good.work().await);
    assert_ne!(first.job, second.job);
    service.stop().await;
}

#[tokio::test]
async fn a_node_whose_gpu_fails_three_times_gets_no_jobs() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 60_000;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let bad = Worker::start_on(&fixture, &service, &pool, "bad", "node-1").await;
    let mut failed = Vec::new();
    for code in ["engine-failed", "gpu-failed", "gpu-failed", "gpu-failed"] {
        assert_eq!(value(&service, "jobs_nodes_cordoned_total").await, Some(0.0), "{failed:?}");
        let job = submit(&member, json!({})).await.str("id").to_owned();
        let _ = bad.fail_with(&bad.work().await, code, true).await.expect(200);
        failed.push(job);
    }
    let good = Worker::start_on(&fixture, &service, &pool, "good", "node-2").await;
    is_cordoned(&service).await;
    assert_eq!(run_three(&[&bad, &good], &member).await, [1, 1, 1]);
    // the GPU's fault, not that of the job
    let job = member.get(&format!("/v1/jobs/{}", failed[1])).await.expect(200);
    assert_eq!((&job.body["state"], &job.body["attempts"]), (&json!("queued"), &json!(1)));
    service.stop().await;
}

#[tokio::test]
async fn what_the_jobs_of_one_tenant_do_takes_no_node_from_others() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 60_000;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let (first, second) =
        (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    let mut bad = Worker::start_on(&fixture, &service, &pool, "bad", "node-1").await;
    for _ in 0..4 {
        lose(&mut bad, &first).await;
    }
    // while another tenant has jobs, losses of one are no reason
    submit(&second, json!({})).await;
    let theirs = bad.work().await;
    let good = Worker::start_on(&fixture, &service, &pool, "good", "node-2").await;
    submit(&second, json!({})).await;
    good.work().await;
    let _ = bad.complete(&theirs).await.expect(200);
    submit(&first, json!({})).await;
    let work = bad.work().await;
    let _ = bad.complete(&work).await.expect(200);
    assert_eq!(value(&service, "jobs_nodes_cordoned_total").await, Some(0.0));
    // it loses a worker there, too
    lose(&mut bad, &second).await;
    is_cordoned(&service).await;
    service.stop().await;
}

#[tokio::test]
async fn a_job_with_which_workers_of_several_nodes_are_lost_is_the_cause() {
    let mut fixture = Fixture::new().await;
    fixture.config.scheduler.retry_ms = 2_000;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let (member, other) =
        (fixture.member(&service, TenantId::new()), fixture.member(&service, TenantId::new()));
    let owners = [&member, &member, &other];
    let mut jobs = Vec::new();
    for owner in owners {
        jobs.push(submit(owner, json!({})).await.str("id").to_owned());
    }
    for node in ["node-1", "node-2", "node-3"] {
        let mut worker = Worker::start_on(&fixture, &service, &pool, node, node).await;
        for _ in &jobs {
            let work = worker.work().await;
            if node == "node-2" {
                let _ = worker.fail_with(&work, "gpu-failed", true).await.expect(200);
            } else {
                worker.register().await;
            }
        }
        let _ = worker.unregister().await.expect(200);
    }
    for (owner, job) in owners.into_iter().zip(&jobs) {
        let failed = reaches(owner, job, "failed").await;
        let (problem, attempts) = (&failed.body["problem"]["code"], &failed.body["attempts"]);
        assert_eq!((problem, attempts), (&json!("breaks-workers"), &json!(3)));
    }
    // their losses are no reason to close a node
    let workers = [
        &Worker::start_on(&fixture, &service, &pool, "again", "node-1").await,
        &Worker::start_on(&fixture, &service, &pool, "good", "node-4").await,
    ];
    submit(&member, json!({})).await;
    submit(&other, json!({})).await;
    workers[0].work().await;
    workers[1].work().await;
    assert_eq!(value(&service, "jobs_nodes_cordoned_total").await, Some(0.0));
    service.stop().await;
}
