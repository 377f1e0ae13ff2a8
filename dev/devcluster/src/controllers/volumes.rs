//! Volumes and claims. A claim is bound to the volume that it names, to the volume reserved for it, or to a new folder
//! if its class provisions folders. Such a volume is removed with its claim; others are released.

use std::sync::Arc;

use objects::error::Failure;
use objects::json::{quantity, text};
use objects::pod::is_over;
use objects::store::{Inner, Object};
use serde_json::{Value, json};

use super::gc;
use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::verbs::{delete::Options, system};

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const CLASSES: &str = "storageclasses.storage.k8s.io";
/// The provisioner of folders.
pub(crate) const PROVISIONER: &str = "devcluster.atelier.dev/folder";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
const CONTROLLER: &str = "persistentvolume-controller";

pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&[VOLUMES, CLAIMS, "pods", CLASSES]);
    while let Some(event) = hub.stop.run_until_cancelled(hub.faults.next(&Part::Controllers, &mut feed)).await
    {
        for object in event.present() {
            isolated("volumes", object, || changed(&hub, object));
        }
        for object in event.deleted() {
            isolated("volumes", object, || deleted(&hub, object));
        }
    }
}

fn changed(hub: &Hub, object: &Arc<Object>) {
    match text(&object.value["kind"]) {
        "PersistentVolume" => update_volume(hub, object.name()),
        "PersistentVolumeClaim" => update_claim(hub, object),
        "Pod" if is_over(&object.value) => gc::check_terminating(hub, CLAIMS, object.namespace()),
        "StorageClass" => update_claims(hub),
        _ => {}
    }
}

fn deleted(hub: &Hub, object: &Arc<Object>) {
    match text(&object.value["kind"]) {
        "PersistentVolumeClaim" => update_volume(hub, text(&object.value["spec"]["volumeName"])),
        "Pod" => gc::check_terminating(hub, CLAIMS, object.namespace()),
        _ => {}
    }
}

/// Binds the claims that are not bound.
fn update_claims(hub: &Hub) {
    let claims: Vec<Arc<Object>> = hub.store.lock().list(CLAIMS, "").cloned().collect();
    for claim in claims.iter().filter(|c| c.value["status"]["phase"] != "Bound") {
        isolated("volumes", claim, || update_claim(hub, claim));
    }
}

fn update_claim(hub: &Hub, claim: &Arc<Object>) {
    if claim.terminating() {
        gc::check_terminating(hub, CLAIMS, claim.namespace());
    } else if let Err(error) = bind(hub, claim) {
        tracing::debug!(%error, claim = claim.name(), "cannot bind claim");
    }
}

/// Sets the phase of a volume (available, bound or released) and carries out what follows from it.
fn update_volume(hub: &Hub, name: &str) {
    let (volume, phase) = {
        let mut tx = hub.store.lock();
        let Some(volume) = tx.get(VOLUMES, "", name) else { return };
        let phase = match volume.value["spec"]["claimRef"]["uid"].as_str() {
            None => "Available",
            Some(uid) if tx.by_uid(uid).is_some() => "Bound",
            Some(_) => "Released",
        };
        (set_phase(&mut tx, &volume, phase), phase)
    };
    match phase {
        "Available" => update_claims(hub),
        "Released" if volume.value["spec"]["persistentVolumeReclaimPolicy"] == "Delete" => {
            let gone =
                system::delete(hub, &mut hub.store.lock(), VOLUMES, &volume.key(), &Options::default());
            if gone.is_ok() && is_folder(&volume) {
                remove_folder(hub, volume.name());
            }
        }
        _ => {}
    }
    if phase != "Bound" {
        gc::check_terminating(hub, VOLUMES, "");
    }
}

fn set_phase(tx: &mut Inner, volume: &Arc<Object>, phase: &str) -> Arc<Object> {
    let mut value = volume.value.clone();
    value["status"] = json!({ "phase": phase });
    system::update_status(tx, VOLUMES, volume, value, CONTROLLER)
}

/// Whether a volume is a folder that this cluster has provisioned.
fn is_folder(volume: &Object) -> bool {
    volume.value["metadata"]["annotations"][PROVISIONED_BY] == PROVISIONER
}

