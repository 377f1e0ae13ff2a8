//! Volumes and claims: a claim is bound to the volume that it names or that waits for it, or gets one of its own (a
//! folder) where its class provides them; such a volume goes with its claim, another stays and is released.

use super::gc;
use crate::error::Failure;
use crate::hub::Hub;
use crate::quantity::parse_milli;
use crate::store::{Inner, Object, Op};
use crate::verbs::{self, Write, delete};
use serde_json::{Value, json};
use std::sync::Arc;

const CLAIMS: &str = "persistentvolumeclaims";
const VOLUMES: &str = "persistentvolumes";
const PROVISIONER: &str = "devcluster.atelier.dev/folder";
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";

/// Binds new claims, grows grown ones, and releases or removes the volumes of deleted ones.
pub(crate) async fn run(hub: Arc<Hub>) {
    'anew: loop {
        let (claims, mut feed) = hub.store.subscribe(CLAIMS);
        let (volumes, mut volume_feed) = hub.store.subscribe(VOLUMES);
        let (_, mut pods) = hub.store.subscribe("pods");
        let (_, mut classes) = hub.store.subscribe("storageclasses.storage.k8s.io");
        volumes.iter().for_each(|v| see_volume(&hub, v));
        claims.iter().for_each(|c| see(&hub, c));
        loop {
            tokio::select! {
                () = hub.stop.cancelled() => return,
                changes = feed.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    for c in &changes {
                        if c.op == Op::Deleted { released(&hub, &c.object) } else { see(&hub, &c.object) }
                    }
                }
                changes = volume_feed.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    for c in changes.iter().filter(|c| c.op != Op::Deleted) {
                        see_volume(&hub, &c.object);
                    }
                }
                changes = pods.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    for c in changes.iter().filter(|c| c.op == Op::Deleted || matches!(c.object.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))) {
                        let mounts = c.object.value["spec"]["volumes"].as_array().is_some_and(|v| v.iter().any(|v| v["persistentVolumeClaim"].is_object()));
                        if mounts {
                            gc::look_again(&hub, CLAIMS, c.object.namespace());
                        }
                    }
                }
                changes = classes.next() => {
                    if changes.is_err() { continue 'anew }
                    let waiting: Vec<Arc<Object>> = hub.store.lock().list(CLAIMS, "").cloned().collect();
                    waiting.iter().for_each(|c| see(&hub, c));
                }
            }
        }
    }
}

fn see(hub: &Hub, claim: &Arc<Object>) {
    if claim.terminating() {
        gc::look_again(hub, CLAIMS, claim.namespace());
        return;
    }
    if let Err(error) = bind(hub, claim) {
        tracing::debug!(%error, claim = claim.name(), "claim not bound");
    }
}

/// What a volume is now: free, bound, or left by its claim.
fn see_volume(hub: &Hub, volume: &Arc<Object>) {
    let phase = {
        let mut tx = hub.store.lock();
        let Some(volume) = tx.get(VOLUMES, "", volume.name()) else { return };
        let claim = volume.value["spec"]["claimRef"].clone();
        let phase = match claim["uid"].as_str() {
            None => "Available",
            Some(uid) if tx.by_uid(uid).is_some() => "Bound",
            Some(_) => "Released",
        };
        set_phase(hub, &mut tx, &volume, phase);
        phase
    };
    match phase {
        "Available" => {
            let waiting: Vec<Arc<Object>> = hub.store.lock().list(CLAIMS, "").cloned().collect();
            waiting.iter().filter(|c| c.value["status"]["phase"] != "Bound").for_each(|c| see(hub, c));
        }
        "Released" if volume.value["spec"]["persistentVolumeReclaimPolicy"] == "Delete" => {
            let resource = hub.kind(VOLUMES);
            let w = Write::internal(&resource, "", volume.name(), "persistentvolume-controller");
            let gone = delete::delete(hub, &mut hub.store.lock(), &w, &delete::Options::default());
            if gone.is_ok() && volume.value["metadata"]["annotations"][PROVISIONED_BY] == PROVISIONER {
                remove_folder(hub, volume.name());
            }
        }
        _ => {}
    }
    if phase != "Bound" {
        gc::look_again(hub, VOLUMES, "");
    }
}

fn set_phase(hub: &Hub, tx: &mut Inner, volume: &Arc<Object>, phase: &str) {
    let mut value = volume.value.clone();
    value["status"] = json!({ "phase": phase });
    let resource = hub.kind(VOLUMES);
    let w = Write::internal(&resource, "", volume.name(), "persistentvolume-controller").status();
    if let Err(error) = verbs::system_update(tx, &w, volume, value) {
        tracing::error!(%error, volume = volume.name(), "volume not written");
    }
}

fn bind(hub: &Hub, claim: &Object) -> Result<(), Failure> {
    let mut tx = hub.store.lock();
    let Some(current) = tx
        .get(CLAIMS, claim.namespace(), claim.name())
        .filter(|c| c.uid() == claim.uid() && !c.terminating())
    else {
        return Ok(());
    };
    if current.value["status"]["phase"] == "Bound" {
        return grow(hub, &mut tx, &current);
    }
    let Some(volume) = wanted(hub, &mut tx, &current)? else { return Ok(()) };
    let resource = hub.kind(VOLUMES);
    let mut value = volume.value.clone();
    value["spec"]["claimRef"] = json!({
        "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": current.namespace(), "name": current.name(), "uid": current.uid(),
    });
    let w = Write::internal(&resource, "", volume.name(), "persistentvolume-controller");
    let volume = verbs::system_update(&mut tx, &w, &volume, value)?;
    set_phase(hub, &mut tx, &volume, "Bound");
    let mut value = current.value.clone();
    value["spec"]["volumeName"] = volume.name().into();
    let (modes, capacity) = (&volume.value["spec"]["accessModes"], &volume.value["spec"]["capacity"]);
    value["status"] = json!({ "phase": "Bound", "accessModes": modes, "capacity": capacity });
    write_claim(hub, &mut tx, &current, value)
}

