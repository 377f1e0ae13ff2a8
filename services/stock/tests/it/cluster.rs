//! Additions, removals and the watch, against a development cluster.

use std::{
    collections::HashMap,
    future::pending,
    sync::{Arc, Mutex},
};

use axum::http::{Method, StatusCode, Uri};
use kube::{ResourceExt, config::Kubeconfig};
use serde_json::{Value, json};
use testkit::eventually;

use crate::{
    fixture::{Fixture, instance},
    operator::{Cluster, unit_id},
};

async fn fixture(cluster: &Cluster) -> Fixture {
    Fixture::with_cluster(Some(cluster.kubeconfig())).await
}

#[tokio::test]
async fn an_addition_creates_objects_and_counts_held_units() {
    let cluster = Cluster::start().await;
    let fixture = fixture(&cluster).await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("3080-small-4-1", "0.2").await;
    let _ = replica.datacenter("uk-1").await;
    let operation = replica.add("3080-small-4-1", "uk-1", 5).await;
    let objects = cluster.until(5).await;
    let object = &objects[0];
    assert_eq!(object.labels()["atelier.dev/managed-by"], "stock");
    assert_eq!(object.labels()["atelier.dev/gpu-spec"], "3080-small-4-1");
    let spec = serde_json::to_value(&object.spec).unwrap();
    assert_eq!(
        spec,
        json!({
            "gpuSpec": "3080-small-4-1", "datacenter": "uk-1",
            "resources": { "cpu": "4000m", "memory": "8192Mi", "ephemeralStorage": "50Gi" },
            "gpu": { "model": "NVIDIA-GeForce-RTX-3080", "count": 1,
                     "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } },
        })
    );
    assert_eq!(object.managed_fields()[0].manager.as_deref(), Some("atelier-stock"));

    // two hold, one does not, two have not been tried: making is not stock, the operation goes on
    cluster.hold(&objects[..2]).await;
    cluster.say_more(&objects[2].name_any(), false, "Unschedulable", json!({})).await;
    cluster.say_more(&objects[3].name_any(), false, "Scheduling", json!({})).await;
    replica.until_numbers([2, 1, 0, 3]).await;
    let path = format!("/v1/stock-operations/{operation}");
    let running = eventually("the operation tells", async || {
        let answer = replica.admin.get(&path).await.expect(200);
        (answer.body["progress"]["held"] == 2 && answer.body["progress"]["made"] == 5).then_some(answer)
    })
    .await;
    assert_eq!(running.str("state"), "running");
    assert_eq!(
        running.body["progress"]["failed"],
        json!([{ "unit_id": unit_id(&objects[2]), "reason": "unschedulable", "message": "message of Unschedulable" }])
    );
    let page = replica.admin.get(&format!("/v1/stock-units/{}", unit_id(&objects[0]))).await.expect(200);
    assert_eq!((page.str("state"), page.str("node")), ("available", "node-1"));
    assert_eq!(page.body["gpu_uuids"], json!([format!("GPU-{}", objects[0].name_any())]));

    cluster.hold(&objects).await;
    let ended = replica.ended(&operation).await;
    assert_eq!((&ended["state"], &ended["progress"]["held"]), (&json!("succeeded"), &json!(5)));
    assert_eq!(ended["progress"]["failed"], json!([]));
    replica.until_numbers([5, 0, 0, 5]).await;

    // the cluster changes its mind, of a free unit and of a used one
    let claim = replica.claim(&instance(), &spec_id).await.expect(201);
    let used = claim.str("unit_name").to_owned();
    let free = objects.iter().find(|o| o.name_any() != used).unwrap().name_any();
    cluster.say(&free, false, "NodeLost").await;
    cluster.say(&used, false, "NodeLost").await;
    replica.until_numbers([3, 1, 1, 5]).await;
    eventually("the used unit's page says why", async || {
        let page = replica.admin.get(&format!("/v1/stock-units/{}", claim.str("unit_id"))).await.expect(200);
        (page.str("state") == "used" && page.body["reason"] == "node_lost").then_some(())
    })
    .await;
    cluster.say(&free, true, "Holding").await;
    cluster.say(&used, true, "Holding").await;
    replica.until_numbers([4, 0, 1, 5]).await;
    fixture.assert_sound().await;
    replica.process.shutdown.begin();
}

#[tokio::test]
async fn a_unit_that_is_not_held_in_time_is_named_and_becomes_available_later() {
    let cluster = Cluster::start().await;
    let mut fixture = fixture(&cluster).await;
    fixture.config.hold_deadline_seconds = 1;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let operation = replica.add("a", "uk-1", 3).await;
    let objects = cluster.until(3).await;
    cluster.say(&objects[0].name_any(), true, "Holding").await;
    cluster.say(&objects[1].name_any(), false, "Unschedulable").await;
    let ended = replica.ended(&operation).await;
    assert_eq!(ended["state"], "failed");
    assert_eq!(ended["problem"]["type"], "https://atelier.dev/problems/stock-not-held");
    let progress = &ended["progress"];
    assert_eq!((&progress["held"], &progress["failed_count"]), (&json!(1), &json!(2)));
    let mut reasons: Vec<_> =
        progress["failed"].as_array().unwrap().iter().map(|f| f["reason"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["not_in_time", "unschedulable"]);
    cluster.hold(&objects).await;
    replica.until_numbers([3, 0, 0, 3]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_refusal_of_the_cluster_is_quoted_and_retried() {
    let cluster = Cluster::start().await;
    let fixture = fixture(&cluster).await;
    let replica = fixture.replica().await;
    // something that gets past our own checks: put into the table
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    fixture.sql("update stock.gpu_specs set gpu_count = 65").await;
    let operation = replica.add("a", "uk-1", 1).await;
    let path = format!("/v1/stock-operations/{operation}");
    let failed = eventually("the refusal is quoted", async || {
        let running = replica.admin.get(&path).await.expect(200);
        Some(running.body["progress"]["failed"][0].clone()).filter(|failed| !failed.is_null())
    })
    .await;
    assert_eq!(failed["reason"], "cluster_refused");
    assert!(failed["message"].as_str().unwrap().contains("count"), "{failed}");
    // it is put right; the unit is tried again by itself
    fixture.sql("update stock.gpu_specs set gpu_count = 1").await;
    cluster.until(1).await;
    // and can be removed though it never was held
    let one = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 1 });
    let removal = replica.admin.post("/v1/stock/removals", one).await.expect(202).str("id").to_owned();
    assert_eq!(replica.ended(&removal).await["state"], "succeeded");
    cluster.until(0).await;
}

#[tokio::test]
async fn of_a_failed_addition_nothing_is_created_later() {
    let cluster = Cluster::start().await;
    let mut fixture = fixture(&cluster).await;
    fixture.config.hold_deadline_seconds = 2;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let made = replica.add("a", "uk-1", 1).await;
    cluster.hold(&cluster.until(1).await).await;
    assert_eq!(replica.ended(&made).await["state"], "succeeded");
    fixture.sql("update stock.gpu_specs set gpu_count = 65").await;
    let operation = replica.add("a", "uk-1", 3).await;
    let ended = replica.ended(&operation).await;
    let failed = &ended["progress"]["failed"];
    assert_eq!(
        (&ended["state"], failed.as_array().unwrap().len(), &failed[0]["reason"]),
        (&json!("failed"), 3, &json!("cluster_refused")),
        "{ended}"
    );
    // the cluster would accept them now
    fixture.sql("update stock.gpu_specs set gpu_count = 1").await;
    eventually("the units are withdrawn", async || {
        (fixture.count("select count(*) from stock.units").await == 1).then_some(())
    })
    .await;
    assert_eq!(cluster.until(1).await.len(), 1);
    replica.until_numbers([1, 0, 0, 1]).await;
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_removal_waits_until_the_objects_are_gone() {
    let cluster = Cluster::start().await;
    let fixture = fixture(&cluster).await;
    let replica = fixture.replica().await;
    let spec_id = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let operation = replica.add("a", "uk-1", 4).await;
    let holding = cluster.hold_all();
    assert_eq!(replica.ended(&operation).await["state"], "succeeded");
    drop(holding);
    let claim = replica.claim(&instance(), &spec_id).await.expect(201);

    // the operator has something to end first
    let keep: Vec<_> =
        cluster.all().await.into_iter().filter(|o| o.name_any() != claim.str("unit_name")).collect();
    let finalizers = |list: Value| kube::api::Patch::Merge(json!({ "metadata": { "finalizers": list } }));
    let params = kube::api::PatchParams::default();
    for object in &keep {
        cluster
            .units
            .patch(&object.name_any(), &params, &finalizers(json!(["atelier.dev/unit"])))
            .await
            .unwrap();
    }
    let body = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 4 });
    let refused = replica.admin.post("/v1/stock/removals", body).await.expect_problem(409, "stock-in-use");
    assert_eq!(refused.body["free"], 3);
    let body = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 3 });
    let removal = replica.admin.post("/v1/stock/removals", body).await.expect(202).str("id").to_owned();
    eventually("the objects are being deleted", async || {
        let all = cluster.all().await;
        (all.iter().filter(|o| o.metadata.deletion_timestamp.is_some()).count() == 3).then_some(())
    })
    .await;
    assert_eq!(replica.numbers().await, [0, 0, 1, 1]);
    let open = replica.admin.get(&format!("/v1/stock-operations/{removal}")).await.expect(200);
    assert_eq!((open.str("state"), &open.body["progress"]["removed"]), ("running", &json!(0)));
    for object in &keep {
        cluster.units.patch(&object.name_any(), &params, &finalizers(Value::Null)).await.unwrap();
    }
    let ended = replica.ended(&removal).await;
    assert_eq!((&ended["state"], &ended["progress"]["removed"]), (&json!("succeeded"), &json!(3)));
    let left = cluster.until(1).await;
    assert_eq!(left[0].name_any(), claim.str("unit_name"));
    assert_eq!(fixture.count("select count(*) from stock.units").await, 1);
    assert_eq!(fixture.count("select count(*) from stock.operation_units").await, 0);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_named_unit_and_no_other_is_removed_from_the_cluster() {
    let cluster = Cluster::start().await;
    let fixture = fixture(&cluster).await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let addition = replica.add("a", "uk-1", 3).await;
    let objects = cluster.until(3).await;
    // one does not hold yet: its addition waits for it
    cluster.hold(&objects[..2]).await;
    cluster.say_more(&objects[2].name_any(), false, "Unschedulable", json!({})).await;
    replica.until_numbers([2, 1, 0, 3]).await;
    let unit = unit_id(&objects[2]);
    let path = format!("/v1/stock-units/{unit}");
    let removal = replica.admin.key("one").delete(&path).await.expect(202).str("id").to_owned();
    let ended = replica.ended(&removal).await;
    assert_eq!((&ended["state"], &ended["progress"]["removed"]), (&json!("succeeded"), &json!(1)));
    let addition = replica.ended(&addition).await;
    assert_eq!(addition["state"], "failed");
    assert_eq!(addition["progress"]["failed"][0]["reason"], "removed");
    let mut left: Vec<_> = cluster.until(2).await.iter().map(ResourceExt::name_any).collect();
    left.sort();
    let mut kept: Vec<_> = objects[..2].iter().map(ResourceExt::name_any).collect();
    kept.sort();
    assert_eq!(left, kept);
    // the same request tells the same; there is no unit for another
    assert_eq!(replica.admin.key("one").delete(&path).await.expect(202).str("id"), removal);
    replica.admin.delete(&path).await.expect_problem(404, "not-found");
    replica.admin.get(&path).await.expect_problem(404, "not-found");
    assert_eq!(replica.numbers().await, [2, 0, 0, 2]);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn an_addition_survives_the_death_of_a_replica() {
    let cluster = Cluster::start().await;
    let mut fixture = fixture(&cluster).await;
    fixture.config.lease_seconds = 2;
    fixture.config.cluster_concurrency = 1;
    let (first, runtime) = fixture.doomed().await;
    let _ = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    let operation = first.add("a", "uk-1", 120).await;
    eventually("some are made", async || (cluster.all().await.len() > 5).then_some(())).await;
    // killed in the midst of it: what it had leased stays leased until that runs out
    runtime.shutdown_background();
    let so_far = cluster.all().await.len();
    let leased = "select count(*) from stock.units where coalesce(lease_until, wake_at) is not null";
    assert!(so_far < 120 && fixture.count(leased).await > 0, "it was killed too late: {so_far}");

    let replicas = [fixture.replica().await, fixture.replica().await];
    let _holding = cluster.hold_all();
    let ended = replicas[0].ended(&operation).await;
    assert_eq!((&ended["state"], &ended["progress"]["held"]), (&json!("succeeded"), &json!(120)));
    assert_eq!(cluster.all().await.len(), 120);
    replicas[1].until_numbers([120, 0, 0, 120]).await;
    // those that were made and not noted are made again, which changes nothing
    eventually("nothing is left to do", async || (fixture.count(leased).await == 0).then_some(())).await;
    assert_eq!(cluster.all().await.len(), 120);
    fixture.assert_sound().await;
}

#[tokio::test]
async fn a_removal_survives_the_death_of_a_replica() {
    let cluster = Cluster::start().await;
    let mut fixture = fixture(&cluster).await;
    fixture.config.lease_seconds = 2;
    fixture.config.cluster_concurrency = 1;
    let (first, runtime) = fixture.doomed().await;
    let _ = first.spec("a", "1").await;
    let _ = first.datacenter("uk-1").await;
    let operation = first.add("a", "uk-1", 60).await;
    let holding = cluster.hold_all();
    assert_eq!(first.ended(&operation).await["state"], "succeeded");
    drop(holding);
    let body = json!({ "gpu_spec": "a", "datacenter": "uk-1", "count": 50 });
    let removal = first.admin.post("/v1/stock/removals", body).await.expect(202).str("id").to_owned();
    eventually("some are gone", async || (cluster.all().await.len() < 57).then_some(())).await;
    runtime.shutdown_background();
    let going = fixture.count("select count(*) from stock.units where state = 'removing'").await;
    assert!(going > 0, "it was killed too late");

    let second = fixture.replica().await;
    let ended = second.ended(&removal).await;
    assert_eq!((&ended["state"], &ended["progress"]["removed"]), (&json!("succeeded"), &json!(50)));
    cluster.until(10).await;
    assert_eq!(fixture.count("select count(*) from stock.units").await, 10);
    fixture.assert_sound().await;
}

/// A cluster that takes every request and answers none; it tells whether two were about one object at once.
#[derive(Clone, Default)]
struct Silent(Arc<Mutex<HashMap<String, usize>>>, Arc<Mutex<Vec<String>>>);

impl Silent {
    async fn take(self, path: String) -> StatusCode {
        struct UnderWay(Silent, String);
        impl Drop for UnderWay {
            fn drop(&mut self) {
                *self.0.0.lock().unwrap().get_mut(&self.1).unwrap() -= 1;
            }
        }
        let at_once = {
            let mut under_way = self.0.lock().unwrap();
            let count = under_way.entry(path.clone()).or_default();
            *count += 1;
            *count
        };
        if at_once > 1 {
            self.1.lock().unwrap().push(path.clone());
        }
        let _under_way = UnderWay(self, path);
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unit_is_reconciled_by_one_worker_at_a_time_while_the_cluster_is_silent() {
    let silent = Silent::default();
    let cluster = silent.clone();
    let router = axum::Router::new().fallback(move |method: Method, uri: Uri| {
        let cluster = cluster.clone();
        async move {
            // the watch and the comparison of each replica are at the collection
            if method == Method::PATCH { cluster.take(uri.path().to_owned()).await } else { pending().await }
        }
    });
    let url = testkit::serve(router).await;
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({
        "clusters": [{ "name": "a", "cluster": { "server": url } }], "users": [{ "name": "a", "user": {} }],
        "contexts": [{ "name": "a", "context": { "cluster": "a", "user": "a" } }], "current-context": "a",
    });
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let mut fixture = Fixture::with_cluster(Some(kubeconfig)).await;
    fixture.config.lease_seconds = 2;
    fixture.config.cluster_timeout_seconds = 1;
    fixture.config.cluster_concurrency = 1;
    let replicas = [fixture.replica().await, fixture.replica().await];
    let _ = replicas[0].spec("a", "1").await;
    let _ = replicas[0].datacenter("uk-1").await;
    let _ = replicas[0].add("a", "uk-1", 6).await;
    eventually("each was tried", async || {
        (fixture.count("select count(*) from stock.units where failures > 0").await == 6).then_some(())
    })
    .await;
    assert_eq!(*silent.1.lock().unwrap(), Vec::<String>::new(), "two were at these at once");
}

#[tokio::test]
async fn the_kubeconfig_of_a_cluster_that_does_not_answer_is_read_again() {
    let cluster = Cluster::start().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("kubeconfig");
    let moved = {
        let mut kubeconfig =
            serde_json::to_value(Kubeconfig::read_from(cluster.kubeconfig()).unwrap()).unwrap();
        kubeconfig["clusters"][0]["cluster"]["server"] = json!("http://127.0.0.1:9");
        kubeconfig
    };
    std::fs::write(&file, moved.to_string()).unwrap();
    let fixture = Fixture::with_cluster(Some(file.clone())).await;
    let replica = fixture.replica().await;
    let _ = replica.spec("a", "1").await;
    let _ = replica.datacenter("uk-1").await;
    let operation = replica.add("a", "uk-1", 1).await;
    eventually("the cluster does not answer", async || {
        (fixture.count("select count(*) from stock.units where failures > 0").await == 1).then_some(())
    })
    .await;
    std::fs::copy(cluster.kubeconfig(), &file).unwrap();
    let objects = cluster.until(1).await;
    cluster.hold(&objects).await;
    assert_eq!(replica.ended(&operation).await["state"], "succeeded");
}
