//! Units with claimed devices (dynamic resource allocation).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crds::{GpuUnitStatus, UnitState, names};
use futures::future::join_all;
use k8s_openapi::api::core::v1::{Namespace, Node, ResourceQuota};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use testkit::eventually;

use crate::devices::{Ledger, devices_of};
use crate::lab::{Answer, Lab, is_idle, reason};
use crate::watches::response;

/// Identity and allocation of a claim.
fn held_by(claim: &ResourceClaim) -> (Option<String>, Value) {
    (claim.uid(), json!(claim.status.as_ref().unwrap().allocation))
}

fn restarted(status: &GpuUnitStatus) -> bool {
    status.state == UnitState::Running && status.instance.as_ref().is_some_and(|own| own.restart == 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_keeps_its_device_through_starts_restarts_and_stops() {
    let lab = Lab::with_devices(2, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    let held = lab.held_with_devices(0).await;
    let ledger = Ledger::open(&lab).await;
    let first = held_by(&lab.claim(0).await);
    for attempt in [1, 2] {
        lab.set_instance(0, Some(lab.instance(0, attempt))).await;
        let running = lab.running(0, attempt).await;
        let own = running.instance.unwrap();
        assert_eq!((running.node, own.namespace), (held.node.clone(), lab.unit_name(0)));
        assert_eq!(running.gpu_uuids, held.gpu_uuids);
        lab.patch(0, &json!({"spec": {"instance": {"restart": 1}}})).await;
        let again = lab.until(0, "restarted", restarted).await;
        assert_eq!(again.node, held.node);
        lab.set_instance(0, None).await;
        let back = lab.held_with_devices(0).await;
        assert_eq!((&back.node, &back.gpu_uuids), (&held.node, &held.gpu_uuids));
        assert_eq!(held_by(&lab.claim(0).await), first);
    }
    assert_eq!(ledger.close().of(&lab.unit_name(0)), [[held.gpu_uuids].into()], "it never let go");
    lab.end_devices(operator, 1).await;
}

/// As many units as devices are started and stopped at once, while thieves want every device that is free for a moment.
/// Every third start is withdrawn during the hand-off.
#[tokio::test(flavor = "multi_thread")]
async fn no_device_is_stolen_while_units_start_and_stop() {
    const UNITS: usize = 20;
    let rounds = testkit::budget(3, 10);
    let lab = Lab::with_devices(4, UNITS / 4).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(UNITS).await;
    for n in 0..UNITS {
        lab.held(n).await;
    }
    let ledger = Ledger::open(&lab).await;
    lab.device_thieves(12).await;
    let lives = (0..UNITS).map(|n| {
        let lab = &lab;
        async move {
            let place = lab.held(n).await;
            let claim = held_by(&lab.claim(n).await);
            for attempt in 1..=rounds {
                lab.set_instance(n, Some(lab.instance(n, attempt))).await;
                let started = if attempt % 3 == 0 {
                    lab.until(n, "began to start", |status| status.instance.is_some()).await
                } else {
                    lab.running(n, attempt).await
                };
                assert_eq!(started.last_failure, None);
                lab.set_instance(n, None).await;
                let back = lab.held(n).await;
                assert_eq!(
                    (&back.node, &back.gpu_uuids),
                    (&place.node, &place.gpu_uuids),
                    "unit {n}, round {attempt}"
                );
            }
            assert_eq!(held_by(&lab.claim(n).await), claim);
        }
    });
    join_all(lives).await;
    assert_eq!(lab.stolen().await, 0, "a thief got in");
    let seen = ledger.close();
    let thefts = seen.of("default");
    assert!(thefts.iter().flatten().all(Vec::is_empty), "a thief had devices: {thefts:?}");
    for n in 0..UNITS {
        let own = lab.status(n).await.gpu_uuids;
        assert_eq!(seen.of(&lab.unit_name(n)), [[own].into()], "unit {n} let its device go");
    }
    lab.end_devices(operator, UNITS).await;
}

/// A start fails after its pod was bound: on a cluster with kubelets because the node runs no pods, on the development
/// cluster because the image does not exist.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_start_returns_the_place_with_its_device() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    let mut unit = lab.dra_unit(0);
    if lab.is_dev() {
        lab.add_devices("real-0", 1).await;
        unit["spec"]["nodeSelector"] = json!({"atelier.dev/real": "true"});
    }
    lab.create(unit).await;
    let held = lab.held_with_devices(0).await;
    let claim = held_by(&lab.claim(0).await);
    let ledger = Ledger::open(&lab).await;
    let mut instance = lab.instance(0, 1);
    instance["startTimeoutSeconds"] = json!(3);
    if lab.is_dev() {
        instance["image"] = json!("registry.invalid/nothing:1");
    } else {
        plays(&lab, false).await;
    }
    lab.set_instance(0, Some(instance)).await;
    lab.until(0, "failed", |status| status.last_failure.is_some()).await;
    if !lab.is_dev() {
        plays(&lab, true).await;
    }
    let failed = lab.held_with_devices(0).await;
    assert_eq!((failed.state, &failed.node), (UnitState::Init, &held.node));
    assert_eq!(held_by(&lab.claim(0).await), claim);
    let expected = if lab.is_dev() { "ImagePullFailed" } else { "StartTimeout" };
    assert_eq!(failed.last_failure.unwrap().reason, expected);

    // a pod that is rejected at its creation
    lab.patch(0, &json!({"spec": {"instance": null}})).await;
    lab.held(0).await;
    let mut twice = lab.instance(0, 2);
    twice["volumes"] = json!([{"name": "a", "mountPath": "/x"}, {"name": "b", "mountPath": "/x"}]);
    lab.set_instance(0, Some(twice)).await;
    let refused = |status: &GpuUnitStatus| {
        is_idle(status)
            && status.last_failure.as_ref().is_some_and(|failure| failure.reason == "InvalidTemplate")
    };
    lab.until(0, "was refused", refused).await;
    assert_eq!(held_by(&lab.claim(0).await), claim);
    assert_eq!(ledger.close().of(&lab.unit_name(0)), [[held.gpu_uuids].into()]);
    lab.end_devices(operator, 1).await;
}

/// Switches whether pods run on fake nodes.
async fn plays(lab: &Lab, on: bool) {
    let nodes: Api<Node> = Api::all(lab.client.clone());
    let label = json!({"metadata": {"labels": {"atelier.dev/fake": if on { "true" } else { "no" }}}});
    nodes.patch(&lab.node_name(0), &PatchParams::default(), &Patch::Merge(&label)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_unit_without_its_node_gets_a_device_of_another() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    lab.held_with_devices(0).await;
    let before = lab.claim(0).await;
    lab.add_node(1, 0).await;
    lab.add_devices(&lab.node_name(1), 1).await;
    let nodes: Api<Node> = Api::all(lab.client.clone());
    nodes.delete(&lab.node_name(0), &DeleteParams::default()).await.unwrap();
    let moved = lab
        .until(0, "moved", |status| is_idle(status) && status.node.as_deref() == Some(&lab.node_name(1)))
        .await;
    let after = lab.claim(0).await;
    assert_ne!(after.uid(), before.uid());
    assert_eq!(moved.gpu_uuids, devices_of(&after));
    only_claim(&lab, 0, &after).await;
    lab.end_devices(operator, 1).await;
}

/// Waits until the unit has no other claim.
async fn only_claim(lab: &Lab, n: usize, claim: &ResourceClaim) {
    eventually("the claim let go is gone", async || {
        let all = lab.claims(n).list(&ListParams::default()).await.unwrap().items;
        (all.len() == 1 && all[0].uid() == claim.uid()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_unit_on_a_cordoned_node_keeps_its_device_until_it_has_another() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    lab.held(0).await;
    let before = lab.claim(0).await;
    let nodes: Api<Node> = Api::all(lab.client.clone());
    let cordon = json!({"spec": {"unschedulable": true}});
    nodes.patch(&lab.node_name(0), &PatchParams::default(), &Patch::Merge(&cordon)).await.unwrap();
    lab.until(0, "became inactive", |status| reason(status, names::CONDITION_HELD) == "NodeCordoned").await;
    assert_eq!(held_by(&lab.claim(0).await), held_by(&before));
    lab.add_node(1, 0).await;
    lab.add_devices(&lab.node_name(1), 1).await;
    let moved = lab.held(0).await;
    assert_eq!(moved.node, Some(lab.node_name(1)));
    let after = lab.claim(0).await;
    only_claim(&lab, 0, &after).await;
    lab.end_devices(operator, 1).await;
}

/// A deleted placeholder is created again for its device. If the node has no resources left for it, the claim is released.
#[tokio::test(flavor = "multi_thread")]
async fn a_unit_whose_node_is_full_gets_another_device() {
    let lab = Lab::with_devices(2, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    let held = lab.held(0).await;
    let claim = lab.claim(0).await;
    let pods: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(lab.client.clone(), &lab.unit_name(0));
    let at_once = DeleteParams::default().grace_period(0);
    let placeholder = lab.pods(0).await.remove(0);
    pods.delete(&placeholder.name_any(), &at_once).await.unwrap();
    eventually("there is another placeholder", async || {
        lab.pods(0).await.into_iter().find(|pod| pod.uid() != placeholder.uid())
    })
    .await;
    assert_eq!(lab.held(0).await.node, held.node);
    assert_eq!(held_by(&lab.claim(0).await), held_by(&claim));

    let nodes: Api<Node> = Api::all(lab.client.clone());
    let full = json!({"status": {"allocatable": {"cpu": "10m"}, "capacity": {"cpu": "10m"}}});
    let node = held.node.clone().unwrap();
    nodes.patch_status(&node, &PatchParams::default(), &Patch::Merge(&full)).await.unwrap();
    eventually("the placeholder is deleted, whichever it is by now", async || {
        let placeholder = lab.pods(0).await.pop()?;
        pods.delete(&placeholder.name_any(), &at_once).await.ok().map(drop)
    })
    .await;
    let moved = lab.until(0, "moved", |status| is_idle(status) && status.node != held.node).await;
    let after = lab.claim(0).await;
    assert_ne!(after.uid(), claim.uid());
    assert_eq!(moved.gpu_uuids, devices_of(&after));
    only_claim(&lab, 0, &after).await;
    lab.end_devices(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_with_changed_requests_gets_another_device() {
    let lab = Lab::with_devices(1, 2).await;
    let operator = lab.operator("one", None).await;
    let model = |model: &str| {
        let selector = format!("device.attributes['gpu.test.atelier.dev'].model == '{model}'");
        json!({"spec": {"gpu": {"allocation": {"selectors": [selector]}}}})
    };
    let mut unit = lab.dra_unit(0);
    unit["spec"]["gpu"]["allocation"]["selectors"] =
        model("3080")["spec"]["gpu"]["allocation"]["selectors"].clone();
    lab.create(unit).await;
    let small = lab.held_with_devices(0).await;
    assert!(small.gpu_uuids[0].ends_with("/gpu-0"), "{:?}", small.gpu_uuids);
    lab.patch(0, &model("4090")).await;
    let large =
        lab.until(0, "changed", |status| is_idle(status) && status.gpu_uuids != small.gpu_uuids).await;
    assert!(large.gpu_uuids[0].ends_with("/gpu-1"), "{:?}", large.gpu_uuids);
    only_claim(&lab, 0, &lab.claim(0).await).await;

    lab.patch(0, &json!({"spec": {"gpu": {"allocation": {"selectors": ["no such thing"]}}}})).await;
    let wrong = lab
        .until(0, "has a condition", |status| reason(status, names::CONDITION_HELD) == "InvalidSpec")
        .await;
    assert!(!wrong.is_held());
    lab.patch(0, &model("3080")).await;
    lab.held_with_devices(0).await;
    lab.end_devices(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_claim_is_created_again_and_its_instance_continues() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    lab.held_with_devices(0).await;
    let first = lab.claim(0).await;
    lab.claims(0).delete(&first.name_any(), &DeleteParams::default()).await.unwrap();
    let second = other_claim(&lab, &first).await;
    lab.held_with_devices(0).await;

    // by force: without its finalizers
    let free = json!({"metadata": {"finalizers": null}});
    let api = lab.claims(0);
    api.delete(&second.name_any(), &DeleteParams::default()).await.unwrap();
    api.patch(&second.name_any(), &PatchParams::default(), &Patch::Merge(&free)).await.ok();
    let third = other_claim(&lab, &second).await;
    lab.held_with_devices(0).await;

    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let running = lab.running(0, 1).await;
    api.delete(&third.name_any(), &DeleteParams::default()).await.unwrap();
    // the unit is reconciled meanwhile
    lab.patch(0, &json!({"spec": {"datacenter": "elsewhere"}})).await;
    let on = lab.running(0, 1).await;
    assert_eq!((on.instance, on.last_run), (running.instance, None));
    assert_eq!(devices_of(&api.get(&third.name_any()).await.unwrap()), on.gpu_uuids);
    lab.set_instance(0, None).await;
    lab.held_with_devices(0).await;
    let fourth = other_claim(&lab, &third).await;
    only_claim(&lab, 0, &fourth).await;
    lab.end_devices(operator, 1).await;
}

/// Waits until the unit has another claim, and returns it.
async fn other_claim(lab: &Lab, than: &ResourceClaim) -> ResourceClaim {
    eventually("there is another claim", async || {
        let claim = lab.claim(0).await;
        (claim.uid() != than.uid()).then_some(claim)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_unit_leaves_nothing_behind_even_without_its_finalizer() {
    let lab = Lab::with_devices(1, 3).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(3).await;
    for n in 0..3 {
        lab.held(n).await;
    }
    lab.set_instance(2, Some(lab.instance(2, 1))).await;
    lab.running(2, 1).await;
    lab.units().delete(&lab.unit_name(0), &DeleteParams::default()).await.unwrap();
    for n in [1, 2] {
        lab.patch(n, &json!({"metadata": {"finalizers": null}})).await;
        lab.units().delete(&lab.unit_name(n), &DeleteParams::default()).await.unwrap();
        // the operator may have added it again in between
        lab.units()
            .patch(
                &lab.unit_name(n),
                &PatchParams::default(),
                &Patch::Merge(json!({"metadata": {"finalizers": null}})),
            )
            .await
            .ok();
    }
    for n in 0..3 {
        lab.nothing_is_left(n).await;
    }
    // the devices are free again, also for units of the same names
    lab.create_dra_units(3).await;
    for n in 0..3 {
        lab.held_with_devices(n).await;
    }
    lab.end_devices(operator, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_unit_namespace_is_created_again() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    lab.held(0).await;
    let namespaces: Api<Namespace> = Api::all(lab.client.clone());
    let before = namespaces.get(&lab.unit_name(0)).await.unwrap();
    namespaces.delete(&lab.unit_name(0), &DeleteParams::default()).await.unwrap();
    eventually("another namespace exists", async || {
        let found = namespaces.get_opt(&lab.unit_name(0)).await.unwrap()?;
        (found.uid() != before.uid()).then_some(())
    })
    .await;
    lab.held_with_devices(0).await;
    lab.end_devices(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_namespace_is_isolated_like_a_tenants() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    lab.held(0).await;
    let home = lab.unit_name(0);
    let namespaces: Api<Namespace> = Api::all(lab.client.clone());
    let namespace = namespaces.get(&home).await.unwrap();
    assert_eq!(namespace.labels()["pod-security.kubernetes.io/enforce"], "restricted");
    assert_eq!(namespace.owner_references()[0].name, home);
    let policies: Api<NetworkPolicy> = Api::namespaced(lab.client.clone(), &home);
    let found = policies.list(&ListParams::default()).await.unwrap();
    let mut found: Vec<_> = found.iter().map(|policy| policy.name_any()).collect();
    found.sort();
    assert_eq!(found, ["default-deny", "from-gateway", "to-internet"]);
    let quotas: Api<ResourceQuota> = Api::namespaced(lab.client.clone(), &home);
    assert_eq!(quotas.list(&ListParams::default()).await.unwrap().items.len(), 1);
    policies.delete("default-deny", &DeleteParams::default()).await.unwrap();
    eventually("the policy is created again", async || policies.get_opt("default-deny").await.unwrap()).await;

    // the security level of one instance does not apply to the next
    let level =
        async || namespaces.get(&home).await.unwrap().labels()["pod-security.kubernetes.io/enforce"].clone();
    let mut root = lab.instance(0, 1);
    root["rootInside"] = json!(true);
    lab.set_instance(0, Some(root)).await;
    lab.until(0, "began to start", |status| status.instance.is_some()).await;
    assert_eq!(level().await, "baseline");
    lab.set_instance(0, None).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 2))).await;
    lab.running(0, 2).await;
    assert_eq!(level().await, "restricted");
    lab.end_devices(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_written_without_a_change() {
    let lab = Lab::with_devices(1, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(2).await;
    lab.held(0).await;
    lab.held(1).await;
    lab.set_instance(1, Some(lab.instance(1, 1))).await;
    lab.running(1, 1).await;
    let count = |counter: &AtomicU64| counter.load(Ordering::SeqCst);
    let renewals = count(&operator.counts.renewals);
    eventually("the last Events are written", async || {
        (count(&operator.counts.renewals) >= renewals + 2).then_some(())
    })
    .await;
    let writes = || count(&operator.counts.writes);
    let before = writes();
    // the operator reconciles both again
    for n in 0..2 {
        lab.patch(n, &json!({"metadata": {"labels": {"atelier.test/seen": "again"}}})).await;
    }
    lab.patch(0, &json!({"spec": {"datacenter": "elsewhere"}})).await;
    lab.held(0).await;
    assert!(writes() - before <= 1, "{} writes besides the status of the changed unit", writes() - before);
    lab.end_devices(operator, 2).await;
}

/// A cluster does not serve claims: units that need them report it, all others work.
#[tokio::test(flavor = "multi_thread")]
async fn on_an_older_cluster_a_unit_reports_what_to_do() {
    let lab = Lab::with_devices(1, 1).await;
    let mut ordinary = lab.dra_unit(1);
    ordinary["spec"]["gpu"] =
        json!({"model": "none", "count": 0, "allocation": {"kind": "device", "resource": "nvidia.com/gpu"}});
    let older: Answer = Arc::new(|request| {
        let missing = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
        request.uri().path().starts_with("/apis/resource.k8s.io/").then(|| response(404, &missing))
    });
    let operator = lab.operator_behind("one", older).await;
    lab.create_dra_units(1).await;
    lab.create(ordinary).await;
    lab.held(1).await;
    let status =
        lab.until(0, "has a condition", |status| status.condition(names::CONDITION_HELD).is_some()).await;
    assert_eq!(reason(&status, names::CONDITION_HELD), "UnsupportedAllocation");
    assert!(status.condition(names::CONDITION_HELD).unwrap().message.contains("kind device"));
    lab.end_devices(operator, 2).await;
}