fn write_claim(hub: &Hub, tx: &mut Inner, old: &Arc<Object>, value: Value) -> Result<(), Failure> {
    let resource = hub.kind(CLAIMS);
    let w = Write::internal(&resource, old.namespace(), old.name(), "persistentvolume-controller").status();
    verbs::system_update(tx, &w, old, value).map(drop)
}

/// The volume for a claim: the one it names, else the one that waits for it, else a new one of its class. `None`:
/// it has to wait.
fn wanted(hub: &Hub, tx: &mut Inner, claim: &Object) -> Result<Option<Arc<Object>>, Failure> {
    let waits_for = |volume: &Object| {
        let by = &volume.value["spec"]["claimRef"];
        by["namespace"] == claim.namespace()
            && by["name"] == claim.name()
            && by["uid"].as_str().is_none_or(|uid| uid == claim.uid())
    };
    let named = claim.value["spec"]["volumeName"].as_str().unwrap_or("");
    if !named.is_empty() {
        let volume = tx.get(VOLUMES, "", named);
        return Ok(volume.filter(|v| v.value["spec"]["claimRef"].is_null() || waits_for(v)));
    }
    if let Some(volume) = tx.list(VOLUMES, "").find(|v| waits_for(v)) {
        return Ok(Some(volume.clone()));
    }
    let class = claim.value["spec"]["storageClassName"].as_str().unwrap_or("").to_owned();
    let known = tx
        .get("storageclasses.storage.k8s.io", "", &class)
        .is_some_and(|c| c.value["provisioner"] == PROVISIONER);
    if !known {
        // nobody here provisions for it: Pending, as on the real one
        return Ok(None);
    }
    let name = format!("pvc-{}", claim.uid());
    let resource = hub.kind(VOLUMES);
    let w = Write::internal(&resource, "", &name, "devcluster-provisioner");
    let volume = json!({
        "metadata": { "name": name, "annotations": { (PROVISIONED_BY): PROVISIONER } },
        "spec": {
            "capacity": { "storage": claim.value["spec"]["resources"]["requests"]["storage"] },
            "accessModes": claim.value["spec"]["accessModes"], "persistentVolumeReclaimPolicy": "Delete",
            "storageClassName": class, "volumeMode": "Filesystem",
            "claimRef": { "kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": claim.namespace(), "name": claim.name(), "uid": claim.uid() },
            "hostPath": { "path": hub.nodes.volume_dir(&name).display().to_string() },
        },
    });
    verbs::create(hub, tx, &w, volume).map(|made| Some(made.object))
}

/// A bound claim that asks for more than it has gets it, where its volume is a folder of the cluster's own.
fn grow(hub: &Hub, tx: &mut Inner, claim: &Arc<Object>) -> Result<(), Failure> {
    let size = &claim.value["spec"]["resources"]["requests"]["storage"];
    let milli = |v: &Value| v.as_str().and_then(parse_milli).unwrap_or(0);
    if milli(size) <= milli(&claim.value["status"]["capacity"]["storage"]) {
        return Ok(());
    }
    let name = claim.value["spec"]["volumeName"].as_str().unwrap_or("");
    let volume = tx.get(VOLUMES, "", name);
    let Some(volume) = volume.filter(|v| v.value["metadata"]["annotations"][PROVISIONED_BY] == PROVISIONER)
    else {
        return Ok(());
    };
    let mut value = volume.value.clone();
    value["spec"]["capacity"]["storage"] = size.clone();
    tx.put(VOLUMES, value);
    let mut value = claim.value.clone();
    value["status"]["capacity"]["storage"] = size.clone();
    write_claim(hub, tx, claim, value)
}

/// A claim is gone: its volume is looked at.
fn released(hub: &Hub, claim: &Object) {
    let name = claim.value["spec"]["volumeName"].as_str().unwrap_or("");
    let volume = hub.store.lock().get(VOLUMES, "", name);
    if let Some(volume) = volume {
        see_volume(hub, &volume);
    }
}

fn remove_folder(hub: &Hub, name: &str) {
    let folder = hub.nodes.volume_dir(name);
    if folder.exists()
        && let Err(error) = std::fs::remove_dir_all(&folder)
    {
        tracing::warn!(%error, name, "volume folder not removed");
    }
}

/// The class that claims without one get.
pub(crate) fn ensure_class(hub: &Hub) {
    let resource = hub.kind("storageclasses.storage.k8s.io");
    let mut tx = hub.store.lock();
    if tx.get(&resource.id, "", "standard").is_some() {
        return;
    }
    let w = Write::internal(&resource, "", "standard", "devcluster");
    let class = json!({
        "metadata": { "name": "standard", "annotations": { "storageclass.kubernetes.io/is-default-class": "true" } },
        "provisioner": PROVISIONER, "reclaimPolicy": "Delete", "volumeBindingMode": "Immediate", "allowVolumeExpansion": true,
    });
    if let Err(error) = verbs::create(hub, &mut tx, &w, class) {
        tracing::error!(%error, "storage class not made");
    }
}
