//! Fit, priority, preemption, nomination, taints and affinity.

use crate::support::*;
use atelier_devcluster::{NodeConfig, Part};
use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::ResourceExt;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

async fn class(t: &Test, name: &str, value: i32, policy: &str) {
    let api: Api<PriorityClass> = Api::all(t.client.clone());
    create(&api, json!({ "metadata": { "name": name }, "value": value, "preemptionPolicy": policy })).await;
}

fn unschedulable(pod: &Pod) -> bool {
    condition(pod, "PodScheduled").is_some_and(|c| c.0 == "False")
}

#[tokio::test]
async fn resources_are_counted() {
    let t = Test::fake().await;
    let pods = t.pods();
    for i in 0..4 {
        create(&pods, gpu_pod(&format!("p{i}"), 4, "")).await;
        until(&pods, &format!("p{i}"), is_ready).await;
    }
    create(&pods, gpu_pod("p4", 4, "")).await;
    let waiting = until(&pods, "p4", unschedulable).await;
    let message = condition(&waiting, "PodScheduled").unwrap().1;
    assert!(message.starts_with("0/2 nodes are available: 2 Insufficient nvidia.com/gpu."), "{message}");
    pods.delete("p0", &DeleteParams::default()).await.unwrap();
    until(&pods, "p4", is_ready).await;
    t.stop().await;
}

#[tokio::test]
async fn nodes_are_chosen_by_labels_taints_and_fields() {
    let t = Test::fake().await;
    let nodes: Api<Node> = Api::all(t.client.clone());
    let pods = t.pods();
    nodes
        .patch(
            "f1",
            &PatchParams::default(),
            &Patch::Merge(json!({ "metadata": { "labels": { "zone": "a" } } })),
        )
        .await
        .unwrap();
    nodes.cordon("f2").await.unwrap();
    create(&pods, pod("anywhere", "x", json!({}))).await;
    assert_eq!(node_of(&until(&pods, "anywhere", is_ready).await), "f1");
    let to_f2 = json!({ "affinity": { "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": [
        { "matchFields": [{ "key": "metadata.name", "operator": "In", "values": ["f2"] }] } ] } } } });
    create(&pods, pod("f2-only", "x", to_f2.clone())).await;
    let waiting = until(&pods, "f2-only", unschedulable).await;
    let message = condition(&waiting, "PodScheduled").unwrap().1;
    assert!(
        message.contains("1 node(s) were unschedulable")
            && message.contains("1 node(s) didn't match Pod's node affinity/selector"),
        "{message}"
    );
    nodes.uncordon("f2").await.unwrap();
    assert_eq!(node_of(&until(&pods, "f2-only", is_ready).await), "f2");
    let taint = json!({ "spec": { "taints": [{ "key": "only", "value": "gpu", "effect": "NoSchedule" }] } });
    nodes.patch("f1", &PatchParams::default(), &Patch::Merge(taint)).await.unwrap();
    create(&pods, pod("zone-a", "x", json!({ "nodeSelector": { "zone": "a" } }))).await;
    let waiting = until(&pods, "zone-a", unschedulable).await;
    assert!(condition(&waiting, "PodScheduled").unwrap().1.contains("untolerated taint {only: gpu}"));
    let tolerant =
        json!({ "nodeSelector": { "zone": "a" }, "tolerations": [{ "key": "only", "operator": "Exists" }] });
    create(&pods, pod("tolerant", "x", tolerant)).await;
    assert_eq!(node_of(&until(&pods, "tolerant", is_ready).await), "f1");
    t.stop().await;
}

#[tokio::test]
async fn preemption_follows_priority_and_policy() {
    let t = Test::fake().await;
    class(&t, "low", -10, "PreemptLowerPriority").await;
    class(&t, "high", 1000, "PreemptLowerPriority").await;
    class(&t, "polite", 1000, "Never").await;
    let pods = t.pods();
    for i in 0..2 {
        create(&pods, gpu_pod(&format!("low{i}"), 8, "low")).await;
        until(&pods, &format!("low{i}"), is_ready).await;
    }
    create(&pods, gpu_pod("polite", 8, "polite")).await;
    let waiting = until(&pods, "polite", unschedulable).await;
    assert!(condition(&waiting, "PodScheduled").unwrap().1.contains("preemptionPolicy=Never"));
    assert_eq!(pods.list(&Default::default()).await.unwrap().items.len(), 3);
    pods.delete("polite", &DeleteParams::default()).await.unwrap();
    create(&pods, gpu_pod("high", 8, "high")).await;
    until(&pods, "high", is_ready).await;
    let left = pods.list(&Default::default()).await.unwrap().items;
    assert_eq!(left.iter().filter(|p| p.name_any().starts_with("low")).count(), 1);
    t.stop().await;
}

