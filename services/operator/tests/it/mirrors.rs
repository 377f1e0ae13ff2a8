//! Storages of instances in units with claimed devices: mirrored into the unit's namespace.

use std::sync::atomic::{AtomicUsize, Ordering};

use atelier_operator::controller::Step;
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use kube::Api;
use kube::api::{DeleteParams, ListParams};
use serde_json::{Value, json};
use testkit::eventually;

use crate::kills::{Revived, dies_once};
use crate::lab::Lab;

fn with_storage(lab: &Lab, attempt: i64, storage: &str) -> Value {
    let mut instance = lab.instance(0, attempt);
    instance["volumes"] = json!([{"name": "data", "mountPath": "/workspace/data", "storage": storage}]);
    instance
}

fn mirrors(lab: &Lab) -> (Api<PersistentVolume>, Api<PersistentVolumeClaim>, ListParams) {
    let of_unit = format!("{}={}", crds::names::LABEL_UNIT, lab.unit_name(0));
    (
        Api::all(lab.client.clone()),
        Api::namespaced(lab.client.clone(), &lab.unit_name(0)),
        ListParams::default().labels(&of_unit),
    )
}

/// Waits until the unit's namespace has no mirror.
async fn none_is_left(lab: &Lab) {
    let (volumes, claims, of_unit) = mirrors(lab);
    eventually("the mirrors are deleted", async || {
        let volumes = volumes.list(&of_unit).await.unwrap().items;
        let claims = claims.list(&ListParams::default()).await.unwrap().items;
        (volumes.is_empty() && claims.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storage_is_mirrored_while_it_is_used() {
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("one", None).await;
    lab.create_dra_units(1).await;
    lab.held(0).await;
    let storage = lab.create_storage(0).await;
    let (volumes, claims, of_unit) = mirrors(&lab);
    let source = volumes.get(&storage).await.unwrap().spec.unwrap();
    for attempt in [1, 2] {
        lab.set_instance(0, Some(with_storage(&lab, attempt, &storage))).await;
        lab.running(0, attempt).await;
        let found = volumes.list(&of_unit).await.unwrap().items;
        assert_eq!(found.len(), 1);
        let copy = found[0].spec.clone().unwrap();
        assert_eq!((copy.host_path, copy.capacity), (source.host_path.clone(), source.capacity.clone()));
        assert_eq!(copy.persistent_volume_reclaim_policy.as_deref(), Some("Retain"));
        let claim = claims.get(&storage).await.unwrap();
        assert_eq!(claim.status.unwrap().phase.as_deref(), Some("Bound"));
        lab.set_instance(0, None).await;
        lab.held(0).await;
        none_is_left(&lab).await;
    }
    // a deleted mirror is created again for the next start
    lab.set_instance(0, Some(with_storage(&lab, 3, &storage))).await;
    lab.running(0, 3).await;
    claims.delete(&storage, &DeleteParams::default()).await.unwrap();
    lab.patch(0, &json!({"spec": {"instance": {"restart": 1}}})).await;
    lab.until(0, "restarted", |status| {
        status.instance.as_ref().is_some_and(|own| own.restart == 1 && own.running_since.is_some())
    })
    .await;
    // the unit is deleted, the storage stays
    lab.units().delete(&lab.unit_name(0), &DeleteParams::default()).await.unwrap();
    lab.nothing_is_left(0).await;
    assert!(volumes.get_opt(&storage).await.unwrap().is_some());
    lab.end_devices(operator, 0).await;
}

/// On the node that runs processes. A cluster with a kubelet would need a driver that prepares the devices.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_sees_its_files_through_the_mirror() {
    let lab = Lab::with_devices(0, 0).await;
    if !lab.is_dev() {
        eprintln!("skipped: no driver of this cluster prepares the devices");
        return;
    }
    let operator = lab.operator("one", None).await;
    lab.add_devices("real-0", 1).await;
    let mut unit = lab.dra_unit(0);
    unit["spec"]["nodeSelector"] = json!({"atelier.dev/real": "true"});
    lab.create(unit).await;
    lab.held_with_devices(0).await;
    let storage = lab.create_storage(0).await;
    let folder = std::env::temp_dir().join(format!("atelier-volume-{}", lab.id));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("picture"), "a cat").unwrap();
    let mut instance = with_storage(&lab, 1, &storage);
    instance["workingDir"] = json!("/workspace");
    instance["command"] = json!([
        "sh",
        "-c",
        "cp data/picture data/copy; trap 'exit 0' TERM; while :; do sleep 1 & wait $!; done"
    ]);
    lab.set_instance(0, Some(instance)).await;
    lab.running(0, 1).await;
    let copy = eventually("the copy exists", async || std::fs::read_to_string(folder.join("copy")).ok());
    assert_eq!(copy.await, "a cat");
    lab.set_instance(0, None).await;
    lab.held(0).await;
    none_is_left(&lab).await;
    assert!(folder.join("copy").exists(), "the files are kept");
    lab.end_devices(operator, 1).await;
}

/// The life cycle of a unit with a claimed device and a storage, with the operator killed before and after each write.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_operator_continues_after_a_kill_at_any_write() {
    let words = [
        "create_claim",
        "reserve_claim",
        "mirror",
        "mirror_claim",
        "drop_mirror",
        "delete_claim",
        "delete_device_claim",
        "unreserve_claim",
        "create_placeholder",
        "create_instance",
        "nominate",
        "delete_pod",
        "release_pod",
        "unit_status",
        "tenant",
        "add_finalizer",
        "remove_finalizer",
    ];
    let lab = Lab::with_devices(1, 1).await;
    let operator = lab.operator("first", None).await;
    let storage = lab.create_storage(0).await;
    operator.stop().await;
    for (word, step) in words.into_iter().flat_map(|word| [(word, Step::Before), (word, Step::After)]) {
        let met = std::sync::Arc::new(AtomicUsize::new(0));
        let (dies, seen) = (dies_once(step, word), std::sync::Arc::clone(&met));
        let hook: atelier_operator::controller::Hook = std::sync::Arc::new(move |at, action, name| {
            if at == step && action == word {
                seen.fetch_add(1, Ordering::SeqCst);
            }
            dies(at, action, name)
        });
        let mut operator = Revived { lab: &lab, running: Some(lab.operator("one", Some(hook)).await) };
        let life = async {
            lab.create_dra_units(1).await;
            let held = lab.held_with_devices(0).await;
            let claim = lab.claim(0).await.metadata.uid;
            lab.set_instance(0, Some(with_storage(&lab, 1, &storage))).await;
            lab.running(0, 1).await;
            lab.set_instance(0, None).await;
            let back = lab.held_with_devices(0).await;
            assert_eq!((back.node, back.gpu_uuids), (held.node, held.gpu_uuids), "{word} {step:?}");
            assert_eq!(lab.claim(0).await.metadata.uid, claim, "{word} {step:?}");
            none_is_left(&lab).await;
            lab.units().delete(&lab.unit_name(0), &DeleteParams::default()).await.unwrap();
            lab.nothing_is_left(0).await;
        };
        operator.tend(life).await;
        // the write shows in the cluster before the step after it
        let written = async || (met.load(Ordering::SeqCst) > 0).then_some(());
        testkit::eventually(&format!("{word} is written"), written).await;
        operator.running.take().unwrap().stop().await;
    }
    let operator = lab.operator("last", None).await;
    lab.end_devices(operator, 0).await;
}
