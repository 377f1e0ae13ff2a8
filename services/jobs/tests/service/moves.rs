//! Jobs that would start earlier in another pool.

use std::{collections::BTreeSet, time::Duration};

use ids::{PoolId, TenantId};
use peer::Endpoint;
use serde_json::json;
use testkit::{Client, eventually, within};

use crate::{
    fixture::{Fixture, submit},
    fleet::Worker,
    gpu::Gpu,
    metrics::value,
};

/// Longest time until a job has been moved: pools are looked at every 10 seconds.
const MOVED: Duration = Duration::from_secs(60);

/// Creates a pool.
async fn pool(admin: &Client, name: &str, gpu_spec: &str, owner: Option<TenantId>) -> String {
    let body =
        json!({ "name": name, "gpu_specs": [gpu_spec], "tenant_id": owner, "dedicated": owner.is_some() });
    admin.post("/v1/platform-pools", body).await.expect(201).str("id").to_owned()
}

/// How often a scheduler of the pool has begun.
async fn epoch(fixture: &Fixture, pool: &str) -> i64 {
    let id: PoolId = pool.parse().unwrap();
    let epoch = sqlx::query_scalar("select epoch from jobs.pools where id = $1").bind(id.uuid());
    epoch.fetch_one(&mut fixture.db.admin().await).await.unwrap()
}

#[tokio::test]
async fn a_job_that_names_no_pool_moves_to_one_where_it_starts_earlier() {
    let (mut fixture, gpu) = (Fixture::new().await, Gpu::start().await);
    gpu.set_price("small", "3.6", "USD");
    gpu.set_price("large", "7.2", "USD");
    (fixture.config.scheduler.silent_ms, fixture.config.scheduler.lost_ms) = (600_000, 600_000);
    fixture.config.stock =
        Some(Endpoint { url: gpu.url.parse().unwrap(), token: testkit::service_token("jobs").into() });
    let service = fixture.start().await;
    let (admin, tenant) = (fixture.admin(&service), TenantId::new());
    let full = pool(&admin, "full", "small", Some(tenant)).await;
    let shared = pool(&admin, "shared", "small", None).await;
    let dearer = pool(&admin, "dearer", "large", Some(tenant)).await;
    let free = pool(&admin, "free", "small", Some(tenant)).await;
    let _shared = Worker::start(&fixture, &service, &shared, "shared").await;
    let _dearer = Worker::start_with(&fixture, &service, &dearer, "dearer", "large").await;
    let mut conn = fixture.db.admin().await;
    eventually("all prices are known", async || {
        let known =
            sqlx::query_scalar("select count(*) from jobs.pool_prices where price_per_hour is not null");
        let known: i64 = known.fetch_one(&mut conn).await.unwrap();
        (known == 4).then_some(())
    })
    .await;
    // all go to the oldest pool of the tenant, which has no worker
    let member = fixture.member(&service, tenant);
    let mut jobs = Vec::new();
    for change in [json!({ "pool": "full" }), json!({ "group": "campaign" }), json!({})] {
        jobs.push(submit(&member, change).await.str("id").to_owned());
    }
    let waited = sqlx::query(
        "update jobs.jobs set created_at = created_at - interval '1 minute' where pool_id = $1::uuid",
    );
    let id: PoolId = full.parse().unwrap();
    let waited = waited.bind(id.uuid()).execute(&mut conn).await.unwrap();
    assert_eq!(waited.rows_affected(), 3);
    let led = epoch(&fixture, &full).await;

    let free = Worker::start(&fixture, &service, &free, "free").await;
    let work = within(MOVED, "the job is moved to the pool that has a worker", async || {
        let answer = free.poll(None, 1).await.expect(200);
        Some(answer.body["instruction"]["work"]["job_id"].as_str()?.to_owned())
    })
    .await;
    assert_eq!(work, jobs[2]);
    assert_eq!(value(&service, "jobs_moved_total").await, Some(1.0));
    // the scheduler of the first pool goes on with the others
    let first = Worker::start(&fixture, &service, &full, "first").await;
    let named = first.work().await;
    let _ = first.complete(&named).await.expect(200);
    let others = BTreeSet::from([named.job, first.work().await.job]);
    assert_eq!(others, jobs[..2].iter().cloned().collect());
    assert_eq!(epoch(&fixture, &full).await, led, "it had to load the pool again");
    service.stop().await;
}
