//! Supervised workers: a panic in any of them, and a unit whose reconcile always fails, do not stop the work.

use kube::ResourceExt;
use serde_json::json;
use testkit::eventually;

use crate::{
    fixture::{Fixture, instance},
    operator::Cluster,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_service_works_after_a_panic_in_each_worker() {
    let cluster = Cluster::start().await;
    let mut fixture = Fixture::with_cluster(Some(cluster.kubeconfig())).await;
    fixture.config.compare_every_seconds = 1;
    fixture.config.lease_seconds = 2;
    let replica = fixture.replica().await;
    let workers = &replica.process.workers;
    let names = workers.names();
    assert_eq!(
        names,
        [
            "stock.audit.retention",
            "stock.capacity.housekeeping",
            "stock.comparison.reconcile.main",
            "stock.counts.reconcile",
            "stock.events.follow",
            "stock.events.retention",
            "stock.grants.follow",
            "stock.hold_back.reconcile",
            "stock.operations.reconcile",
            "stock.queue.reconcile",
            "stock.records.retention",
            "stock.revocations.follow",
            "stock.silence.follow.main",
            "stock.units.follow",
            "stock.units.follow.main",
            "stock.units.reconcile",
        ]
    );
    for name in &names {
        workers.inject_panic(name);
        eventually("the worker runs again", async || {
            workers.status(name).is_some_and(|(running, failures)| running && failures >= 1).then_some(())
        })
        .await;
    }

    let spec_id = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let holding = cluster.hold_all();
    // stock.units.*, stock.operations.reconcile
    let addition = replica.add("a", "uk-1", 3).await;
    assert_eq!(replica.ended(&addition).await["state"], "succeeded");
    let _ = replica.claim(&instance(), &spec_id).await.expect(201);
    // stock.comparison.reconcile.main
    let altered = cluster.all().await[0].name_any();
    let patch = kube::api::Patch::Merge(json!({ "spec": { "resources": { "cpu": "1" } } }));
    cluster.units.patch(&altered, &kube::api::PatchParams::default(), &patch).await.unwrap();
    eventually("the altered object is applied again", async || {
        let object = cluster.units.get(&altered).await.unwrap();
        (object.spec.resources.cpu == "4000m").then_some(())
    })
    .await;
    // stock.counts.reconcile
    fixture.sql("update stock.stock_counts set available = available + 5").await;
    replica.until_numbers([2, 0, 1, 3]).await;
    drop(holding);
    let removal = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 2 });
    let removal = replica.admin.post("/v1/stock/removals", removal).await.expect(202).str("id").to_owned();
    assert_eq!(replica.ended(&removal).await["state"], "succeeded");
    fixture.assert_sound().await;

    let other = fixture.replica().await;
    let text = eventually("the stock is measured", async || {
        let used = "stock_units{gpu_spec=\"a\",datacenter=\"uk-1\",state=\"used\"} 1\n";
        Some(other.process.metrics.text()).filter(|text| text.contains(used))
    })
    .await;
    testkit::metrics::assert_documented(&text);
    let text = replica.process.metrics.text();
    assert!(text.contains("stock_cluster_answers{cluster=\"main\"} 1\n"), "{text}");
    assert!(text.contains("stock_repairs_total{kind=\"counts\"} 1\n"), "{text}");
    testkit::metrics::assert_documented(&text);
}

#[tokio::test]
async fn a_poison_unit_does_not_stop_others() {
    let cluster = Cluster::start().await;
    let mut fixture = Fixture::with_cluster(Some(cluster.kubeconfig())).await;
    fixture.config.cluster_concurrency = 1;
    let replica = fixture.replica().await;
    for name in ["good", "unreadable", "refused"] {
        let _ = replica.spec(name, "1").await;
    }
    let _ = replica.datacenter("uk-1").await;
    // neither gets past our own checks
    fixture
        .sql("update stock.gpu_specs set allocation = '{\"kind\": \"magic\"}' where name = 'unreadable'")
        .await;
    fixture.sql("update stock.gpu_specs set gpu_count = 65 where name = 'refused'").await;
    fixture
        .sql(
            "insert into stock.units (id, gpu_spec_id, datacenter_id, state, wake_at)
             select gen_random_uuid(), s.id, d.id, 'making', now() - interval '1 hour'
             from stock.gpu_specs s, stock.datacenters d where s.name in ('unreadable', 'refused')",
        )
        .await;
    let _holding = cluster.hold_all();
    let addition = replica.add("good", "uk-1", 10).await;
    assert_eq!(replica.ended(&addition).await["state"], "succeeded");
    eventually("both poison units have failed more than once", async || {
        let failed = "select count(*) from stock.units where failures > 1 and state = 'making'";
        (fixture.count(failed).await == 2).then_some(())
    })
    .await;
    let refused = "select count(*) from stock.units where reason = 'cluster_refused'";
    assert_eq!(fixture.count(refused).await, 1);
    assert_eq!(replica.process.workers.status("stock.units.reconcile"), Some((true, 0)));
    // nothing of the poison is kept: mended, the units are created
    fixture
        .sql(
            "update stock.gpu_specs set gpu_count = 1,
                 allocation = '{\"kind\": \"device\", \"resource\": \"nvidia.com/gpu\"}'",
        )
        .await;
    assert_eq!(cluster.until(12).await.len(), 12);
}

#[tokio::test]
async fn administrators_read_units_of_all_tenants_and_write_none() {
    let fixture = Fixture::new().await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.units("a", "uk-1", 2).await;
    let holder = instance();
    let _ = replica.claim(&holder, &spec_id).await.expect(201);
    replica.release(&holder).await;
    let _ = replica.claim(&holder, &spec_id).await.expect(201);
    let mut app = fixture.role("app").await;
    let count = async |conn: &mut sqlx::PgConnection, query: &'static str| -> i64 {
        sqlx::query_scalar(query).fetch_one(conn).await.unwrap()
    };
    assert_eq!(count(&mut app, "select count(*) from units").await, 1);
    assert_eq!(count(&mut app, "select count(*) from unit_holders").await, 0);
    sqlx::query("select set_config('atelier.admin', 'on', false)").execute(&mut app).await.unwrap();
    assert_eq!(count(&mut app, "select count(*) from units").await, 2);
    assert_eq!(count(&mut app, "select count(*) from unit_holders").await, 1);
    let written = sqlx::query("update units set message = 'x' where state = 'used'").execute(&mut app).await;
    assert_eq!(written.unwrap().rows_affected(), 0);
}
