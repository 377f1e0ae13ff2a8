//! The hand-off under contention.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use atelier_operator::controller::{Hook, Step, Verdict};
use crds::names;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, LogParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use testkit::eventually;

use crate::lab::{IMAGE, Lab, reason};

/// Twenty units are started and stopped again and again, all at once, while thieves of a class in between want every GPU
/// that is free for a moment. No place is lost and no unit is used twice. Every third start is withdrawn during the
/// hand-off.
#[tokio::test(flavor = "multi_thread")]
async fn no_place_is_stolen_in_many_starts_and_stops() {
    const UNITS: usize = 20;
    let rounds = testkit::budget(4, 10);
    let lab = Lab::new(4, 6).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(UNITS).await;
    for n in 0..UNITS {
        lab.held(n).await;
    }
    lab.thieves(12).await;
    testkit::eventually("every place is used", async || (lab.stolen().await == 24 - UNITS).then_some(()))
        .await;
    let lives = (0..UNITS).map(|n| {
        let lab = &lab;
        async move {
            let place = lab.held(n).await.node;
            for attempt in 1..=rounds {
                lab.set_instance(n, Some(lab.instance(n, attempt))).await;
                let started = if attempt % 3 == 0 {
                    lab.until(n, "started", |status| status.instance.is_some()).await
                } else {
                    lab.running(n, attempt).await
                };
                assert_eq!(started.last_failure, None);
                assert_eq!(started.node, place, "unit {n} started elsewhere in round {attempt}");
                lab.set_instance(n, None).await;
                let back = lab.held(n).await;
                assert_eq!(
                    back.node,
                    place,
                    "unit {n} lost its place in round {attempt}:\n{}",
                    lab.events(n).await
                );
            }
        }
    });
    join_all(lives).await;
    assert_eq!(lab.stolen().await, 24 - UNITS, "a thief got a place");
    lab.end(operator, UNITS).await;
}

/// A busy scheduler: what it has seen of the nodes is old when it reads the nominations. The binding falls between the two.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_cycle_of_the_scheduler_costs_no_place() {
    let lab = Lab::with(1, 1, |config| config.scheduler_cycle_ms = 40).await;
    // longer than a cycle and shorter than those of all thieves
    let binds_late: Hook = Arc::new(|step, word, _| {
        if (step, word) == (Step::Before, "bind") {
            tokio::task::block_in_place(|| std::thread::sleep(Duration::from_millis(60)));
        }
        Verdict::Continue
    });
    let operator = lab.operator("one", Some(binds_late)).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.thieves(4).await;
    lab.thieves_are_alert().await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    assert_eq!(lab.stolen().await, 0, "a thief got the place");
    lab.set_instance(0, None).await;
    lab.held(0).await;
    assert_eq!(lab.stolen().await, 0, "a thief got the place");
    lab.end(operator, 1).await;
}

/// A pod of somebody who does not ask the scheduler.
async fn intrude(client: Client, name: String, node: String) {
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let container = json!({"name": "main", "image": IMAGE, "resources": {"limits": {"nvidia.com/gpu": "1"}}});
    let pod = json!({
        "metadata": {"name": name},
        "spec": {"schedulerName": "nobody", "terminationGracePeriodSeconds": 0, "containers": [container]},
    });
    let params = PostParams::default();
    pods.create(&params, &serde_json::from_value(pod).unwrap()).await.unwrap();
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node},
    });
    pods.create_subresource::<Value, Value>("binding", &name, &params, &binding).await.unwrap();
    testkit::eventually("the kubelet has admitted the intruder", async || {
        let phase = pods.get(&name).await.ok()?.status?.phase?;
        (phase == "Running").then_some(())
    })
    .await;
}

/// The kubelet refuses the instance's pod, because an intruder has the place. The unit looks for another one, before pods of
/// lower classes.
#[tokio::test(flavor = "multi_thread")]
async fn a_unit_that_was_robbed_keeps_the_class_of_instances() {
    let lab = Lab::new(1, 1).await;
    let (client, name, node) = (lab.client.clone(), format!("intruder-{}", lab.id), lab.node_name(0));
    let intruder = name.clone();
    let done = AtomicBool::new(false);
    let hook: Hook = Arc::new(move |step, word, _| {
        if (step, word) == (Step::Before, "bind") && !done.swap(true, Ordering::SeqCst) {
            let intrusion = intrude(client.clone(), intruder.clone(), node.clone());
            tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(intrusion));
        }
        Verdict::Continue
    });
    let operator = lab.operator("one", Some(hook)).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let robbed = lab
        .until(0, "looked elsewhere", |status| reason(status, names::CONDITION_HELD) == "Unschedulable")
        .await;
    assert_eq!(reason(&robbed, names::CONDITION_INSTANCE_READY), "WaitingForPlace");
    let pods = lab.pods(0).await;
    let classes: Vec<_> = pods.iter().map(|pod| pod.spec.as_ref()?.priority_class_name.as_deref()).collect();
    // with the refused one, until that is deleted
    assert!(
        !classes.is_empty() && classes.iter().all(|class| *class == Some(names::CLASS_INSTANCE)),
        "{classes:?}"
    );
    let pods: Api<Pod> = Api::namespaced(lab.client.clone(), "default");
    pods.delete(&name, &DeleteParams::default().grace_period(0)).await.unwrap();
    lab.running(0, 1).await;
    lab.end(operator, 1).await;
}

/// On a full node, two instances take long to terminate. The placeholders that wait behind them do not obstruct the
/// hand-offs of the other units.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_termination_does_not_delay_other_units() {
    const UNITS: usize = 8;
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    for n in 0..UNITS {
        lab.create_real_unit(n).await;
        lab.held(n).await;
    }
    let pods: Api<Pod> = Api::namespaced(lab.client.clone(), &lab.tenant());
    for n in 0..2 {
        let mut slow = lab.instance(n, 1);
        slow["command"] = json!(["sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done"]);
        slow["terminationGracePeriodSeconds"] = json!(20);
        lab.set_instance(n, Some(slow)).await;
        let own = lab.running(n, 1).await.instance.unwrap();
        eventually("the container ignores the signal", async || {
            (pods.logs(&own.pod_name, &LogParams::default()).await.ok()? == "up\n").then_some(())
        })
        .await;
    }
    for n in 0..2 {
        lab.set_instance(n, None).await;
    }
    for attempt in 1..=2 {
        let node = lab.held(7).await.node;
        lab.set_instance(7, Some(lab.instance(7, attempt))).await;
        assert_eq!(lab.running(7, attempt).await.node, node);
        lab.set_instance(7, None).await;
        assert_eq!(lab.held(7).await.node, node, "{}", lab.events(7).await);
    }
    for n in 0..2 {
        let why = reason(&lab.status(n).await, names::CONDITION_INSTANCE_READY);
        assert_eq!(why, "Stopping", "unit {n} terminated too early: the test has shown nothing");
    }
    for n in 0..2 {
        lab.held(n).await;
    }
    lab.end(operator, UNITS).await;
}
