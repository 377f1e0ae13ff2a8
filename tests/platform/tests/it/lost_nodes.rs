//! Jobs whose worker's node fails.

use std::time::Duration;

use crate::support::{Platform, SMALL};
use ids::TenantId;
use serde_json::{Value, json};
use testkit::within;

/// Longest time until the platform has noticed.
const NOTICE: Duration = Duration::from_secs(60);

/// Runs a statement of a test.
async fn execute(platform: &Platform, sql: &'static str) {
    let mut conn = platform.db().admin().await;
    sqlx::query(sql).execute(&mut conn).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_node_is_lost_is_done_elsewhere_and_paid_once() {
    const WORKED: &str = "update jobs.attempts set working_at = working_at - interval '100 s',
                                                   assigned_at = assigned_at - interval '100 s' where state = 'open'";
    let platform = Platform::start().await;
    let jobs = platform.start_jobs().await;
    let (owner, tenant) = (TenantId::new(), TenantId::new());
    let pool = json!({ "name": "generation", "gpu_specs": [SMALL], "tenant_id": owner,
                       "workers": { "service": "shell", "version": "1", "min": 1, "max": 1 } });
    let pool = jobs.admin.post("/v1/platform-pools", pool).await.expect(201).str("id").to_owned();
    within(NOTICE, "the price is known", async || {
        (platform.count("select count(*) from jobs.pool_prices where price_per_hour is not null").await == 1)
            .then_some(())
    })
    .await;
    let lost = jobs.worker(&platform, &pool, owner, None).await;
    let member = jobs.admin.token(&platform.token(tenant));
    let job = json!({ "application": "stable-diffusion", "method": "txt2img", "parameters": { "prompt": "a fox" } });
    let job = member.post("/v1/jobs", job).await.expect(202).str("id").to_owned();
    let work = lost.work().await;
    assert_eq!((work.job.as_str(), work.attempt), (job.as_str(), 1));
    let _ = lost.progress(&work).await.expect(200);
    execute(&platform, WORKED).await;

    platform.fail_node(&lost.node).await;
    let path = format!("/v1/jobs/{job}");
    let again = within(NOTICE, "the job is queued again", async || {
        let read = member.get(&path).await.expect(200);
        (read.str("state") == "queued").then_some(read)
    });
    let waits = platform.watched(NOTICE, again).await;
    assert_eq!((&waits.body["reason"], &waits.body["attempts"]), (&json!("worker_lost"), &json!(1)));
    let other = jobs.worker(&platform, &pool, owner, Some(&lost)).await;
    assert_ne!(other.node, lost.node);
    let again = other.work().await;
    assert_eq!((again.job.as_str(), again.attempt), (job.as_str(), 2));
    // the process on the lost node may go on
    for refused in [lost.complete(&work).await, lost.register().await] {
        refused.expect_problem(401, "unauthenticated");
    }
    let _ = other.progress(&again).await.expect(200);
    execute(&platform, WORKED).await;
    assert_eq!(other.complete(&again).await.expect(200).str("state"), "succeeded");

    let attempts = member.get(&format!("{path}/attempts")).await.expect(200).body["items"].clone();
    let of = |n: usize, name: &str| attempts[n][name].clone();
    assert_eq!((of(1, "state"), of(1, "uncharged_reason")), (json!("lost"), json!("lost")));
    assert_eq!((of(1, "seconds"), of(1, "cost")), (json!(0), json!("0")), "the lost attempt is charged");
    assert_eq!(of(0, "state"), "succeeded");
    let seconds = of(0, "seconds");
    assert!(seconds.as_i64().unwrap() >= 100, "{attempts}");
    let read = member.get(&path).await.expect(200);
    assert_eq!(read.body["cost"], json!({ "amount": of(0, "cost"), "currency": "EUR", "seconds": seconds }));
    let charged = jobs.admin.token(&testkit::service_token("test")).get("/internal/v1/job-usage").await;
    let charged: Vec<Value> = charged.expect(200).body["items"].as_array().unwrap().clone();
    let [record] = &charged[..] else { panic!("not one: {charged:?}") };
    assert_eq!((&record["attempt"], &record["seconds"]), (&json!(2), &seconds));
    assert_eq!(platform.evidence().violations(), [""; 0]);
}
