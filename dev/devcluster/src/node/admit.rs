//! What a kubelet asks before it starts a pod that somebody has bound to its node.

use super::volumes::Blocked;
use crate::hub::Hub;
use crate::json::{items, text};
use crate::pod::is_over;
use crate::report::update_pod;
use crate::scheduler;
use crate::store::Object;
use std::sync::Arc;

/// Whether the pod fits on its node beside those that its kubelet knows. One that does not has failed.
pub(super) fn admit(hub: &Hub, pod: &Arc<Object>, knows: impl Fn(&Object) -> bool) -> bool {
    if is_over(&pod.value) || pod.terminating() || !pod.value["status"]["startTime"].is_null() {
        return true;
    }
    let missing = {
        let tx = hub.store.lock();
        let name = text(&pod.value["spec"]["nodeName"]);
        let Some(node) = tx.get("nodes", "", name) else { return true };
        let is_there = |other: &&Arc<Object>| {
            let value = &other.value;
            text(&value["spec"]["nodeName"]) == name
                && other.uid() != pod.uid()
                && !is_over(value)
                && (!value["status"]["startTime"].is_null() || knows(other))
        };
        scheduler::missing(&node, tx.list("pods", "").filter(is_there), pod)
    };
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
