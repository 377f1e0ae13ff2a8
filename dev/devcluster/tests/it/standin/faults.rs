//! Parts that are stopped: API server, scheduler, controllers, kubelets; and images that cannot be pulled.

use crate::support::*;
use atelier_devcluster::{ImageConfig, NodeConfig, Part};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod, ServiceAccount};
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, LogParams, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use testkit::eventually;

/// A cluster with a node `n1` that runs processes, which misses its heartbeats after a second.
async fn real() -> Test {
    Test::with(|c| {
        c.nodes.push(NodeConfig::new("n1"));
        c.images.push(ImageConfig::new("sh:*", ["/bin/sh", "-c"]));
        c.node_grace_seconds = 1;
        c.eviction_seconds = 60;
        c.pull_backoff_ms = 200;
    })
    .await
}

fn shell(name: &str, script: &str) -> Value {
    let mut value = pod(name, "sh:1", json!({}));
    value["spec"]["containers"][0]["args"] = json!([script]);
    value
}

fn kubelet() -> Part {
    Part::Kubelet("n1".to_owned())
}

/// Status and reason of a node's `Ready` condition.
fn readiness(node: &Node) -> (String, String) {
    let conditions = node.status.as_ref().and_then(|s| s.conditions.clone()).unwrap_or_default();
    let ready = conditions.into_iter().find(|c| c.type_ == "Ready").unwrap();
    (ready.status, ready.reason.unwrap_or_default())
}

fn waiting(pod: &Pod) -> (String, String) {
    let statuses = pod.status.as_ref().and_then(|s| s.container_statuses.clone()).unwrap_or_default();
    let waiting = statuses.into_iter().next().and_then(|c| c.state?.waiting).unwrap_or_default();
    (waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default())
}

#[tokio::test]
async fn pods_go_on_while_the_api_server_is_away() {
    let t = real().await;
    let pods = t.pods();
    let script = "echo up; until test -e go; do sleep 0.05; done; echo went; exec sleep 1000";
    create(&pods, shell("p", script)).await;
    let before = until(&pods, "p", is_ready).await;
    let maps: Api<ConfigMap> = t.api();
    let map = create(&maps, json!({ "metadata": { "name": "a" } })).await;
    let mut watch = maps.watch(&WatchParams::default(), &rv(&map)).await.unwrap().boxed();

    t.cluster().stop_part(&Part::ApiServer);
    let broken = tokio::time::timeout(Duration::from_secs(5), watch.try_next()).await.unwrap();
    assert!(matches!(broken, Err(_) | Ok(None)), "{broken:?}");
    assert!(pods.get("p").await.is_err());
    let home = t.dir.path().join("data/pods").join(before.uid().unwrap()).join("rootfs");
    std::fs::write(home.join("go"), "").unwrap();
    eventually("the process goes on", async || {
        let log = std::fs::read_to_string(home.parent()?.join("container.log")).ok()?;
        log.contains("went").then_some(())
    })
    .await;

    t.cluster().start_part(&Part::ApiServer).await;
    let after = pods.get("p").await.unwrap();
    assert_eq!(after.uid(), before.uid());
    assert_eq!(after.status.unwrap().container_statuses.unwrap()[0].restart_count, 0);
    assert_eq!(pods.logs("p", &LogParams::default()).await.unwrap(), "up\nwent\n");
    // after the restart, earlier changes are no longer available
    let mut old = maps.watch(&WatchParams::default(), "1").await.unwrap().boxed();
    assert!(matches!(old.try_next().await.unwrap(), Some(WatchEvent::Error(status)) if status.code == 410));
    t.stop().await;
}

/// Heartbeats expire while the API server is stopped: nodes are not ready at first, and ready again after the next heartbeat.
#[tokio::test]
async fn nodes_are_unknown_after_a_long_absence_of_the_api_server() {
    let t = real().await;
    let nodes: Api<Node> = Api::all(t.client.clone());
    assert_eq!(readiness(&nodes.get("n1").await.unwrap()).0, "True");
    let away = Instant::now();
    t.cluster().stop_part(&Part::ApiServer);
    eventually("the heartbeats are old", async || {
        (away.elapsed() > Duration::from_millis(1500)).then_some(())
    })
    .await;
    t.cluster().start_part(&Part::ApiServer).await;
    let unknown = until(&nodes, "n1", |n| readiness(n).0 != "True").await;
    assert_eq!(readiness(&unknown), ("Unknown".to_owned(), "NodeStatusUnknown".to_owned()));
    until(&nodes, "n1", |n| readiness(n).0 == "True" && n.spec.as_ref().unwrap().taints.is_none()).await;
    t.stop().await;
}

