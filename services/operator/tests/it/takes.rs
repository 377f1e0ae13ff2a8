//! Places that become free although their units keep them, while thieves wait for every GPU.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;

use crate::lab::Lab;

const UNITS: usize = 2;

/// The CPU that the unit's only pod requests.
async fn cpu(lab: &Lab, n: usize) -> Option<String> {
    let pods = lab.pods(n).await;
    let [pod] = pods.as_slice() else { return None };
    let resources = pod.spec.as_ref()?.containers[0].resources.as_ref()?;
    Some(resources.requests.as_ref()?.get("cpu")?.0.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_unit_keeps_its_place_when_it_is_resized() {
    let lab = Lab::new(1, UNITS).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(UNITS).await;
    let held = [lab.held(0).await, lab.held(1).await];
    lab.thieves(2).await;
    lab.thieves_are_alert().await;
    for size in ["200m", "50m"] {
        for n in 0..UNITS {
            lab.patch(n, &json!({"spec": {"resources": {"cpu": size}}})).await;
        }
        for (n, before) in held.iter().enumerate() {
            assert_eq!(lab.held(n).await.node, before.node, "{}", lab.events(n).await);
            testkit::eventually("the placeholder has the new size", async || {
                (cpu(&lab, n).await.as_deref() == Some(size)).then_some(())
            })
            .await;
            assert_eq!(lab.held(n).await.node, before.node, "{}", lab.events(n).await);
        }
        assert_eq!(lab.stolen().await, 0, "a thief got a place");
    }
    lab.end(operator, UNITS).await;
}

/// Nobody waits for the pod's end: its place is free at once, and its unit gets it back because thieves that were tried
/// a moment ago are in their backoff. On a given cluster, a thief may be faster; the unit then waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_is_deleted_by_force_runs_again_in_its_place() {
    let lab = Lab::new(1, UNITS).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(UNITS).await;
    let held = [lab.held(0).await, lab.held(1).await];
    for n in 0..UNITS {
        lab.set_instance(n, Some(lab.instance(n, 1))).await;
        lab.running(n, 1).await;
    }
    lab.thieves(2).await;
    let pod = lab.pods(0).await.remove(0);
    let api: Api<Pod> = Api::namespaced(lab.client.clone(), &pod.namespace().unwrap());
    let free = json!({"metadata": {"finalizers": null}});
    api.patch(&pod.name_any(), &PatchParams::default(), &Patch::Merge(&free)).await.unwrap();
    api.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await.unwrap();
    if !lab.is_dev() {
        lab.until(0, "lost its pod", |status| status.last_run.is_some()).await;
        lab.remove_thieves().await;
    }
    let again = lab
        .until(0, "ran again", |status| {
            status.last_run.is_some()
                && status.instance.as_ref().is_some_and(|own| own.running_since.is_some())
        })
        .await;
    assert_eq!(again.node, held[0].node, "{}", lab.events(0).await);
    assert_ne!(lab.pods(0).await[0].uid(), pod.uid());
    assert_eq!(lab.stolen().await, 0, "a thief got a place");
    lab.end(operator, UNITS).await;
}
