//! Pod admission of the kubelets.

use super::volumes::Blocked;
use crate::hub::Hub;
use crate::json::{items, text};
use crate::pod::is_over;
use crate::report::update_pod;
use crate::scheduler;
use crate::store::Object;
use std::collections::HashMap;
use std::sync::Arc;

/// Whether the pod is one of those that its node's kubelet has admitted, or fits beside them. One that does not has
/// failed.
pub(super) fn admit(hub: &Hub, pod: &Arc<Object>, admitted: &mut HashMap<String, Arc<Object>>) -> bool {
    let was_admitted = admitted.contains_key(pod.uid()) || !pod.value["status"]["startTime"].is_null();
    let is_over = is_over(&pod.value);
    let missing = if was_admitted || is_over || pod.terminating() {
        None
    } else {
        let node = hub.store.lock().get("nodes", "", text(&pod.value["spec"]["nodeName"]));
        node.and_then(|node| scheduler::missing(&node, admitted.values(), pod))
    };
    if is_over {
        admitted.remove(pod.uid());
    } else if missing.is_none() {
        admitted.insert(pod.uid().to_owned(), pod.clone());
    }
    let Some(resource) = missing else { return true };
    update_pod(hub, pod, "kubelet", |status| {
        status["phase"] = "Failed".into();
        status["reason"] = format!("OutOf{resource}").into();
        status["message"] = format!("Pod was rejected: Node didn't have enough resource: {resource}").into();
    });
    false
}

/// Whether the devices of the pod are reserved for it.
pub(super) fn devices(hub: &Hub, pod: &Object) -> Result<(), Blocked> {
    let tx = hub.store.lock();
    for entry in items(&pod.value["spec"]["resourceClaims"]) {
        let name = text(&entry["resourceClaimName"]);
        let claim = tx.get(scheduler::CLAIMS, pod.namespace(), name);
        let is_user = |user: &serde_json::Value| user["uid"] == pod.uid();
        if !claim.is_some_and(|claim| items(&claim.value["status"]["reservedFor"]).iter().any(is_user)) {
            let message =
                format!("failed to prepare dynamic resources: the claim {name} is not reserved for the pod");
            return Err(Blocked { reason: "ContainerCreating", message });
        }
    }
    Ok(())
}