async fn bind(t: &Test, name: &str, node: &str) {
    let body = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": { "name": name }, "target": { "kind": "Node", "name": node },
    });
    let (pods, params) = (t.pods(), PostParams::default());
    pods.create_subresource::<Value, Value>("binding", name, &params, &body).await.unwrap();
}

#[tokio::test]
async fn a_pod_that_no_scheduler_can_place_keeps_its_nomination_until_it_is_bound() {
    let t = Test::fake().await;
    class(&t, "middle", 10, "Never").await;
    class(&t, "instance", 1_000_000, "Never").await;
    let pods = t.pods();
    for i in 0..2 {
        create(&pods, gpu_pod(&format!("unit{i}"), 8, "")).await;
    }
    let node = node_of(&until(&pods, "unit0", is_ready).await);
    until(&pods, "unit1", is_ready).await;
    create(&pods, gpu_pod("thief", 8, "middle")).await;
    until(&pods, "thief", unschedulable).await;
    let mut successor = gpu_pod("successor", 8, "instance");
    successor["spec"]["topologySpreadConstraints"] =
        json!([{ "maxSkew": 1, "topologyKey": "nowhere", "whenUnsatisfiable": "DoNotSchedule" }]);
    create(&pods, successor).await;
    let waiting = until(&pods, "successor", unschedulable).await;
    let message = condition(&waiting, "PodScheduled").unwrap().1;
    assert!(message.contains("2 node(s) didn't match pod topology spread constraints"), "{message}");
    let nominate = Patch::Merge(json!({ "status": { "nominatedNodeName": node } }));
    pods.patch_status("successor", &PatchParams::default(), &nominate).await.unwrap();
    pods.delete("unit0", &DeleteParams::default()).await.unwrap();
    // the scheduler has seen the free place when it places a pod that needs none
    create(&pods, pod("small", "x", json!({}))).await;
    until(&pods, "small", is_ready).await;
    for name in ["successor", "thief"] {
        assert_eq!(node_of(&pods.get(name).await.unwrap()), "", "{name}");
    }
    bind(&t, "successor", &node).await;
    assert_eq!(node_of(&until(&pods, "successor", is_ready).await), node);
    t.stop().await;
}

/// A full cluster of two nodes, with a thief that waits for a place and may be tried at any moment. Returns the node of
/// `unit0`, and the successor that waits for it, nominated and tried.
async fn with_thief(t: &Test) -> String {
    class(t, "middle", 10, "Never").await;
    class(t, "instance", 1_000_000, "Never").await;
    let pods = t.pods();
    for i in 0..2 {
        create(&pods, gpu_pod(&format!("unit{i}"), 8, "")).await;
        until(&pods, &format!("unit{i}"), is_ready).await;
    }
    let tried = Instant::now();
    create(&pods, gpu_pod("thief", 8, "middle")).await;
    until(&pods, "thief", unschedulable).await;
    testkit::eventually("its backoff is over", async || {
        (tried.elapsed() > Duration::from_secs(2)).then_some(())
    })
    .await;
    node_of(&pods.get("unit0").await.unwrap())
}

/// A pod of the highest class that the scheduler does not place, nominated for the node.
async fn successor(t: &Test, name: &str, node: &str) {
    let pods = t.pods();
    let mut successor = gpu_pod(name, 8, "instance");
    successor["spec"]["topologySpreadConstraints"] =
        json!([{ "maxSkew": 1, "topologyKey": "nowhere", "whenUnsatisfiable": "DoNotSchedule" }]);
    create(&pods, successor).await;
    let nominate = Patch::Merge(json!({ "status": { "nominatedNodeName": node } }));
    pods.patch_status(name, &PatchParams::default(), &nominate).await.unwrap();
}

