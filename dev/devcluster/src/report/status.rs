//! Conditions and pod status.

use std::sync::Arc;

use objects::store::Object;
use objects::time::now;
use serde_json::{Value, json};

use crate::hub::Hub;
use crate::verbs::system;

/// Sets a condition in a status. The transition time changes only with the condition's status.
pub(crate) fn set_condition(status: &mut Value, kind: &str, holds: &str, reason: &str, message: &str) {
    let mut fresh =
        json!({ "type": kind, "status": holds, "lastTransitionTime": now(), "lastProbeTime": null });
    if !reason.is_empty() {
        fresh["reason"] = reason.into();
    }
    if !message.is_empty() {
        fresh["message"] = message.into();
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(all) = status["conditions"].as_array_mut() else { return };
    match all.iter_mut().find(|c| c["type"] == kind) {
        Some(c) => {
            if c["status"] == fresh["status"] {
                fresh["lastTransitionTime"] = c["lastTransitionTime"].clone();
            }
            *c = fresh;
        }
        None => all.push(fresh),
    }
}

/// Changes the status of a pod. Returns `None` if the pod was deleted or replaced.
pub(crate) fn update_pod(
    hub: &Hub,
    pod: &Object,
    manager: &str,
    change: impl FnOnce(&mut Value),
) -> Option<Arc<Object>> {
    let mut tx = hub.store.lock();
    let current = tx.get("pods", pod.namespace(), pod.name()).filter(|c| c.uid() == pod.uid())?;
    let mut value = current.value.clone();
    change(&mut value["status"]);
    Some(system::update_status(&mut tx, "pods", &current, value, manager))
}

/// Sets the conditions of a pod by the readiness of its container.
pub(crate) fn set_ready(status: &mut Value, container: &str, ready: bool, completed: bool) {
    let holds = if ready { "True" } else { "False" };
    let (reason, message) = match (ready, completed) {
        (true, _) => ("", String::new()),
        (false, true) => ("PodCompleted", String::new()),
        (false, false) => ("ContainersNotReady", format!("containers with unready status: [{container}]")),
    };
    set_condition(status, "Initialized", "True", "", "");
    set_condition(status, "Ready", holds, reason, &message);
    set_condition(status, "ContainersReady", holds, reason, &message);
    set_condition(status, "PodScheduled", "True", "", "");
}
