//! Repair of objects that somebody has deleted or changed.

use crds::names;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use testkit::eventually;

use crate::lab::Lab;

async fn delete_pod(lab: &Lab, n: usize) -> String {
    let pod = lab.pods(n).await.remove(0);
    let api: Api<Pod> = Api::namespaced(lab.client.clone(), &pod.namespace().unwrap());
    api.delete(&pod.name_any(), &DeleteParams::default()).await.unwrap();
    pod.uid().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_pods_are_created_again() {
    let lab = Lab::new(1, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    lab.held(0).await;
    let uid = delete_pod(&lab, 0).await;
    eventually("another placeholder exists", async || {
        lab.pods(0).await.into_iter().find(|pod| pod.uid().unwrap() != uid)
    })
    .await;
    lab.held(0).await;

    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let first = lab.running(0, 1).await.instance.unwrap();
    delete_pod(&lab, 0).await;
    let again = lab
        .until(0, "ran again", |status| {
            status.last_run.is_some()
                && status.instance.as_ref().is_some_and(|own| own.running_since.is_some())
        })
        .await;
    let run = again.last_run.unwrap();
    assert_eq!((run.reason.as_str(), Some(run.running_since)), ("PodDeleted", first.running_since));
    lab.end(operator, 1).await;
}

/// A start waits for a namespace that is terminating.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_tenant_namespace_is_created_again() {
    let lab = Lab::new(1, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    lab.set_instance(0, None).await;
    lab.held(0).await;
    let namespaces: Api<Namespace> = Api::all(lab.client.clone());
    let deleted = namespaces.get(&lab.tenant()).await.unwrap().uid();
    namespaces.delete(&lab.tenant(), &DeleteParams::default()).await.unwrap();
    lab.set_instance(0, Some(lab.instance(0, 2))).await;
    lab.running(0, 2).await;
    assert_ne!(namespaces.get(&lab.tenant()).await.unwrap().uid(), deleted);
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deleted_and_changed_policies_of_a_tenant_are_restored() {
    let lab = Lab::new(1, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    lab.running(0, 1).await;
    let policies: Api<NetworkPolicy> = Api::namespaced(lab.client.clone(), &lab.tenant());
    policies.delete("default-deny", &DeleteParams::default()).await.unwrap();
    eventually("the policy is created again", async || policies.get_opt("default-deny").await.unwrap()).await;
    let open = json!({"spec": {"egress": [{}]}});
    policies.patch("to-internet", &PatchParams::default(), &Patch::Merge(&open)).await.unwrap();
    eventually("the policy is restored", async || {
        let spec = policies.get("to-internet").await.unwrap().spec?;
        (spec.egress?.len() == 2).then_some(())
    })
    .await;
    assert_eq!(policies.get("default-deny").await.unwrap().labels()[names::LABEL_TENANT], lab.tenant());
    lab.end(operator, 1).await;
}
