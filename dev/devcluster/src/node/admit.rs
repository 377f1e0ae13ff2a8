//! Pod admission of the kubelets.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use objects::json::{items, text};
use objects::pod::is_over;
use objects::resource_claim::CLAIMS;
use objects::store::Object;

use super::volumes::Blocked;
use crate::hub::Hub;
use crate::report::update_pod;
use crate::scheduler::Admitted;

/// Whether the pod is one of those that its node's kubelet has admitted, or fits in addition to them. A pod
/// that does not fit has failed.
pub(super) fn admit(hub: &Hub, pod: &Arc<Object>, admitted: &mut HashMap<String, Admitted>) -> bool {
    let name = text(&pod.value["spec"]["nodeName"]);
    let node = hub.store.lock().get("nodes", "", name);
    let admitted = match (admitted.entry(name.to_owned()), &node) {
        (Entry::Occupied(found), _) => found.into_mut(),
        (Entry::Vacant(new), Some(node)) => new.insert(Admitted::to(node)),
        (Entry::Vacant(_), None) => return true,
    };
    if is_over(&pod.value) {
        return true;
    }
    let is_known = admitted.contains(pod.uid());
    let was_admitted = is_known || !pod.value["status"]["startTime"].is_null() || pod.terminating();
    let missing = node.filter(|_| !was_admitted).and_then(|node| admitted.missing(&node, pod));
    let Some(resource) = missing else {
        if !is_known {
            admitted.add(pod);
        }
        return true;
    };
    update_pod(hub, pod, "kubelet", |status| {
        status["phase"] = "Failed".into();
        status["reason"] = format!("OutOf{resource}").into();
        status["message"] = format!("Pod was rejected: Node didn't have enough resource: {resource}").into();
    });
    false
}

/// Whether the node has the handler of the pod's runtime class.
pub(super) fn runtime(hub: &Hub, pod: &Object) -> Result<(), Blocked> {
    let class = text(&pod.value["spec"]["runtimeClassName"]);
    if class.is_empty() {
        return Ok(());
    }
    let tx = hub.store.lock();
    let found = tx.get("runtimeclasses.node.k8s.io", "", class);
    let node = tx.get("nodes", "", text(&pod.value["spec"]["nodeName"]));
    let why = match &found {
        None => format!("failed to get sandbox runtime: RuntimeClass \"{class}\" not found"),
        Some(found) => {
            let handler = &found.value["handler"];
            let is_one = |known: &serde_json::Value| known["name"] == *handler;
            if node.is_some_and(|node| items(&node.value["status"]["runtimeHandlers"]).iter().any(is_one)) {
                return Ok(());
            }
            format!("failed to get sandbox runtime: no runtime for {handler} is configured")
        }
    };
    Err(Blocked { reason: "ContainerCreating", message: format!("Failed to create pod sandbox: {why}") })
}

/// Whether the devices of the pod are reserved for it.
pub(super) fn devices(hub: &Hub, pod: &Object) -> Result<(), Blocked> {
    let tx = hub.store.lock();
    for entry in items(&pod.value["spec"]["resourceClaims"]) {
        let name = text(&entry["resourceClaimName"]);
        let claim = tx.get(CLAIMS, pod.namespace(), name);
        let is_user = |user: &serde_json::Value| user["uid"] == pod.uid();
        if !claim.is_some_and(|claim| items(&claim.value["status"]["reservedFor"]).iter().any(is_user)) {
            let message =
                format!("failed to prepare dynamic resources: the claim {name} is not reserved for the pod");
            return Err(Blocked { reason: "ContainerCreating", message });
        }
    }
    Ok(())
}