fn at_once() -> DeleteParams {
    DeleteParams::default().grace_period(0)
}

/// As with client-go: for a moment the scheduler knows neither the pod that is gone nor the one that is new.
#[tokio::test]
async fn a_scheduler_that_lists_again_learns_first_what_is_gone() {
    let t = Test::with(|c| {
        c.nodes.extend(["f1", "f2"].map(|n| NodeConfig::fake(n).extended("nvidia.com/gpu", 8)));
        c.scheduler_reconnect_ms = 2000;
    })
    .await;
    let node = with_thief(&t).await;
    t.cluster().stop_part(&Part::ApiServer);
    t.cluster().start_part(&Part::ApiServer).await;
    let pods = t.pods();
    successor(&t, "successor", &node).await;
    pods.delete("unit0", &at_once()).await.unwrap();
    bind(&t, "successor", &node).await;
    assert_eq!(node_of(&until(&pods, "thief", |pod| !node_of(pod).is_empty()).await), node);
    t.stop().await;
}

/// A successor that the scheduler has seen is protected by its nomination.
#[tokio::test]
async fn a_scheduler_that_lists_again_remembers_nominations() {
    let t = Test::with(|c| {
        c.nodes.extend(["f1", "f2"].map(|n| NodeConfig::fake(n).extended("nvidia.com/gpu", 8)));
        c.scheduler_reconnect_ms = 2000;
    })
    .await;
    let node = with_thief(&t).await;
    let pods = t.pods();
    successor(&t, "successor", &node).await;
    until(&pods, "successor", unschedulable).await;
    t.cluster().stop_part(&Part::ApiServer);
    t.cluster().start_part(&Part::ApiServer).await;
    pods.delete("unit0", &at_once()).await.unwrap();
    bind(&t, "successor", &node).await;
    // the scheduler has listed again when it tries a new pod
    create(&pods, pod("small", "x", json!({}))).await;
    until(&pods, "small", is_ready).await;
    assert_eq!(node_of(&pods.get("thief").await.unwrap()), "");
    t.stop().await;
}

/// A cycle reads the nodes, then the nominations. A binding between the two reads is in neither.
#[tokio::test]
async fn a_cycle_does_not_see_a_binding_that_follows_its_look_at_the_nodes() {
    for guarded in [false, true] {
        let t = Test::with(|c| {
            c.nodes.extend(["f1", "f2"].map(|n| NodeConfig::fake(n).extended("nvidia.com/gpu", 8)));
            c.scheduler_cycle_ms = 300;
        })
        .await;
        let node = with_thief(&t).await;
        let pods = t.pods();
        if guarded {
            successor(&t, "guard", &node).await;
            until(&pods, "guard", unschedulable).await;
        }
        successor(&t, "successor", &node).await;
        until(&pods, "successor", unschedulable).await;
        pods.delete("unit0", &at_once()).await.unwrap();
        bind(&t, "successor", &node).await;
        create(&pods, pod("small", "x", json!({}))).await;
        until(&pods, "small", is_ready).await;
        let expected = if guarded { "" } else { &node };
        assert_eq!(node_of(&pods.get("thief").await.unwrap()), expected, "guarded: {guarded}");
        t.stop().await;
    }
}

#[tokio::test]
async fn a_kubelet_rejects_a_pod_that_does_not_fit() {
    let t = Test::fake().await;
    let pods = t.pods();
    for i in 0..2 {
        create(&pods, gpu_pod(&format!("full{i}"), 8, "")).await;
    }
    let node = node_of(&until(&pods, "full0", is_ready).await);
    until(&pods, "full1", is_ready).await;
    create(&pods, gpu_pod("more", 1, "")).await;
    bind(&t, "more", &node).await;
    let status = |pod: &Pod| pod.status.clone().unwrap_or_default();
    let rejected = until(&pods, "more", |pod| status(pod).phase.as_deref() == Some("Failed")).await;
    assert_eq!(status(&rejected).reason.as_deref(), Some("OutOfnvidia.com/gpu"));
    assert!(is_ready(&pods.get("full0").await.unwrap()));
    t.stop().await;
}

