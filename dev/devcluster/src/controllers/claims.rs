//! Resource claims beside their allocation: claims made from templates, and the release of devices when the pods
//! they were reserved for are gone. Reservations for anything but pods are others' business and are kept.

use crate::hub::Hub;
use crate::store::{Inner, Key, Object, Op};
use crate::verbs::{self, Write, delete};
use serde_json::{Value, json};
use std::sync::Arc;

const CLAIMS: &str = "resourceclaims.resource.k8s.io";
/// Keeps a claim with devices in being.
pub(crate) const FINALIZER: &str = "resource.kubernetes.io/delete-protection";
const TEMPLATES: &str = "resourceclaimtemplates.resource.k8s.io";

pub(crate) async fn run(hub: Arc<Hub>) {
    'anew: loop {
        let (pods, mut feed) = hub.store.subscribe("pods");
        let (_, mut templates) = hub.store.subscribe(TEMPLATES);
        let (_, mut claims) = hub.store.subscribe(CLAIMS);
        release(&hub);
        pods.iter().for_each(|p| from_templates(&hub, p));
        loop {
            tokio::select! {
                () = hub.stop.cancelled() => return,
                changes = feed.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    for c in changes.iter().filter(|c| c.object.value["spec"]["resourceClaims"].is_array()) {
                        let over = c.op == Op::Deleted || matches!(c.object.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
                        if over { release(&hub) } else { from_templates(&hub, &c.object) }
                    }
                }
                changes = claims.next() => {
                    let Ok(changes) = changes else { continue 'anew };
                    for c in changes.iter().filter(|c| c.op != Op::Deleted) {
                        sync(&hub, &mut hub.store.lock(), &c.object.key());
                    }
                }
                changes = templates.next() => {
                    if changes.is_err() { continue 'anew }
                    let pods: Vec<Arc<Object>> = hub.store.lock().list("pods", "").cloned().collect();
                    pods.iter().for_each(|p| from_templates(&hub, p));
                }
            }
        }
    }
}

/// Takes pods that are over out of the reservations of every claim.
fn release(hub: &Hub) {
    let mut tx = hub.store.lock();
    let all: Vec<Key> = tx.list(CLAIMS, "").map(|c| c.key()).collect();
    for key in all {
        sync(hub, &mut tx, &key);
    }
}

/// Nothing of the pod runs and nothing will.
fn is_done(pod: &Object) -> bool {
    matches!(pod.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"))
        || pod.terminating() && pod.value["spec"]["nodeName"].as_str().unwrap_or("").is_empty()
}

/// A claim gives its devices back in the moment its last user goes, or when it is deleted without any; then it may go.
fn sync(hub: &Hub, tx: &mut Inner, key: &Key) {
    let Some(claim) = tx.get(CLAIMS, &key.0, &key.1) else { return };
    let users = claim.value["status"]["reservedFor"].as_array().cloned().unwrap_or_default();
    let left: Vec<Value> = users
        .iter()
        .filter(|r| {
            let is_pod = r["apiGroup"].as_str().unwrap_or("").is_empty() && r["resource"] == "pods";
            !is_pod
                || tx
                    .get("pods", &key.0, r["name"].as_str().unwrap_or(""))
                    .is_some_and(|p| p.uid() == r["uid"].as_str().unwrap_or("") && !is_done(&p))
        })
        .cloned()
        .collect();
    let fewer = left.len() < users.len();
    let finalizers = claim.value["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
    let is_kept = finalizers.iter().any(|f| f == FINALIZER);
    let unused = left.is_empty() && is_kept && (fewer || claim.terminating());
    if !fewer && !unused {
        return;
    }
    let mut value = claim.value.clone();
    if let Some(status) = value["status"].as_object_mut() {
        if left.is_empty() {
            status.shift_remove("reservedFor");
        } else {
            status.insert("reservedFor".into(), left.into());
        }
        if unused {
            status.shift_remove("allocation");
            status.shift_remove("devices");
        }
    }
    let resource = hub.kind(CLAIMS);
    let w = Write::internal(&resource, &key.0, &key.1, "resource-claim-controller");
    let written = verbs::system_update(tx, &w.clone().status(), &claim, value).and_then(|claim| {
        if !unused {
            return Ok(());
        }
        let mut value = claim.value.clone();
        let left: Vec<Value> = finalizers.into_iter().filter(|f| f != FINALIZER).collect();
        value["metadata"]["finalizers"] = left.into();
        if delete::is_done(&value) {
            delete::finish(hub, tx, &resource, key);
            return Ok(());
        }
        verbs::system_update(tx, &w, &claim, value).map(drop)
    });
    if let Err(error) = written {
        tracing::error!(%error, claim = key.1, "claim not released");
    }
}

/// Makes the claims that a pod names by template.
fn from_templates(hub: &Hub, pod: &Arc<Object>) {
    let entries = pod.value["spec"]["resourceClaims"].as_array().cloned().unwrap_or_default();
    for entry in entries {
        let (Some(name), Some(template)) =
            (entry["name"].as_str(), entry["resourceClaimTemplateName"].as_str())
        else {
            continue;
        };
        if let Err(error) = from_template(hub, &pod.key(), pod.uid(), name, template) {
            tracing::debug!(%error, pod = pod.name(), "claim not made");
        }
    }
}

fn from_template(
    hub: &Hub,
    key: &Key,
    uid: &str,
    name: &str,
    template: &str,
) -> Result<(), crate::error::Failure> {
    let mut tx = hub.store.lock();
    let Some(pod) = tx.get("pods", &key.0, &key.1).filter(|p| p.uid() == uid && !p.terminating()) else {
        return Ok(());
    };
    let mut statuses = pod.value["status"]["resourceClaimStatuses"].as_array().cloned().unwrap_or_default();
    if statuses.iter().any(|s| s["name"] == name) {
        return Ok(());
    }
    let Some(template) = tx.get(TEMPLATES, &key.0, template) else { return Ok(()) };
    let resource = hub.kind(CLAIMS);
    let w = Write::internal(&resource, &key.0, "", "resource-claim-controller");
    let mut value =
        json!({ "metadata": template.value["spec"]["metadata"], "spec": template.value["spec"]["spec"] });
    value["metadata"]["generateName"] = format!("{}-{name}-", key.1).into();
    value["metadata"]["ownerReferences"] = json!([{ "apiVersion": "v1", "kind": "Pod", "name": key.1, "uid": uid, "controller": true, "blockOwnerDeletion": true }]);
    let made = verbs::create(hub, &mut tx, &w, value)?.object;
    statuses.push(json!({ "name": name, "resourceClaimName": made.name() }));
    let mut value = pod.value.clone();
    value["status"]["resourceClaimStatuses"] = statuses.into();
    let resource = hub.kind("pods");
    let w = Write::internal(&resource, &key.0, &key.1, "resource-claim-controller").status();
    verbs::system_update(&mut tx, &w, &pod, value).map(drop)
}
