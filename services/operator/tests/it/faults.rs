//! Failing starts, crashing containers, lost nodes.

use atelier_operator::settings::Settings;
use crds::{GpuStorage, GpuUnitStatus, UnitState, names};
use k8s_openapi::api::core::v1::{Node, ResourceQuota};
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::eventually;

use crate::lab::{Lab, is_idle, reason};

/// The place is held again and the attempt has failed.
fn has_failed(status: &GpuUnitStatus) -> bool {
    status.last_failure.is_some() && is_idle(status)
}

/// Boxed: its future is large.
fn fails_with(
    change: Value,
    expected: &'static str,
) -> std::pin::Pin<Box<dyn Future<Output = GpuUnitStatus>>> {
    Box::pin(fails(change, expected))
}

async fn fails(change: Value, expected: &'static str) -> GpuUnitStatus {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    let mut instance = lab.instance(0, 1);
    instance.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    lab.set_instance(0, Some(instance)).await;
    let failed = lab.until(0, "failed", has_failed).await;
    let failure = failed.last_failure.clone().unwrap();
    assert_eq!((failure.reason.as_str(), failure.attempt), (expected, 1), "{failure:?}");
    assert_eq!(reason(&failed, names::CONDITION_INSTANCE_READY), "StartFailed");
    assert_eq!(
        (&failed.node, failed.last_run.as_ref()),
        (&held.node, None),
        "the place is held again and nothing is billed"
    );
    // the next attempt succeeds
    lab.patch(0, &json!({"spec": {"instance": null}})).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 2))).await;
    lab.running(0, 2).await;
    lab.end(operator, 1).await;
    failed
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_that_does_not_exist_fails_the_start() {
    fails_with(json!({"image": "registry.invalid/nothing:1"}), "ImagePullFailed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_exits_at_once_fails_the_start_with_its_log() {
    let failed =
        fails_with(json!({"command": ["sh", "-c", "echo cannot find the model; exit 3"], "ports": [{"port": 9, "isProbe": true}]}), "ContainerExited")
            .await;
    let failure = failed.last_failure.unwrap();
    assert!(failure.message.contains("exit code 3"), "{}", failure.message);
    assert_eq!(failure.log_tail, "cannot find the model");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_not_text_is_kept_where_it_is() {
    let garbled = json!(["sh", "-c", "printf 'no\\377text\\000here'; exit 3"]);
    let failed =
        fails_with(json!({"command": garbled, "ports": [{"port": 9, "isProbe": true}]}), "ContainerExited")
            .await;
    // without the bytes that a database would reject in text
    assert_eq!(failed.last_failure.unwrap().log_tail, "no\u{fffd}text\u{fffd}here");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_probe_that_never_succeeds_fails_the_start() {
    let port = json!([{"port": 9, "isProbe": true}]);
    let failed = fails_with(json!({"ports": port, "startTimeoutSeconds": 3}), "ProbeFailed").await;
    assert_eq!(failed.last_failure.unwrap().log_tail, "up");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_beyond_the_tenants_quota_fails() {
    let lab = Lab::new(1, 2).await;
    let settings = Settings { tenant_pods: 1, ..Lab::settings() };
    let operator = lab.operator_with("one", None, None, settings).await;
    lab.create_units(2).await;
    lab.held(0).await;
    lab.held(1).await;
    // the tenant's namespace exists before its first pod: a quota controller that counts for the first time can miss a
    // pod that is created at that moment, until it counts again minutes later
    let storages: Api<GpuStorage> = Api::all(lab.client.clone());
    let storage = format!("stor-{}{:024x}", lab.id, 1);
    let spec = json!({"tenantId": lab.tenant(), "sizeGib": 1});
    let body = GpuStorage::new(&storage, serde_json::from_value(spec).unwrap());
    storages.create(&PostParams::default(), &body).await.unwrap();
    let quota_counts = async |pods: &str| {
        let quotas: Api<ResourceQuota> = Api::namespaced(lab.client.clone(), &lab.tenant());
        eventually("the quota is counted", async || {
            let used = quotas.get_opt("tenant").await.unwrap()?.status?.used?;
            (used.get("pods")?.0 == pods).then_some(())
        })
        .await;
    };
    quota_counts("0").await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    quota_counts("1").await;
    lab.set_instance(1, Some(lab.instance(1, 1))).await;
    let failure = lab.until(1, "failed", has_failed).await.last_failure.unwrap();
    assert_eq!(failure.reason, "PodRejected");
    assert!(failure.message.contains("exceeded quota"), "{}", failure.message);
    storages.delete(&storage, &DeleteParams::default()).await.unwrap();
    eventually("the storage is deleted", async || {
        storages.get_opt(&storage).await.unwrap().is_none().then_some(())
    })
    .await;
    lab.end(operator, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_the_cluster_rejects_fails_the_start() {
    let twice = json!([{"name": "a", "mountPath": "/x"}, {"name": "b", "mountPath": "/x"}]);
    fails_with(json!({"volumes": twice}), "InvalidTemplate").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_not_billed_and_the_container_restarts_in_its_place() {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    let mut instance = lab.instance(0, 1);
    // runs for three seconds, then exits
    instance["command"] = json!(["sh", "-c", "sleep 3; exit 1"]);
    lab.set_instance(0, Some(instance)).await;
    let first = lab.running(0, 1).await.instance.unwrap();
    let crashed = lab.until(0, "crashed", |status| status.last_run.is_some()).await;
    let run = crashed.last_run.unwrap();
    assert_eq!((run.reason.as_str(), Some(run.running_since)), ("ContainerExited", first.running_since));
    let again = lab.until(0, "ran again", |status| {
        status.state == UnitState::Running && status.instance.as_ref().is_some_and(|own| own.restarts > 0)
    });
    let again = again.await;
    assert_eq!(again.node, held.node);
    let own = again.instance.unwrap();
    assert!(own.running_since.unwrap().0 >= again.last_run.unwrap().ended_at.0);
    assert_eq!(own.pod_name, first.pod_name);
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_unit_leaves_a_cordoned_node() {
    let lab = Lab::new(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    lab.held(0).await;
    let nodes: Api<Node> = Api::all(lab.client.clone());
    let cordon = json!({"spec": {"unschedulable": true}});
    nodes.patch(&lab.node_name(0), &PatchParams::default(), &Patch::Merge(&cordon)).await.unwrap();
    let status = lab
        .until(0, "lost its place", |status| reason(status, names::CONDITION_HELD) == "NodeCordoned")
        .await;
    assert!(!status.is_held());
    lab.add_node(1, 1).await;
    let moved = lab.held(0).await;
    assert_eq!(moved.node, Some(lab.node_name(1)));
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_without_its_node_closes_its_run_and_finds_another_place() {
    let lab = Lab::new(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let since = lab.running(0, 1).await.instance.unwrap().running_since;
    let nodes: Api<Node> = Api::all(lab.client.clone());
    nodes.delete(&lab.node_name(0), &DeleteParams::default()).await.unwrap();
    let lost = lab.until(0, "lost its node", |status| !status.is_held() && status.last_run.is_some()).await;
    let run = lost.last_run.unwrap();
    // a cluster may delete the pod before it reports the node as lost
    assert!(matches!(run.reason.as_str(), "NodeLost" | "PodDeleted"), "{run:?}");
    assert_eq!(Some(run.running_since), since);
    // withdrawn, and idle elsewhere as soon as resources are free
    lab.set_instance(0, None).await;
    lab.until(0, "ended", |status| status.instance.is_none()).await;
    lab.add_node(1, 1).await;
    let moved = lab.held(0).await;
    assert_eq!(moved.node, Some(lab.node_name(1)));
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_without_a_place_reports_why_and_gets_one_later() {
    let lab = Lab::new(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(2).await;
    let waits = async |n: usize| reason(&lab.status(n).await, names::CONDITION_HELD) == "Unschedulable";
    eventually("one of two is unschedulable", async || (waits(0).await || waits(1).await).then_some(()))
        .await;
    lab.add_node(1, 1).await;
    lab.held(0).await;
    lab.held(1).await;
    lab.end(operator, 2).await;
}
