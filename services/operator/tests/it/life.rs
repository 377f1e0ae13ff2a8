//! The life cycle of a unit without faults.

use std::sync::Arc;

use atelier_operator::controller::{Hook, Step, Verdict};
use crds::{UnitState, names};
use k8s_openapi::api::core::v1::{Namespace, Pod, ResourceQuota, Secret};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, ListParams, LogParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::json;
use testkit::eventually;

use crate::lab::{Lab, reason, roles};

#[tokio::test(flavor = "multi_thread")]
async fn a_unit_hands_its_place_to_an_instance_and_takes_it_back() {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    let held = lab.held(0).await;
    assert!(roles(&lab.pods(0).await).values().all(|role| role == names::ROLE_PLACEHOLDER));

    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let running = lab.running(0, 1).await;
    assert_eq!(running.node, held.node, "the instance uses the same place");
    let own = running.instance.clone().unwrap();
    assert_eq!(
        (own.id.as_str(), own.namespace.as_str()),
        (lab.instance_name(0).as_str(), lab.tenant().as_str())
    );
    assert!(own.pod_ip.is_some() && own.running_since.is_some());
    assert_eq!(roles(&lab.pods(0).await).len(), 1, "the placeholder is deleted");

    lab.set_instance(0, None).await;
    let back = lab.held(0).await;
    assert_eq!(back.node, held.node, "the unit has its place again");
    let run = back.last_run.unwrap();
    assert_eq!((run.running_since.clone(), run.reason.as_str()), (own.running_since.unwrap(), "Stopped"));
    assert!(run.ended_at.0 >= run.running_since.0);
    eventually("only the placeholder is left", async || {
        let left = roles(&lab.pods(0).await);
        (left.len() == 1 && left.values().all(|role| role == names::ROLE_PLACEHOLDER)).then_some(())
    })
    .await;

    lab.set_instance(0, Some(lab.instance(0, 2))).await;
    lab.running(0, 2).await;
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_the_place_and_closes_the_run() {
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let before = lab.running(0, 1).await;
    lab.patch(0, &json!({"spec": {"instance": {"restart": 1}}})).await;
    let after = lab
        .until(0, "restarted", |status| {
            status.state == UnitState::Running && status.instance.as_ref().is_some_and(|own| own.restart == 1)
        })
        .await;
    assert_eq!(after.node, before.node);
    let (run, own) = (after.last_run.unwrap(), after.instance.unwrap());
    assert_eq!(run.reason, "Restarted");
    assert_eq!(run.running_since, before.instance.unwrap().running_since.unwrap());
    assert!(own.running_since.unwrap().0 >= run.ended_at.0, "no second is counted twice");
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storage_has_a_claim_in_its_tenants_namespace() {
    use crds::{GpuStorage, GpuStorageSpec};
    use k8s_openapi::api::core::v1::PersistentVolumeClaim;
    let lab = Lab::new(0, 0).await;
    let operator = lab.operator("one", None).await;
    let storages: Api<GpuStorage> = Api::all(lab.client.clone());
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(lab.client.clone(), &lab.tenant());
    let name = format!("stor-{}{:024x}", lab.id, 1);
    let spec = GpuStorageSpec {
        tenant_id: lab.tenant(),
        size_gib: 1,
        storage_class: None,
        access_mode: crds::AccessMode::default(),
        downloads: Vec::new(),
    };
    storages.create(&kube::api::PostParams::default(), &GpuStorage::new(&name, spec)).await.unwrap();
    let size = async |gib: &str| {
        eventually("the claim requests the size", async || {
            let claim = claims.get_opt(&name).await.unwrap()?;
            let requested = claim.spec?.resources?.requests?.get("storage")?.0.clone();
            (requested == gib).then_some(())
        })
        .await;
    };
    size("1Gi").await;
    eventually("the storage has a status", async || {
        storages.get(&name).await.unwrap().status.and_then(|status| status.claim_name)
    })
    .await;
    if lab.is_dev() {
        storages
            .patch(
                &name,
                &kube::api::PatchParams::default(),
                &kube::api::Patch::Merge(json!({"spec": {"sizeGib": 2}})),
            )
            .await
            .unwrap();
        size("2Gi").await;
    }

    // an instance of another tenant cannot mount it
    lab.create_real_unit(0).await;
    lab.held(0).await;
    let mut foreign = lab.instance(0, 1);
    foreign["tenantId"] = json!(format!("ten-{:032x}", 99));
    foreign["volumes"] = json!([{"name": "data", "mountPath": "/data", "storage": name}]);
    lab.set_instance(0, Some(foreign)).await;
    let failed =
        lab.until(0, "failed", |status| status.last_failure.is_some() && status.instance.is_none()).await;
    assert_eq!(failed.last_failure.unwrap().reason, "StorageForbidden");

    storages.delete(&name, &DeleteParams::default()).await.unwrap();
    eventually("the storage and its claim are deleted", async || {
        let gone = storages.get_opt(&name).await.unwrap().is_none()
            && claims.list(&ListParams::default()).await.unwrap().items.is_empty();
        gone.then_some(())
    })
    .await;
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_namespace_is_isolated_and_its_pods_are_confined() {
    use k8s_openapi::api::core::v1::Namespace;
    use k8s_openapi::api::networking::v1::NetworkPolicy;
    let lab = Lab::new(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(1).await;
    lab.held(0).await;
    let mut peer = lab.instance(0, 1);
    peer["reachesPeers"] = json!(true);
    lab.set_instance(0, Some(peer)).await;
    lab.running(0, 1).await;
    let namespaces: Api<Namespace> = Api::all(lab.client.clone());
    let namespace = namespaces.get(&lab.tenant()).await.unwrap();
    assert_eq!(namespace.labels()["pod-security.kubernetes.io/enforce"], "restricted");
    let policies: Api<NetworkPolicy> = Api::namespaced(lab.client.clone(), &lab.tenant());
    let mut found: Vec<_> =
        policies.list(&ListParams::default()).await.unwrap().iter().map(|policy| policy.name_any()).collect();
    found.sort();
    assert_eq!(found, ["among-peers", "default-deny", "from-gateway", "to-internet"]);
    let pod = lab.pods(0).await.remove(0);
    assert_eq!(pod.labels()[names::LABEL_PEERS], "true");
    let pod = pod.spec.unwrap();
    assert_eq!(pod.automount_service_account_token, Some(false));
    assert_eq!(pod.service_account_name.as_deref(), Some("atelier"));
    assert_eq!(pod.security_context.unwrap().run_as_non_root, Some(true));
    assert_eq!(pod.containers[0].security_context.clone().unwrap().allow_privilege_escalation, Some(false));
    let status = lab.status(0).await;
    assert_eq!(
        (reason(&status, "Held"), reason(&status, "InstanceReady")),
        ("Claimed".to_owned(), "Running".to_owned())
    );
    lab.end(operator, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_tenants_pod_is_not_bound_before_its_namespace_is_confined() {
    let lab = Lab::new(1, 1).await;
    let hook: Hook = Arc::new(|step, action, object| {
        let is_confined = (step, action, object) == (Step::Before, "tenant", "default-deny");
        if is_confined { Verdict::Hang } else { Verdict::Continue }
    });
    let operator = lab.operator("one", Some(hook)).await;
    lab.create_units(1).await;
    lab.held(0).await;
    lab.set_instance(0, Some(lab.instance(0, 1))).await;
    let pod = eventually("the pod has taken the placeholder's place", async || {
        let [pod] = &lab.pods(0).await[..] else { return None };
        let is_nominated = pod.status.as_ref()?.nominated_node_name.is_some();
        (operator.hangs() && is_nominated).then(|| pod.clone())
    })
    .await;
    assert_eq!(pod.spec.unwrap().node_name, None);
    operator.kill();
    let operator = lab.operator("one", None).await;
    let running = lab.running(0, 1).await;
    assert_eq!(running.instance.unwrap().pod_name, pod.metadata.name.unwrap());
    let policies: Api<NetworkPolicy> = Api::namespaced(lab.client.clone(), &lab.tenant());
    assert_eq!(policies.list(&ListParams::default()).await.unwrap().items.len(), 4);
    lab.end(operator, 1).await;
}

/// The quota counts every pod in its status.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_writes_nothing_to_a_namespace_that_is_as_it_should_be() {
    let lab = Lab::new(1, 2).await;
    let operator = lab.operator("one", None).await;
    lab.create_units(2).await;
    let start = async |n| {
        lab.held(n).await;
        lab.set_instance(n, Some(lab.instance(n, 1))).await;
        lab.running(n, 1).await;
    };
    let quotas: Api<ResourceQuota> = Api::namespaced(lab.client.clone(), &lab.tenant());
    let counts_pods = async |wanted: &str| {
        eventually("the quota counts the pods", async || {
            let used = quotas.get("tenant").await.ok()?.status?.used?;
            used.get("pods").is_some_and(|pods| pods.0 == wanted).then_some(())
        })
        .await;
    };
    start(0).await;
    counts_pods("1").await;
    start(1).await;
    counts_pods("2").await;
    // by then the operator has seen the status of the quota, which is older
    lab.set_instance(1, None).await;
    lab.held(1).await;
    counts_pods("1").await;
    let text = operator.process.metrics.text();
    assert!(text.contains("operator_writes_total{kind=\"tenant\"} 7\n"), "{text}");
    lab.end(operator, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_gets_the_secret_of_its_instance_in_a_namespace_that_exists_before() {
    let lab = Lab::new(0, 0).await;
    // as the gpu service does, before the operator has written anything of the tenant
    let (spaces, tenant) = (Api::<Namespace>::all(lab.client.clone()), lab.tenant());
    let space = serde_json::from_value(json!({"metadata": {"name": tenant}})).unwrap();
    spaces.create(&PostParams::default(), &space).await.unwrap();
    let secrets: Api<Secret> = Api::namespaced(lab.client.clone(), &tenant);
    let secret = json!({"metadata": {"name": "own"}, "stringData": {"TOKEN": "hunter2"}});
    secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();

    let operator = lab.operator("one", None).await;
    lab.create_real_unit(0).await;
    lab.held(0).await;
    let mut instance = lab.instance(0, 1);
    instance["secretName"] = json!("own");
    instance["command"][2] = json!("echo $TOKEN; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done");
    lab.set_instance(0, Some(instance)).await;
    let own = lab.running(0, 1).await.instance.unwrap();
    let pods: Api<Pod> = Api::namespaced(lab.client.clone(), &tenant);
    eventually("the container has the value", async || {
        (pods.logs(&own.pod_name, &LogParams::default()).await.ok()? == "hunter2\n").then_some(())
    })
    .await;
    let space = spaces.get(&tenant).await.unwrap();
    let level = space.labels().get("pod-security.kubernetes.io/enforce").map(String::as_str);
    assert_eq!(level, Some("restricted"), "the operator has added its labels");
    lab.end(operator, 1).await;
}