fn bind(hub: &Hub, claim: &Object) -> Result<(), Failure> {
    let mut tx = hub.store.lock();
    let current = tx.get(CLAIMS, claim.namespace(), claim.name());
    let Some(current) = current.filter(|c| c.uid() == claim.uid() && !c.terminating()) else {
        return Ok(());
    };
    if current.value["status"]["phase"] == "Bound" {
        grow(&mut tx, &current);
        return Ok(());
    }
    let Some(volume) = volume_for(hub, &mut tx, &current)? else { return Ok(()) };
    let mut value = volume.value.clone();
    value["spec"]["claimRef"] = reference(&current);
    let volume = system::update(&mut tx, VOLUMES, &volume, value, CONTROLLER);
    set_phase(&mut tx, &volume, "Bound");
    let mut value = current.value.clone();
    value["spec"]["volumeName"] = volume.name().into();
    let (modes, capacity) = (&volume.value["spec"]["accessModes"], &volume.value["spec"]["capacity"]);
    value["status"] = json!({ "phase": "Bound", "accessModes": modes, "capacity": capacity });
    system::update_status(&mut tx, CLAIMS, &current, value, CONTROLLER);
    Ok(())
}

fn reference(claim: &Object) -> Value {
    json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": claim.namespace(), "name": claim.name(), "uid": claim.uid(),
    })
}

/// The volume for a claim: the named one, the one reserved for it, or a new folder. `None` if the claim must wait.
fn volume_for(hub: &Hub, tx: &mut Inner, claim: &Object) -> Result<Option<Arc<Object>>, Failure> {
    let reserved = |volume: &Object| {
        let by = &volume.value["spec"]["claimRef"];
        by["namespace"] == claim.namespace()
            && by["name"] == claim.name()
            && by["uid"].as_str().is_none_or(|uid| uid == claim.uid())
    };
    let named = text(&claim.value["spec"]["volumeName"]);
    if !named.is_empty() {
        let volume = tx.get(VOLUMES, "", named);
        return Ok(volume.filter(|v| v.value["spec"]["claimRef"].is_null() || reserved(v)));
    }
    if let Some(volume) = tx.list(VOLUMES, "").find(|v| reserved(v)) {
        return Ok(Some(volume.clone()));
    }
    let class = text(&claim.value["spec"]["storageClassName"]);
    if tx.get(CLASSES, "", class).is_none_or(|c| c.value["provisioner"] != PROVISIONER) {
        return Ok(None);
    }
    let name = format!("pvc-{}", claim.uid());
    let spec = &claim.value["spec"];
    let volume = json!({
        "metadata": { "name": name, "annotations": { (PROVISIONED_BY): PROVISIONER } },
        "spec": {
            "capacity": { "storage": spec["resources"]["requests"]["storage"] },
            "accessModes": spec["accessModes"], "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": class, "volumeMode": "Filesystem", "claimRef": reference(claim),
            "hostPath": { "path": hub.runtime.volume_dir(&name).display().to_string() },
        },
    });
    system::create(hub, tx, VOLUMES, "", "devcluster-provisioner", volume).map(Some)
}

/// Grows the folder of a bound claim with a larger request.
fn grow(tx: &mut Inner, claim: &Arc<Object>) {
    let size = &claim.value["spec"]["resources"]["requests"]["storage"];
    if quantity(size) <= quantity(&claim.value["status"]["capacity"]["storage"]) {
        return;
    }
    let volume = tx.get(VOLUMES, "", text(&claim.value["spec"]["volumeName"]));
    let Some(volume) = volume.filter(|v| is_folder(v)) else { return };
    let mut value = volume.value.clone();
    value["spec"]["capacity"]["storage"] = size.clone();
    tx.put(VOLUMES, value);
    let mut value = claim.value.clone();
    value["status"]["capacity"]["storage"] = size.clone();
    system::update_status(tx, CLAIMS, claim, value, CONTROLLER);
}

fn remove_folder(hub: &Hub, name: &str) {
    let folder = hub.runtime.volume_dir(name);
    if folder.exists()
        && let Err(error) = std::fs::remove_dir_all(&folder)
    {
        tracing::warn!(%error, name, "cannot remove volume folder");
    }
}
