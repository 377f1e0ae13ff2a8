//! `/metrics`: all of it is documented, and ten thousand tenants add no series.

use auth::Role;
use ids::{InstanceId, TenantId};
use testkit::{Client, eventually, metrics};

use crate::harness::{Fixture, Replica};

/// What a replica serves, after requests of this many tenants.
async fn served(fixture: &Fixture, replica: &Replica, tenants: usize) -> String {
    for _ in 0..tenants {
        let member = Client::new(&replica.base).token(&fixture.issuer.user(TenantId::new(), Role::Member));
        let _ = member.get("/v1/instances").await.expect(200);
        let _ = member.get(&format!("/v1/instances/{}", InstanceId::new())).await.expect(404);
    }
    Client::new(&replica.base).get("/metrics").await.expect(200).text
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_tenants_add_no_series() {
    let fixture = Fixture::start().await;
    let _ = fixture.running().await;
    let text = eventually("starts and instances are counted", async || {
        let text = Client::new(&fixture.base).get("/metrics").await.expect(200).text;
        text.contains("instance_starts_total{outcome=\"in_time\"} 1\n").then_some(text)
    })
    .await;
    metrics::assert_documented(&text);

    let one = "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id,
                   operation_kind)
               select gen_random_uuid(), gen_random_uuid(), name, spec, '{\"state\": \"stopped\"}', attempt, restart,
                   meter, operation_id, operation_kind
               from gpu.instances where state = 'running'";
    assert_eq!(fixture.execute(one).await, 1);
    let few_tenants = fixture.replica().await;
    let many =
        "insert into gpu.instances (id, tenant_id, name, spec, phase, attempt, restart, meter, operation_id,
                    operation_kind)
                select gen_random_uuid(), gen_random_uuid(), name, spec, phase, attempt, restart, meter,
                    operation_id, operation_kind
                from gpu.instances, generate_series(1, 10000) where state = 'stopped'";
    eventually("the first replica has counted the one", async || {
        served(&fixture, &few_tenants, 1).await.contains("instances{state=\"stopped\"} 1\n").then_some(())
    })
    .await;
    assert_eq!(fixture.execute(many).await, 10_000);
    let many_tenants = fixture.replica().await;
    eventually("the second replica has counted all", async || {
        served(&fixture, &many_tenants, 1)
            .await
            .contains("instances{state=\"stopped\"} 10001\n")
            .then_some(())
    })
    .await;
    eventually("both replicas serve the same series", async || {
        let (few, many) =
            (served(&fixture, &few_tenants, 1).await, served(&fixture, &many_tenants, 50).await);
        (metrics::series(&few) == metrics::series(&many)).then_some(())
    })
    .await;
}
