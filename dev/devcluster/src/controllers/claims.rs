//! Resource claims: reserves allocated claims for pods that were not bound by the scheduler, and releases the devices
//! of claims whose pods are gone. Reservations of other objects are kept.

use std::sync::Arc;

use objects::json::{contains, items, remove, text};
use objects::pod::is_over;
use objects::resource_claim::{CLAIMS, FINALIZER};
use objects::store::{Inner, Key, Object};
use serde_json::{Value, json};

use crate::faults::Part;
use crate::hub::Hub;
use crate::isolation::isolated;
use crate::verbs::system;

pub(crate) async fn run(hub: Arc<Hub>) {
    let mut feed = hub.store.feed(&["pods", CLAIMS]);
    while let Some(event) = hub.stop.run_until_cancelled(hub.faults.next(&Part::Controllers, &mut feed)).await
    {
        let pods_ended = !event.deleted().is_empty()
            || event.present().iter().any(|o| o.value["kind"] == "Pod" && is_over(&o.value));
        let claims: Vec<Arc<Object>> = if pods_ended {
            hub.store.lock().list(CLAIMS, "").cloned().collect()
        } else {
            event.present().into_iter().filter(|o| o.value["kind"] == "ResourceClaim").cloned().collect()
        };
        for pod in event.present().into_iter().filter(|o| o.value["kind"] == "Pod" && !is_done(o)) {
            isolated("claims", pod, || reserve(&mut hub.store.lock(), pod));
        }
        for claim in claims {
            isolated("claims", &claim, || release(&hub, &mut hub.store.lock(), &claim.key()));
        }
    }
}

fn reserve(tx: &mut Inner, pod: &Object) {
    if text(&pod.value["spec"]["nodeName"]).is_empty() {
        return;
    }
    for entry in items(&pod.value["spec"]["resourceClaims"]) {
        let Some(claim) = tx.get(CLAIMS, pod.namespace(), text(&entry["resourceClaimName"])) else {
            continue;
        };
        let status = &claim.value["status"];
        let is_user = |user: &Value| user["uid"] == pod.uid();
        if status["allocation"].is_object() && !items(&status["reservedFor"]).iter().any(is_user) {
            let mut value = claim.value.clone();
            let mut users = items(&status["reservedFor"]).to_vec();
            users.push(json!({ "resource": "pods", "name": pod.name(), "uid": pod.uid() }));
            value["status"]["reservedFor"] = users.into();
            system::update_status(tx, CLAIMS, &claim, value, "resource-claim-controller");
        }
    }
}

/// Whether the pod does not run and will not run any more.
fn is_done(pod: &Object) -> bool {
    is_over(&pod.value) || pod.terminating() && text(&pod.value["spec"]["nodeName"]).is_empty()
}

/// Removes ended pods from a claim's reservations. A claim without reservations loses its devices when the
/// last user ends or when the claim is deleted.
fn release(hub: &Hub, tx: &mut Inner, key: &Key) {
    let Some(claim) = tx.get(CLAIMS, &key.0, &key.1) else { return };
    let users = items(&claim.value["status"]["reservedFor"]);
    let uses = |r: &&Value| {
        let is_pod = text(&r["apiGroup"]).is_empty() && r["resource"] == "pods";
        let pod = tx.get("pods", &key.0, text(&r["name"]));
        !is_pod || pod.is_some_and(|p| p.uid() == text(&r["uid"]) && !is_done(&p))
    };
    let left: Vec<Value> = users.iter().filter(uses).cloned().collect();
    let fewer = left.len() < users.len();
    let allocated = contains(&claim.value["metadata"]["finalizers"], FINALIZER);
    let unused = left.is_empty() && allocated && (fewer || claim.terminating());
    if !fewer && !unused {
        return;
    }
    let mut value = claim.value.clone();
    let status = &mut value["status"];
    if left.is_empty() {
        remove(status, "reservedFor");
    } else {
        status["reservedFor"] = left.into();
    }
    if unused {
        remove(status, "allocation");
        remove(status, "devices");
    }
    let claim = system::update_status(tx, CLAIMS, &claim, value, "resource-claim-controller");
    if unused {
        system::remove_finalizers(hub, tx, CLAIMS, &claim, &[FINALIZER]);
    }
}
