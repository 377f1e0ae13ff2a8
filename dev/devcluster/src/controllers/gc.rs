//! Garbage collection by owner references, and the end of foreground and orphaning deletions.

use crate::hub::Hub;
use crate::kinds::Resource;
use crate::store::{Inner, Key, Upkeep};
use crate::verbs::{Write, delete};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Works through what the store reports.
pub(crate) async fn run(hub: Arc<Hub>, mut upkeep: mpsc::UnboundedReceiver<Upkeep>) {
    loop {
        let item = tokio::select! {
            () = hub.stop.cancelled() => return,
            item = upkeep.recv() => match item { Some(item) => item, None => return },
        };
        match item {
            Upkeep::OwnerGone { uid } => {
                // the lock ends with this statement: looking takes it anew for each
                let dependents = hub.store.lock().dependents(&uid);
                for (kind, key) in dependents {
                    look(&hub, &kind, &key);
                }
            }
            Upkeep::Look { kind, key } => look(&hub, &kind, &key),
        }
    }
}

/// Everything is looked at once at start: what was interrupted goes on.
pub(crate) fn look_at_all(hub: &Hub) {
    for resource in hub.kinds.all() {
        let keys: Vec<Key> = hub.store.lock().list(&resource.id, "").map(|o| o.key()).collect();
        for key in keys {
            look(hub, &resource.id, &key);
        }
    }
}

fn look(hub: &Hub, kind: &str, key: &Key) {
    let Some(resource) = hub.kinds.get(kind) else { return };
    let mut tx = hub.store.lock();
    let Some(object) = tx.get(kind, &key.0, &key.1) else { return };
    if object.terminating() {
        finish_deletion(hub, &mut tx, &resource, key);
        return;
    }
    let owners = object.value["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
    if owners.is_empty() {
        return;
    }
    let (alive, gone): (Vec<Value>, Vec<Value>) =
        owners.into_iter().partition(|o| owner_lives(hub, &tx, key, o));
    if gone.is_empty() {
        return;
    }
    let write = Write::internal(&resource, &key.0, &key.1, "garbage-collector");
    if alive.is_empty() {
        if let Err(error) = delete::delete(hub, &mut tx, &write, &delete::Options::default()) {
            tracing::debug!(%error, kind, name = key.1, "not collected");
        }
        return;
    }
    let mut value = object.value.clone();
    value["metadata"]["ownerReferences"] = alive.into();
    tx.put(kind, value);
}

/// An owner lives when its uid does, under the name and in the place the reference can mean.
fn owner_lives(hub: &Hub, tx: &Inner, dependent: &Key, owner: &Value) -> bool {
    let uid = owner["uid"].as_str().unwrap_or("");
    let Some((kind, key)) = tx.by_uid(uid) else { return false };
    let Some(resource) = hub.kinds.get(&kind) else { return false };
    resource.kind == owner["kind"].as_str().unwrap_or("")
        && key.1 == owner["name"].as_str().unwrap_or("")
        && (key.0.is_empty() || key.0 == dependent.0)
}

/// The collector's own finalizers.
fn finish_deletion(hub: &Hub, tx: &mut Inner, resource: &Arc<Resource>, key: &Key) {
    let Some(object) = tx.get(&resource.id, &key.0, &key.1) else { return };
    let finalizers = object.value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let mut done: Vec<&str> = Vec::new();
    if finalizers.iter().any(|f| f == "orphan") {
        for (kind, dependent) in tx.dependents(object.uid()) {
            let Some(d) = tx.get(&kind, &dependent.0, &dependent.1) else { continue };
            let mut value = d.value.clone();
            let left: Vec<Value> = value["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|o| o["uid"] != object.uid())
                .cloned()
                .collect();
            value["metadata"]["ownerReferences"] = left.into();
            tx.put(&kind, value);
        }
        done.push("orphan");
    }
    if finalizers.iter().any(|f| f == "foregroundDeletion") {
        let mut blocked = false;
        for (kind, dependent) in tx.dependents(object.uid()) {
            let (Some(d), Some(r)) = (tx.get(&kind, &dependent.0, &dependent.1), hub.kinds.get(&kind)) else {
                continue;
            };
            let blocks = d.value["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|o| o["uid"] == object.uid() && o["blockOwnerDeletion"] == true);
            if !d.terminating() {
                let options = delete::Options {
                    propagation_policy: Some("Foreground".into()),
                    ..delete::Options::default()
                };
                let write = Write::internal(&r, &dependent.0, &dependent.1, "garbage-collector");
                if let Err(error) = delete::delete(hub, tx, &write, &options) {
                    tracing::debug!(%error, kind, "dependent not deleted");
                }
            }
            blocked |= blocks && tx.get(&kind, &dependent.0, &dependent.1).is_some();
        }
        if !blocked {
            done.push("foregroundDeletion");
        }
    }
    if finalizers.iter().any(|f| f == "customresourcecleanup.apiextensions.k8s.io") {
        let name = key.1.clone();
        if let Some(r) = hub.kinds.get(&name) {
            let all: Vec<Key> = tx.list(&name, "").map(|o| o.key()).collect();
            for k in all {
                let write = Write::internal(&r, &k.0, &k.1, "garbage-collector");
                if let Err(error) = delete::delete(hub, tx, &write, &delete::Options::default()) {
                    tracing::debug!(%error, kind = name, "custom object not deleted");
                }
            }
        }
        if tx.count(&name) == 0 {
            done.push("customresourcecleanup.apiextensions.k8s.io");
        }
    }
    if finalizers.iter().any(|f| f == "kubernetes.io/pvc-protection")
        && resource.id == "persistentvolumeclaims"
    {
        let used = tx.list("pods", &key.0).any(|p| {
            p.value["spec"]["volumes"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|v| v["persistentVolumeClaim"]["claimName"] == key.1)
                && !matches!(p.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
        });
        if !used {
            done.push("kubernetes.io/pvc-protection");
        }
    }
    if finalizers.iter().any(|f| f == "kubernetes.io/pv-protection")
        && resource.id == "persistentvolumes"
        && object.value["status"]["phase"] != "Bound"
    {
        done.push("kubernetes.io/pv-protection");
    }
    if done.is_empty() {
        return;
    }
    let Some(object) = tx.get(&resource.id, &key.0, &key.1) else { return };
    let mut value = object.value.clone();
    let left: Vec<Value> = finalizers.iter().filter(|f| !done.iter().any(|d| *f == d)).cloned().collect();
    value["metadata"]["finalizers"] = left.into();
    if delete::is_done(&value) {
        delete::finish(hub, tx, resource, key);
    } else {
        tx.put(&resource.id, value);
    }
}

/// Looks again at terminating objects whose end may have become possible by a deletion elsewhere.
pub(crate) fn look_again(hub: &Hub, kind: &str, namespace: &str) {
    let keys: Vec<Key> =
        hub.store.lock().list(kind, namespace).filter(|o| o.terminating()).map(|o| o.key()).collect();
    for key in keys {
        look(hub, kind, &key);
    }
}
