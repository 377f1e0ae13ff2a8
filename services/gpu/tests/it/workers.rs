//! Faults of workers and of single instances: the service continues.

use serde_json::json;
use testkit::eventually;

use crate::harness::{CLUSTER, Fixture};

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_any_worker_does_not_stop_the_service() {
    let fixture = Fixture::with_kept_logs().await;
    let workers = &fixture.process.workers;
    let names = workers.names();
    for expected in [
        "gpu.instances.reconcile",
        "gpu.instances.follow",
        "gpu.budgets.reconcile",
        "gpu.budgets.follow",
        "gpu.runs.reconcile",
        "gpu.instances.housekeeping",
        "gpu.records.retention",
        "gpu.events.follow",
        "gpu.event_streams.follow",
        "gpu.events.retention",
        "gpu.usage.follow",
        "gpu.routes.follow",
        "gpu.share_links.retention",
        "gpu.makers.follow",
        "gpu.audit.retention",
        "gpu.usage.reconcile",
        "gpu.ssh.serve",
        "gpu.ssh.follow",
        "gpu.ssh.housekeeping",
        "gpu.grants.follow",
        "gpu.idle.reconcile",
        "gpu.idle.follow",
        "gpu.activity.housekeeping",
        "gpu.logs.retention",
        "gpu.samples.retention",
        &format!("gpu.logs.follow.{CLUSTER}"),
        &format!("gpu.samples.follow.{CLUSTER}"),
        &format!("gpu.units.follow.{CLUSTER}"),
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is not in {names:?}");
    }
    for name in &names {
        workers.inject_panic(name);
    }
    eventually("all workers have failed and run again", async || {
        names.iter().all(|name| workers.status(name) == Some((true, 1))).then_some(())
    })
    .await;
    let id = fixture.running().await;
    let unit = fixture.unit_of(id).await;
    let stop = fixture.act(id, "stop").await;
    fixture.emptied(&unit).await;
    fixture.operator.ended(&unit, 160).await;
    assert_eq!(fixture.ended(&stop).await["state"], "succeeded");
    assert_eq!(fixture.usage(id).await["total_seconds"], 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poison_instance_does_not_stop_others() {
    let fixture = Fixture::start().await;
    let poison = fixture.running().await;
    let unit = fixture.unit_of(poison).await;
    // a state that this version cannot read: each reconcile fails
    let broken = "update gpu.instances set phase = phase || '{\"pod\": 7}', wake_at = now()";
    assert_eq!(fixture.execute(broken).await, 1);
    let mut admin = fixture.db.admin().await;
    eventually("its reconcile has failed", async || {
        let failures: i32 =
            sqlx::query_scalar("select failures from gpu.instances").fetch_one(&mut admin).await.unwrap();
        (failures > 0).then_some(())
    })
    .await;
    // its events are observed together with those of others
    fixture.operator.status(&unit, json!({ "node": "node-1" })).await;
    let sound = fixture.ordered(Fixture::order()).await;
    let other = eventually("another unit names the other instance", async || {
        Some(fixture.unit_of(sound).await).filter(|other| *other != unit)
    })
    .await;
    fixture.operator.ready(&other).await;
    let path = format!("/internal/v1/routes/{}", sound.k8s_name());
    eventually("the other instance runs", async || {
        (fixture.gateway().get(&path).await.expect(200).body["state"] == "running").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_kubeconfig_does_not_keep_the_service_from_starting() {
    let fixture = Fixture::start().await;
    let mut config = fixture.config.clone();
    let missing = crds::ClusterConfig { kubeconfig: Some("/nowhere/kubeconfig".into()), context: None };
    config.clusters.insert("away".into(), missing);
    let process = service::Process::default();
    let app = atelier_gpu::App::new(config, process.clone()).unwrap();
    app.start_workers();
    let base = testkit::serve(app.router()).await;
    eventually("the other cluster is watched", async || {
        (app.clusters().unsynced() == ["away"]).then_some(())
    })
    .await;
    eventually("the service is ready", async || {
        (reqwest::get(format!("{base}/readyz")).await.unwrap().status() == 200).then_some(())
    })
    .await;
    process.shutdown.begin();
}
