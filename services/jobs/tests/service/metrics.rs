//! What the service measures.

use ids::TenantId;
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    fixture::{Fixture, Service, pool, submit},
    fleet::{Worker, reaches},
};

/// Returns the value of a series.
pub(crate) async fn value(service: &Service, series: &str) -> Option<f64> {
    let url = format!("{}/metrics", service.client.base());
    let text = reqwest::get(url).await.unwrap().text().await.unwrap();
    testkit::metrics::assert_documented(&text);
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '))?;
    Some(line.parse().unwrap())
}

#[tokio::test]
async fn waits_attempts_and_lost_workers_are_counted() {
    let mut fixture = Fixture::new().await;
    (fixture.config.scheduler.silent_ms, fixture.config.scheduler.lost_ms) = (500, 1_500);
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let member = fixture.member(&service, TenantId::new());
    let _ = submit(&member, json!({})).await;
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let work = worker.work().await;
    let _ = worker.progress(&work, 1).await.expect(200);
    let _ = worker.complete(&work).await.expect(200);
    let cancelled = submit(&member, json!({ "level": "urgent" })).await.str("id").to_owned();
    let work = worker.work().await;
    let _ = member.post(&format!("/v1/jobs/{cancelled}/cancel"), Value::Null).await.expect(202);
    let _ = worker.leave(&work).await.expect(200);
    for (series, expected) in [
        ("jobs_pools", 1.0),
        ("jobs_pools_led", 1.0),
        ("jobs_wait_seconds_count{level=\"ordinary\"}", 1.0),
        ("jobs_wait_seconds_count{level=\"urgent\"}", 1.0),
        ("jobs_attempts_total{outcome=\"succeeded\"}", 1.0),
        ("jobs_attempts_total{outcome=\"cancelled\"}", 1.0),
        ("jobs_attempts_total{outcome=\"failed\"}", 0.0),
        ("jobs_workers_lost_total", 0.0),
    ] {
        assert_eq!(value(&service, series).await, Some(expected), "{series}");
    }
    // the worker does not call any more
    let lost = submit(&member, json!({})).await.str("id").to_owned();
    let _ = worker.work().await;
    let _ = reaches(&member, &lost, "queued").await;
    eventually("the lost worker is counted", async || {
        (value(&service, "jobs_workers_lost_total").await == Some(1.0)).then_some(())
    })
    .await;
    assert_eq!(value(&service, "jobs_attempts_total{outcome=\"queued\"}").await, Some(0.0));
}

#[tokio::test]
async fn one_replica_leads_a_pool_and_another_takes_over() {
    let fixture = Fixture::new().await;
    let (first, second) = (fixture.start().await, fixture.start().await);
    let _ = pool(&fixture.admin(&first)).await;
    let led = async |service: &Service| value(service, "jobs_pools_led").await.unwrap();
    eventually("the pool has one leader", async || {
        (led(&first).await + led(&second).await == 1.0).then_some(())
    })
    .await;
    let (leader, other) = if led(&first).await == 1.0 { (first, second) } else { (second, first) };
    leader.process.shutdown.begin();
    eventually("the other leads", async || (led(&other).await == 1.0).then_some(())).await;
    leader.stop().await;
}
