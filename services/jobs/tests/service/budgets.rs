//! Budgets of tenants, which the gpu service manages.

use std::time::Duration;

use ids::TenantId;
use serde_json::{Value, json};
use sqlx::Connection as _;
use testkit::{Client, eventually};

use crate::{
    fixture::{Fixture, pool, submit},
    fleet::{Worker, reaches},
    gpu::Gpu,
};

async fn fixture() -> (Fixture, Gpu) {
    let (mut fixture, gpu) = (Fixture::new().await, Gpu::start().await);
    let endpoint = json!({ "url": gpu.url, "token": testkit::service_token("jobs") });
    let fleet = json!({ "gpu": endpoint, "jobs_url": "http://127.0.0.1:1" });
    fixture.config.fleet = Some(serde_json::from_value(fleet).unwrap());
    (fixture, gpu)
}

async fn waits_because(member: &Client, job: &str, reason: Value) {
    eventually(&format!("{job} waits because of {reason}"), async || {
        let read = member.get(&format!("/v1/jobs/{job}")).await.expect(200);
        (read.body["state"] == "queued" && read.body["reason"] == reason).then_some(())
    })
    .await;
}

#[tokio::test]
async fn jobs_of_a_tenant_that_has_spent_its_budget_wait_until_there_is_more() {
    let (fixture, gpu) = fixture().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let tenant = TenantId::new();
    let (member, other) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    let first = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let _ = worker.progress(&work, 3).await.expect(200);
    let renews_at = "2099-01-01T00:00:00Z";
    gpu.set_spent(Some((tenant, "budget_exhausted", Some(renews_at))));
    // as starts of instances are
    assert_eq!(worker.stop(&work).await, "preempted");
    let _ = worker.leave(&work).await.expect(200);
    waits_because(&member, &first, json!("budget_exhausted")).await;
    let urgent = submit(&member, json!({ "level": "urgent" })).await.str("id").to_owned();
    waits_because(&member, &urgent, json!("budget_exhausted")).await;
    let why = member.get(&format!("/v1/jobs/{urgent}/explanation")).await.expect(200);
    assert_eq!((why.str("code"), why.str("until")), ("budget_exhausted", renews_at));
    // other tenants continue; the last answer remains valid while the gpu service is unavailable, also for the next scheduler
    for is_away in [false, true] {
        gpu.set_away(is_away);
        let theirs = submit(&other, json!({})).await.str("id").to_owned();
        let work = worker.work().await;
        assert_eq!(work.job, theirs);
        let _ = worker.complete(&work).await.expect(200);
    }
    service.stop().await;
    let service = fixture.start().await;
    let (worker, member) = (worker.through(&service), fixture.member(&service, tenant));
    let other = fixture.member(&service, TenantId::new());
    let theirs = submit(&other, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    assert_eq!(work.job, theirs);
    let _ = worker.complete(&work).await.expect(200);

    gpu.set_spent(None);
    gpu.set_away(false);
    for job in [&urgent, &first] {
        let work = worker.work().await;
        assert_eq!(work.job, *job);
        let _ = worker.complete(&work).await.expect(200);
        reaches(&member, job, "succeeded").await;
    }
    service.stop().await;
}

#[tokio::test]
async fn while_it_is_not_known_what_a_tenant_may_spend_what_runs_goes_on() {
    let (fixture, gpu) = fixture().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let tenant = TenantId::new();
    let member = fixture.member(&service, tenant);
    let first = submit(&member, json!({})).await.str("id").to_owned();
    let work = worker.work().await;
    let second = submit(&member, json!({})).await.str("id").to_owned();
    gpu.set_spent(Some((tenant, "allowance_expired", None)));
    waits_because(&member, &second, json!("allowance_expired")).await;
    assert_eq!(worker.poll(Some(&work), 1).await.expect(200).body["instruction"], Value::Null);
    let _ = worker.complete(&work).await.expect(200);
    reaches(&member, &first, "succeeded").await;
    gpu.set_spent(None);
    assert_eq!(worker.work().await.job, second);
    service.stop().await;
}

#[tokio::test]
async fn a_scheduler_asks_before_it_starts_anything() {
    let (fixture, gpu) = fixture().await;
    let service = fixture.start().await;
    let pool = pool(&fixture.admin(&service)).await;
    let worker = Worker::start(&fixture, &service, &pool, "one").await;
    let tenant = TenantId::new();
    let (member, other) = (fixture.member(&service, tenant), fixture.member(&service, TenantId::new()));
    submit(&other, json!({})).await;
    let theirs = worker.work().await;
    // it waits for the worker, then because the tenant is suspended
    let job = submit(&member, json!({})).await.str("id").to_owned();
    let order =
        |generation, state| json!({ "generation": generation, "state": state, "delete_storages": false });
    let (path, identity) = (format!("/internal/v1/tenants/{tenant}"), service.client.service("identity"));
    let _ = identity.put(&path, order(2, "suspended")).await.expect(200);
    waits_because(&member, &job, json!("tenant_suspended")).await;
    let _ = worker.complete(&theirs).await.expect(200);
    service.stop().await;
    // no worker checks the budget while the tenant spends it
    let mut conn = fixture.db.admin().await;
    let active = "update jobs.tenants set state = 'active'";
    sqlx::query(active).execute(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    gpu.set_spent(Some((tenant, "budget_exhausted", None)));
    gpu.set_thinks(Duration::from_millis(700));
    let service = fixture.start().await;
    let (worker, member) = (worker.through(&service), fixture.member(&service, tenant));
    for _ in 0..3 {
        assert_eq!(worker.poll(None, 1).await.expect(200).body["instruction"], Value::Null);
    }
    waits_because(&member, &job, json!("budget_exhausted")).await;
    service.stop().await;
}
