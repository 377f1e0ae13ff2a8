//! Garbage collection: dependents of deleted owners, foreground and orphaning deletion, and the finalizers that the
//! cluster sets itself.

use std::sync::Arc;

use objects::json::{contains, items, text};
use objects::kinds::DEFINITIONS;
use objects::pod::{is_over, mounts};
use objects::store::{Inner, Key, Object, Upkeep};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::verbs::delete::Options;
use crate::verbs::system;

pub(crate) type Queue = Mutex<mpsc::UnboundedReceiver<Upkeep>>;

/// Processes the queue of the store.
pub(crate) async fn run(hub: Arc<Hub>, queue: Arc<Queue>) {
    let mut queue = queue.lock().await;
    while let Some(Some(item)) = hub.stop.run_until_cancelled(queue.recv()).await {
        hub.stop.run_until_cancelled(hub.faults.until(&Part::Controllers, true)).await;
        match item {
            Upkeep::OwnerGone { uid } => {
                let dependents = hub.store.lock().dependents(&uid);
                for (kind, key) in dependents {
                    check(&hub, &kind, &key);
                }
            }
            Upkeep::Check { kind, key } => check(&hub, &kind, &key),
        }
    }
}

/// Checks every object, to resume what a restart has interrupted.
pub(crate) fn check_all(hub: &Hub) {
    for resource in hub.kinds.all() {
        let keys: Vec<Key> = hub.store.lock().list(&resource.id, "").map(|o| o.key()).collect();
        for key in keys {
            check(hub, &resource.id, &key);
        }
    }
}

/// Checks the terminating objects of a kind again, after a change that may have released them.
pub(crate) fn check_terminating(hub: &Hub, kind: &str, namespace: &str) {
    let keys: Vec<Key> =
        hub.store.lock().list(kind, namespace).filter(|o| o.terminating()).map(|o| o.key()).collect();
    for key in keys {
        check(hub, kind, &key);
    }
}

fn check(hub: &Hub, kind: &str, key: &Key) {
    let Some(object) = hub.store.lock().get(kind, &key.0, &key.1) else { return };
    isolated("gc", &object, || {
        let mut tx = hub.store.lock();
        let Some(object) = tx.get(kind, &key.0, &key.1) else { return };
        if object.terminating() {
            continue_deletion(hub, &mut tx, kind, &object);
        } else {
            collect(hub, &mut tx, kind, &object);
        }
    });
}

/// Deletes an object without owners left, or removes its references to deleted owners.
fn collect(hub: &Hub, tx: &mut Inner, kind: &str, object: &Object) {
    let owners = items(&object.value["metadata"]["ownerReferences"]);
    let alive: Vec<Value> =
        owners.iter().filter(|owner| owner_exists(hub, tx, &object.key(), owner)).cloned().collect();
    if alive.len() == owners.len() {
        return;
    }
    if alive.is_empty() {
        if let Err(error) = system::delete(hub, tx, kind, &object.key(), &Options::default()) {
            tracing::debug!(%error, kind, name = object.name(), "cannot collect object");
        }
        return;
    }
    let mut value = object.value.clone();
    value["metadata"]["ownerReferences"] = alive.into();
    tx.put(kind, value);
}

/// Whether an object with the uid, kind and name of the reference exists in a scope that the dependent may refer to.
fn owner_exists(hub: &Hub, tx: &Inner, dependent: &Key, owner: &Value) -> bool {
    let Some((kind, key)) = tx.by_uid(text(&owner["uid"])) else { return false };
    let Some(resource) = hub.kinds.get(&kind) else { return false };
    resource.kind == text(&owner["kind"])
        && key.1 == text(&owner["name"])
        && (key.0.is_empty() || key.0 == dependent.0)
}

/// Removes the cluster's own finalizers whose work is done.
fn continue_deletion(hub: &Hub, tx: &mut Inner, kind: &str, object: &Object) {
    let waits_for = |finalizer: &str| contains(&object.value["metadata"]["finalizers"], finalizer);
    let mut done: Vec<&str> = Vec::new();
    if waits_for("orphan") {
        orphan_dependents(tx, object.uid());
        done.push("orphan");
    }
    if waits_for("foregroundDeletion") && delete_dependents(hub, tx, object.uid()) {
        done.push("foregroundDeletion");
    }
    if kind == DEFINITIONS && waits_for("customresourcecleanup.apiextensions.k8s.io") {
        let all: Vec<Key> = tx.list(object.name(), "").map(|o| o.key()).collect();
        for key in all {
            if let Err(error) = system::delete(hub, tx, object.name(), &key, &Options::default()) {
                tracing::debug!(%error, kind = object.name(), "cannot delete custom object");
            }
        }
        if tx.count(object.name()) == 0 {
            done.push("customresourcecleanup.apiextensions.k8s.io");
        }
    }
    if kind == "persistentvolumeclaims" {
        let mut pods = tx.list("pods", object.namespace());
        if !pods.any(|p| mounts(&p.value, object.name()) && !is_over(&p.value)) {
            done.push("kubernetes.io/pvc-protection");
        }
    }
    if kind == "persistentvolumes" && object.value["status"]["phase"] != "Bound" {
        done.push("kubernetes.io/pv-protection");
    }
    done.retain(|finalizer| waits_for(finalizer));
    if !done.is_empty()
        && let Some(object) = tx.get(kind, object.namespace(), object.name())
    {
        system::remove_finalizers(hub, tx, kind, &object, &done);
    }
}

fn refers_to(reference: &Value, uid: &str) -> bool {
    reference["uid"] == uid
}

fn orphan_dependents(tx: &mut Inner, owner: &str) {
    for (kind, key) in tx.dependents(owner) {
        let Some(dependent) = tx.get(&kind, &key.0, &key.1) else { continue };
        let mut value = dependent.value.clone();
        if let Some(owners) = value["metadata"]["ownerReferences"].as_array_mut() {
            owners.retain(|o| !refers_to(o, owner));
        }
        tx.put(&kind, value);
    }
}

/// Deletes the dependents of an owner. Returns whether none of them blocks the owner's deletion any more.
fn delete_dependents(hub: &Hub, tx: &mut Inner, owner: &str) -> bool {
    let mut blocked = false;
    for (kind, key) in tx.dependents(owner) {
        let Some(dependent) = tx.get(&kind, &key.0, &key.1) else { continue };
        if !dependent.terminating() {
            let options = Options { propagation_policy: Some("Foreground".into()), ..Options::default() };
            if let Err(error) = system::delete(hub, tx, &kind, &key, &options) {
                tracing::debug!(%error, kind, "cannot delete dependent");
            }
        }
        let blocks = items(&dependent.value["metadata"]["ownerReferences"])
            .iter()
            .any(|o| refers_to(o, owner) && o["blockOwnerDeletion"] == true);
        blocked |= blocks && tx.get(&kind, &key.0, &key.1).is_some();
    }
    !blocked
}
