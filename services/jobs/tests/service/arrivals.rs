//! Recent arrivals of jobs, in the forecasts of waiting jobs.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use serde_json::json;
use sqlx::Connection as _;
use testkit::eventually;

use crate::{
    fixture::{Fixture, pool, submit},
    fleet::Worker,
};

/// Copies a job as if it had been submitted every 10 seconds in the last nine minutes.
const COPY: &str = "
    insert into jobs.jobs (id, tenant_id, pool_id, application, method, kind, level, priority, class, state, created_at, ended_at)
    select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid,
           tenant_id, pool_id, application, method, kind, level, priority, class, state, at, ended_at
    from jobs.jobs j, generate_series(1, 54) n, lateral (select now() - n * interval '10 seconds' as at) t
    where j.id = $1";

#[tokio::test]
async fn jobs_that_keep_coming_delay_what_is_expected() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "first").await;
    let member = fixture.member(&service, TenantId::new());
    submit(&member, json!({})).await;
    let _ = worker.work().await;
    let mut last = String::new();
    for _ in 0..8 {
        submit(&member, json!({})).await.str("id").clone_into(&mut last);
    }
    let expected = async || {
        let body = member.get(&format!("/v1/jobs/{last}/explanation")).await.expect(200).body;
        body["expected_start"].as_str().unwrap().parse::<Timestamp>().unwrap()
    };
    let before = expected().await;

    let other = fixture.member(&service, TenantId::new());
    let ended: JobId = submit(&other, json!({})).await.str("id").parse().unwrap();
    let _ = other.post(&format!("/v1/jobs/{ended}/cancel"), json!({})).await.expect(202);
    let mut conn = fixture.db.admin().await;
    let copied = sqlx::query(COPY).bind(ended).execute(&mut conn).await.unwrap().rows_affected();
    assert_eq!(copied, 54);
    conn.close().await.unwrap();
    // the other tenant has used less: it is entitled to half of the worker
    eventually("the other tenant's jobs are foreseen", async || {
        (expected().await.duration_since(before).as_secs() > 45).then_some(())
    })
    .await;
    service.stop().await;
}