/// The hand-off on which stock relies: a nominated pod takes the place of the placeholder that is deleted for it,
/// while pods of a priority class in between wait for the same resources.
#[tokio::test]
async fn a_nominated_pod_keeps_its_place_against_waiting_pods() {
    let t = Test::fake().await;
    class(&t, "placeholder", -1000, "PreemptLowerPriority").await;
    class(&t, "middle", 10, "Never").await;
    class(&t, "instance", 1_000_000, "Never").await;
    let pods = t.pods();
    for i in 0..16 {
        create(&pods, gpu_pod(&format!("unit{i}"), 1, "placeholder")).await;
    }
    for i in 0..16 {
        until(&pods, &format!("unit{i}"), is_ready).await;
    }
    for i in 0..8 {
        create(&pods, gpu_pod(&format!("thief{i}"), 1, "middle")).await;
    }
    until(&pods, "thief7", unschedulable).await;
    // all at once: each is tried again only after a second
    let hand_off = async |i: usize| {
        let node = node_of(&pods.get(&format!("unit{i}")).await.unwrap());
        let name = format!("inst{i}");
        create(&pods, gpu_pod(&name, 1, "instance")).await;
        let nominate = Patch::Merge(json!({ "status": { "nominatedNodeName": node } }));
        pods.patch_status(&name, &PatchParams::default(), &nominate).await.unwrap();
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        pods.delete(&format!("unit{i}"), &at_once).await.unwrap();
        assert_eq!(node_of(&until(&pods, &name, is_ready).await), node);
    };
    futures::future::join_all((0..16).map(hand_off)).await;
    for i in 0..8 {
        assert!(unschedulable(&pods.get(&format!("thief{i}")).await.unwrap()));
    }
    t.stop().await;
}

#[tokio::test]
async fn a_thousand_pods_are_scheduled() {
    let t = Test::with(|c| {
        for i in 0..125 {
            c.nodes.push(atelier_devcluster::NodeConfig::fake(format!("f{i}")).extended("nvidia.com/gpu", 8));
        }
    })
    .await;
    let pods = t.pods();
    for i in 0..1000 {
        create(&pods, gpu_pod(&format!("p{i}"), 1, "")).await;
    }
    for i in 0..1000 {
        until(&pods, &format!("p{i}"), is_ready).await;
    }
    t.stop().await;
}

#[tokio::test]
async fn a_claim_holds_a_device_for_the_pods_that_share_it() {
    let t = Test::fake().await;
    let classes: Api<DeviceClass> = Api::all(t.client.clone());
    let slices: Api<ResourceSlice> = Api::all(t.client.clone());
    let claims: Api<ResourceClaim> = t.api();
    let pods = t.pods();
    let selectors = json!([{ "cel": { "expression": "device.driver == 'gpu.x.dev'" } }]);
    create(&classes, json!({ "metadata": { "name": "gpu" }, "spec": { "selectors": selectors } })).await;
    let device =
        |name: &str, model: &str| json!({ "name": name, "attributes": { "model": { "string": model } } });
    let slice = json!({
        "metadata": { "name": "f2-gpus" },
        "spec": { "driver": "gpu.x.dev", "nodeName": "f2", "pool": { "name": "f2", "generation": 1, "resourceSliceCount": 1 },
            "devices": [device("g0", "3080"), device("g1", "4090")] },
    });
    create(&slices, slice).await;
    let claim = |name: &str, model: &str| {
        let model = format!("device.attributes['gpu.x.dev'].model == '{model}'");
        json!({ "metadata": { "name": name }, "spec": { "devices": { "requests": [
            { "name": "gpu", "exactly": { "deviceClassName": "gpu", "selectors": [{ "cel": { "expression": model } }] } }] } } })
    };
    let user = |name: &str, claim: &str| {
        pod(name, "x", json!({ "resourceClaims": [{ "name": "g", "resourceClaimName": claim }] }))
    };
    create(&pods, user("placeholder", "mine")).await;
    let waiting = until(&pods, "placeholder", unschedulable).await;
    assert!(condition(&waiting, "PodScheduled").unwrap().1.contains("resourceclaim \"mine\" not found"));
    create(&claims, claim("mine", "4090")).await;
    assert_eq!(node_of(&until(&pods, "placeholder", is_ready).await), "f2");
    let status = claims.get("mine").await.unwrap().status.unwrap();
    assert_eq!(status.allocation.unwrap().devices.unwrap().results.unwrap()[0].device, "g1");

    // the next pod of the claim takes the same device; a second claim finds none
    create(&pods, user("instance", "mine")).await;
    assert_eq!(node_of(&until(&pods, "instance", is_ready).await), "f2");
    create(&claims, claim("other", "4090")).await;
    create(&pods, user("thief", "other")).await;
    let waiting = until(&pods, "thief", unschedulable).await;
    assert!(condition(&waiting, "PodScheduled").unwrap().1.contains("2 cannot allocate all claims"));
    pods.delete("placeholder", &DeleteParams::default()).await.unwrap();
    until(&claims, "mine", |c| {
        c.status.as_ref().unwrap().reserved_for.as_ref().is_some_and(|r| r.len() == 1)
    })
    .await;
    assert!(unschedulable(&pods.get("thief").await.unwrap()));
    pods.delete("instance", &DeleteParams::default()).await.unwrap();
    until(&pods, "thief", is_ready).await;
    t.stop().await;
}

