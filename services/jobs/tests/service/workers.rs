//! Background workers that fail.

use ids::TenantId;
use serde_json::json;
use testkit::eventually;

use crate::world::{World, pool, submit};

#[tokio::test]
async fn the_service_survives_a_panic_of_each_worker() {
    let world = World::new().await;
    let service = world.start().await;
    let workers = &service.process.workers;
    let names = workers.names();
    assert_eq!(
        names,
        [
            "jobs.audit",
            "jobs.changes",
            "jobs.deliveries",
            "jobs.deployments",
            "jobs.ended",
            "jobs.event_feed",
            "jobs.events",
            "jobs.fleet",
            "jobs.idempotency_keys",
            "jobs.makers",
            "jobs.outputs",
            "jobs.progress",
            "jobs.rest",
            "jobs.revocations",
            "jobs.scheduler",
            "jobs.uploads",
            "jobs.usage",
            "jobs.webhooks",
            "jobs.webhooks.ended",
            "jobs.webhooks.listen",
            "jobs.webhooks.queue",
        ]
    );
    for name in &names {
        workers.inject_panic(name);
        eventually(&format!("{name} runs again"), async || {
            (workers.status(name) == Some((true, 1))).then_some(())
        })
        .await;
    }
    let _ = pool(&world.admin(&service)).await;
    submit(&world.member(&service, TenantId::new()), json!({})).await;
    service.stop().await;
}
