//! Background workers that fail.

use ids::TenantId;
use serde_json::json;
use testkit::eventually;

use crate::fixture::{Fixture, pool, submit};

#[tokio::test]
async fn the_service_survives_a_panic_of_each_worker() {
    let fixture = Fixture::new().await;
    let service = fixture.start().await;
    let workers = &service.process.workers;
    let names = workers.names();
    assert_eq!(
        names,
        [
            "jobs.audit.retention",
            "jobs.changes.retention",
            "jobs.deliveries.follow",
            "jobs.deliveries.reconcile",
            "jobs.deliveries.retention",
            "jobs.deployments.reconcile",
            "jobs.events.follow",
            "jobs.fleet.reconcile",
            "jobs.idempotency_keys.retention",
            "jobs.jobs.retention",
            "jobs.makers.follow",
            "jobs.outputs.retention",
            "jobs.pools.reconcile",
            "jobs.progress.reconcile",
            "jobs.rest.housekeeping",
            "jobs.results.reconcile",
            "jobs.revocations.follow",
            "jobs.uploads.retention",
            "jobs.usage.reconcile",
            "jobs.watched_jobs.follow",
            "jobs.webhooks.follow",
        ]
    );
    for name in &names {
        workers.inject_panic(name);
        eventually(&format!("{name} runs again"), async || {
            (workers.status(name) == Some((true, 1))).then_some(())
        })
        .await;
    }
    let _ = pool(&fixture.admin(&service)).await;
    submit(&fixture.member(&service, TenantId::new()), json!({})).await;
    service.stop().await;
}