/// A reservation for an object other than a pod keeps a claim allocated when its pods are gone. A deleted claim remains until
/// that reservation is removed too.
#[tokio::test]
async fn a_claim_reserved_for_something_else_stays_allocated() {
    let t = Test::fake().await;
    let classes: Api<DeviceClass> = Api::all(t.client.clone());
    let slices: Api<ResourceSlice> = Api::all(t.client.clone());
    let claims: Api<ResourceClaim> = t.api();
    let pods = t.pods();
    create(&classes, json!({ "metadata": { "name": "gpu" }, "spec": {} })).await;
    let slice = json!({
        "metadata": { "name": "f1-gpus" },
        "spec": { "driver": "gpu.x.dev", "nodeName": "f1", "devices": [{ "name": "g0" }], "pool": { "name": "f1", "generation": 1, "resourceSliceCount": 1 } },
    });
    create(&slices, slice).await;
    let claim = |name: &str| json!({ "metadata": { "name": name }, "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu" } }] } } });
    let user = |name: &str, claim: &str| {
        pod(name, "x", json!({ "resourceClaims": [{ "name": "g", "resourceClaimName": claim }] }))
    };
    let reserve = |users: serde_json::Value| json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": "mine" }, "status": { "reservedFor": users } });
    let unit = json!([{ "apiGroup": "atelier.dev", "resource": "gpuunits", "name": "u", "uid": "u1" }]);
    let apply = PatchParams::apply("unit").force();
    create(&claims, claim("mine")).await;
    let early = claims.patch_status("mine", &apply, &Patch::Apply(reserve(unit.clone()))).await;
    assert_eq!(failure(early).0, 422, "it has no devices yet");
    create(&pods, user("first", "mine")).await;
    until(&pods, "first", is_ready).await;
    claims.patch_status("mine", &apply, &Patch::Apply(reserve(unit))).await.unwrap();
    create(&claims, claim("other")).await;
    create(&pods, user("thief", "other")).await;
    until(&pods, "thief", unschedulable).await;
    pods.delete("first", &DeleteParams::default()).await.unwrap();
    let users = |c: &ResourceClaim| c.status.clone().unwrap().reserved_for.unwrap_or_default().len();
    let alone = until(&claims, "mine", |c| users(c) == 1).await;
    assert!(alone.status.unwrap().allocation.is_some());
    assert!(unschedulable(&pods.get("thief").await.unwrap()));

    claims.delete("mine", &DeleteParams::default()).await.unwrap();
    let joins = json!([{ "resource": "pods", "name": "late", "uid": "p9" }]);
    let late = claims.patch_status("mine", &PatchParams::apply("late"), &Patch::Apply(reserve(joins))).await;
    assert_eq!(failure(late).0, 422, "it is being deleted");
    claims.patch_status("mine", &apply, &Patch::Apply(reserve(json!([])))).await.unwrap();
    gone(&claims, "mine").await;
    until(&pods, "thief", is_ready).await;
    t.stop().await;
}