#[tokio::test]
async fn a_stopped_scheduler_binds_nothing() {
    let t = Test::fake().await;
    let pods = t.pods();
    create(&pods, gpu_pod("old", 8, "")).await;
    until(&pods, "old", is_ready).await;
    t.cluster().stop_part(&Part::Scheduler);
    create(&pods, gpu_pod("new", 8, "")).await;
    pods.delete("old", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert!(!t.cluster().scheduler_is_running());
    assert_eq!(node_of(&pods.get("new").await.unwrap()), "");
    t.cluster().start_part(&Part::Scheduler).await;
    assert!(t.cluster().scheduler_is_running());
    until(&pods, "new", is_ready).await;
    t.stop().await;
}

/// As kube-scheduler 1.36 does, until it is started again.
#[tokio::test]
async fn the_scheduler_exits_over_a_reused_pod_name() {
    let t = Test::fake().await;
    let pods = t.pods();
    create(&pods, gpu_pod("p", 1, "")).await;
    until(&pods, "p", is_ready).await;
    t.cluster().stop_part(&Part::Scheduler);
    pods.delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    gone(&pods, "p").await;
    create(&pods, gpu_pod("p", 1, "")).await;
    t.cluster().start_part(&Part::Scheduler).await;
    assert!(!t.cluster().scheduler_is_running());
    t.cluster().start_part(&Part::Scheduler).await;
    assert!(t.cluster().scheduler_is_running());
    until(&pods, "p", is_ready).await;
    t.stop().await;
}

#[tokio::test]
async fn a_new_namespace_waits_for_its_service_account() {
    let t = Test::fake().await;
    t.cluster().stop_part(&Part::Controllers);
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(t.client.clone());
    create(&namespaces, json!({ "metadata": { "name": "n" } })).await;
    let pods: Api<Pod> = t.api_in("n");
    let body = serde_json::from_value(pod("p", "pause:1", json!({}))).unwrap();
    let (code, _, message) = failure(pods.create(&PostParams::default(), &body).await);
    let why = "error looking up service account n/default: serviceaccount \"default\" not found";
    assert!(code == 403 && message.ends_with(why), "{code} {message}");
    t.cluster().start_part(&Part::Controllers).await;
    let accounts: Api<ServiceAccount> = t.api_in("n");
    until(&accounts, "default", |_| true).await;
    pods.create(&PostParams::default(), &body).await.unwrap();
    // deleted, it is created again
    let uid = accounts.get("default").await.unwrap().uid();
    accounts.delete("default", &DeleteParams::default()).await.unwrap();
    until(&accounts, "default", |account| account.uid() != uid).await;
    t.stop().await;
}

#[tokio::test]
async fn a_silent_kubelet_keeps_its_pods_and_reports_on_its_return() {
    let t = real().await;
    let (pods, nodes): (_, Api<Node>) = (t.pods(), Api::all(t.client.clone()));
    for name in ["stays", "leaves", "forced"] {
        create(&pods, shell(name, "exec sleep 1000")).await;
        until(&pods, name, is_ready).await;
    }
    create(&pods, shell("ends", "until test -e go; do sleep 0.05; done; exit 3")).await;
    let ends = until(&pods, "ends", is_ready).await;
    t.cluster().stop_part(&kubelet());
    let lost =
        until(&nodes, "n1", |n| readiness(n).0 == "Unknown" && n.spec.as_ref().unwrap().taints.is_some())
            .await;
    let taints = lost.spec.unwrap().taints.unwrap();
    let effects: Vec<_> = taints.iter().map(|taint| (taint.key.as_str(), taint.effect.as_str())).collect();
    let unreachable = "node.kubernetes.io/unreachable";
    assert_eq!(effects, [(unreachable, "NoSchedule"), (unreachable, "NoExecute")]);
    until(&pods, "stays", |p| !is_ready(p)).await;

    pods.delete("leaves", &DeleteParams::default()).await.unwrap();
    pods.delete("forced", &DeleteParams::default().grace_period(0)).await.unwrap();
    gone(&pods, "forced").await;
    let home = t.dir.path().join("data/pods").join(ends.uid().unwrap());
    std::fs::write(home.join("rootfs/go"), "").unwrap();
    eventually("the process has ended", async || (!home.join("process").exists()).then_some(())).await;
    assert!(pods.get("leaves").await.unwrap().metadata.deletion_timestamp.is_some());
    let restarts = |p: &Pod| p.status.as_ref().unwrap().container_statuses.as_ref().unwrap()[0].restart_count;
    assert_eq!(restarts(&pods.get("ends").await.unwrap()), 0);

    t.cluster().start_part(&kubelet()).await;
    until(&nodes, "n1", |n| readiness(n).0 == "True" && n.spec.as_ref().unwrap().taints.is_none()).await;
    let stays = until(&pods, "stays", is_ready).await;
    assert_eq!(restarts(&stays), 0);
    until(&pods, "ends", |p| restarts(p) > 0).await;
    gone(&pods, "leaves").await;
    eventually("the folders of the deleted pods are removed", async || {
        (std::fs::read_dir(t.dir.path().join("data/pods")).unwrap().count() == 2).then_some(())
    })
    .await;
    t.stop().await;
}

#[tokio::test]
async fn an_image_is_pulled_again_after_a_backoff() {
    let t = real().await;
    let pods = t.pods();
    create(&pods, pod("p", "registry.test/late:1", json!({}))).await;
    let failed = until(&pods, "p", |p| waiting(p).0 == "ErrImagePull").await;
    let why = waiting(&failed).1;
    assert!(why.starts_with("failed to pull and unpack image \"registry.test/late:1\": "), "{why}");
    let waits = until(&pods, "p", |p| waiting(p).0 == "ImagePullBackOff").await;
    assert_eq!(
        waiting(&waits).1,
        format!("Back-off pulling image \"registry.test/late:1\": ErrImagePull: {why}")
    );
    until(&pods, "p", |p| waiting(p).0 == "ErrImagePull").await;
    t.cluster().add_image(ImageConfig::new("registry.test/late:*", Vec::<String>::new()));
    until(&pods, "p", is_ready).await;
    t.stop().await;
}
