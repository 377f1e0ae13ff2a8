//! Outages of parts of the cluster, while thieves wait for every GPU: each place is kept.

use std::time::Duration;

use crds::names;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use testkit::eventually;

use crate::lab::{Lab, Running, reason};
use crate::outage::Part;

/// The GPUs of the node that runs processes.
const UNITS: usize = 8;

/// Long enough for a thief to be tried again: longer than the scheduler's longest backoff on a real cluster.
const OUTAGE: (Duration, Duration) = (Duration::from_secs(4), Duration::from_secs(20));

/// Units on all GPUs of the node that runs processes, and thieves that wait for them.
async fn full_node(lab: &Lab) -> (Running, Vec<Option<String>>) {
    let operator = lab.operator("one", None).await;
    let mut places = Vec::new();
    for n in 0..UNITS {
        lab.create_real_unit(n).await;
        places.push(lab.held(n).await.node);
    }
    lab.real_thieves(4).await;
    lab.thieves_are_alert().await;
    assert_eq!(lab.stolen().await, 0, "the units use the whole node");
    (operator, places)
}

/// Waits until all units hold their old places, idle.
async fn all_held(lab: &Lab, places: &[Option<String>]) {
    let held = join_all((0..places.len()).map(|n| lab.held(n))).await;
    for (n, (status, place)) in held.iter().zip(places).enumerate() {
        assert_eq!(&status.node, place, "unit {n} has moved:\n{}", lab.events(n).await);
    }
    assert_eq!(lab.stolen().await, 0, "a thief got a place");
}

/// The uid of each unit's only pod.
async fn uids(lab: &Lab, units: usize) -> Vec<String> {
    let mut uids = Vec::new();
    for n in 0..units {
        let pods = lab.pods(n).await;
        assert_eq!(pods.len(), 1, "{pods:#?}");
        uids.push(pods[0].uid().unwrap());
    }
    uids
}

/// Half of the units start and the other half stop when the API server goes away, at different moments of the hand-off. The
/// scheduler lists again long after the operator.
#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_api_server_costs_no_place() {
    let lab = Lab::with(0, 0, |config| config.scheduler_reconnect_ms = 5000).await;
    if !lab.can_stop_parts() {
        return;
    }
    let (operator, places) = full_node(&lab).await;
    for (round, delay) in [0, 40, 400].into_iter().enumerate() {
        let attempt = i64::try_from(round).unwrap() + 1;
        let patient = |n| {
            let mut instance = lab.instance(n, attempt);
            // the parts of a real cluster may need minutes to find each other again
            instance["startTimeoutSeconds"] = json!(600);
            instance
        };
        let (stopping, starting): (Vec<_>, Vec<_>) = (0..UNITS).partition(|n| n % 2 == 0);
        for n in stopping.iter().copied() {
            lab.set_instance(n, Some(patient(n))).await;
        }
        join_all(stopping.iter().map(|n| lab.running(*n, attempt))).await;
        for n in 0..UNITS {
            let instance = starting.contains(&n).then(|| patient(n));
            lab.set_instance(n, instance).await;
        }
        tokio::time::sleep(Duration::from_millis(delay)).await;
        lab.stop(Part::ApiServer).await.lasts(OUTAGE.0, OUTAGE.1).await;
        for n in starting {
            let running = lab.running(n, attempt).await;
            assert_eq!(running.node, places[n], "unit {n}:\n{}", lab.events(n).await);
            lab.set_instance(n, None).await;
        }
        all_held(&lab, &places).await;
    }
    lab.end(operator, UNITS).await;
}

/// Instances start and stop while nothing is scheduled: a place is handed over without the scheduler. A unit that has none
/// yet is not reported as held.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_scheduler_costs_no_place() {
    let lab = Lab::new(0, 0).await;
    if !lab.can_stop_parts() {
        return;
    }
    let (operator, places) = full_node(&lab).await;
    let outage = lab.stop(Part::Scheduler).await;
    for attempt in 1..=2 {
        for (n, place) in places.iter().enumerate() {
            lab.set_instance(n, Some(lab.instance(n, attempt))).await;
            assert_eq!(&lab.running(n, attempt).await.node, place, "unit {n}:\n{}", lab.events(n).await);
        }
        for n in 0..UNITS {
            lab.set_instance(n, None).await;
        }
        all_held(&lab, &places).await;
    }
    lab.create_real_unit(UNITS).await;
    lab.until(UNITS, "looked for a place", |status| reason(status, names::CONDITION_HELD) == "Scheduling")
        .await;
    outage.end().await;
    lab.until(UNITS, "found none", |status| reason(status, names::CONDITION_HELD) == "Unschedulable").await;
    all_held(&lab, &places).await;
    lab.end(operator, UNITS + 1).await;
}

/// Until its pods are evicted, a node may return with all of them.
#[tokio::test(flavor = "multi_thread")]
async fn idle_units_keep_their_placeholders_while_a_kubelet_is_silent() {
    // one node of three: the others stay ready
    let lab = Lab::with(2, 1, |config| {
        config.node_grace_seconds = 2;
        config.eviction_seconds = 60;
    })
    .await;
    if !lab.can_stop_parts() {
        return;
    }
    let (operator, places) = full_node(&lab).await;
    let before = uids(&lab, UNITS).await;
    let outage = lab.stop(Part::Kubelet).await;
    for n in 0..UNITS {
        is_lost(&lab, n).await;
    }
    for (n, uid) in before.iter().enumerate() {
        assert!(lab.pods(n).await.iter().any(|pod| pod.uid().as_ref() == Some(uid)), "unit {n}");
    }
    outage.lasts(Duration::from_secs(3), Duration::from_secs(20)).await;
    all_held(&lab, &places).await;
    eventually("only the placeholders are left", async || {
        let pods = join_all((0..UNITS).map(|n| lab.pods(n))).await;
        pods.iter().all(|pods| pods.len() == 1).then_some(())
    })
    .await;
    // a real kubelet rejects all pods when it starts before its device plugin: their places are taken back
    if lab.is_dev() {
        assert_eq!(uids(&lab, UNITS).await, before);
    }
    lab.end(operator, UNITS).await;
}

/// A real node controller waits for most of a minute.
async fn is_lost(lab: &Lab, n: usize) {
    within(Duration::from_secs(120), "the unit is reported as lost", async || {
        let status = lab.status(n).await;
        (!status.is_held() && reason(&status, names::CONDITION_HELD) == "NodeLost").then_some(())
    })
    .await;
}

/// After the API server was away for longer than nodes may be silent, all of them are not ready until their kubelets have
/// reported. No unit moves, although other nodes have room.
#[tokio::test(flavor = "multi_thread")]
async fn no_unit_moves_when_all_nodes_are_not_ready() {
    const UNITS: usize = 4;
    let lab = Lab::with(2, 4, |config| {
        config.node_grace_seconds = 1;
        config.reconnect_ms = 4000;
        config.eviction_seconds = 60;
    })
    .await;
    if !lab.is_dev() {
        eprintln!("skipped: the heartbeats of a real cluster's nodes cannot be made to grow old");
        return;
    }
    let operator = lab.operator("one", None).await;
    lab.create_units(UNITS).await;
    let places: Vec<_> =
        join_all((0..UNITS).map(|n| lab.held(n))).await.into_iter().map(|s| s.node).collect();
    let before = uids(&lab, UNITS).await;
    lab.stop(Part::ApiServer).await.lasts(Duration::from_secs(3), Duration::ZERO).await;
    let ready_nodes = async || {
        let nodes: Api<Node> = Api::all(lab.client.clone());
        let nodes = nodes.list(&ListParams::default()).await.unwrap();
        let ready = |node: &&Node| {
            let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
            conditions.is_some_and(|all| all.iter().any(|c| c.type_ == "Ready" && c.status == "True"))
        };
        nodes.iter().filter(ready).count()
    };
    eventually("no node is ready", async || (ready_nodes().await == 0).then_some(())).await;
    eventually("all nodes are ready", async || (ready_nodes().await == 3).then_some(())).await;
    all_held(&lab, &places).await;
    assert_eq!(uids(&lab, UNITS).await, before);
    lab.end(operator, UNITS).await;
}

/// The unit's pods cannot be known to have ended: they are no longer waited for once the node is lost.
#[tokio::test(flavor = "multi_thread")]
async fn units_on_a_dead_node_can_be_deleted() {
    // one node of three: when most are not ready, none counts as dead
    let lab = Lab::with(2, 1, |config| config.node_grace_seconds = 2).await;
    if !lab.can_stop_parts() {
        return;
    }
    let operator = lab.operator("one", None).await;
    for n in 0..3 {
        lab.create_real_unit(n).await;
        lab.held(n).await;
    }
    for n in 1..3 {
        lab.set_instance(n, Some(lab.instance(n, 1))).await;
        lab.running(n, 1).await;
    }
    let outage = lab.stop(Part::Kubelet).await;
    // one is being stopped when the node is lost, the others are deleted before anybody knows of it
    lab.set_instance(2, None).await;
    for n in 0..2 {
        lab.units().delete(&lab.unit_name(n), &DeleteParams::default()).await.unwrap();
    }
    let gone = async |n| {
        within(Duration::from_secs(120), "the unit is deleted", async || {
            lab.units().get_opt(&lab.unit_name(n)).await.unwrap().is_none().then_some(())
        })
        .await;
    };
    gone(0).await;
    gone(1).await;
    lab.until(2, "ended", |status| status.instance.is_none()).await;
    lab.units().delete(&lab.unit_name(2), &DeleteParams::default()).await.unwrap();
    gone(2).await;
    outage.end().await;
    lab.end(operator, 3).await;
}

/// A namespace gets its `default` service account from the controllers. The pods of tenants have one of their own.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_start_of_a_tenant_needs_no_controllers() {
    let lab = Lab::new(1, 1).await;
    if !lab.can_stop_parts() {
        return;
    }
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    let held = lab.held(0).await;
    let outage = lab.stop(Part::Controllers).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let running = lab.running(0, 1).await;
    assert_eq!((running.node, running.last_failure), (held.node, None));
    outage.end().await;
    lab.end(operator, 1).await;
}

/// Waits for longer than [`eventually`].
async fn within(limit: Duration, what: &str, mut poll: impl AsyncFnMut() -> Option<()>) {
    let poll = async {
        while poll().await.is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    assert!(tokio::time::timeout(limit, poll).await.is_ok(), "timed out after {limit:?}: {what}");
}
