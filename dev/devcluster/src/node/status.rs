//! Pod status as a kubelet writes it.

use crate::error::Failure;
use crate::hub::{Hub, now};
use crate::store::Object;
use crate::verbs::{self, Write};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    object["status"]["conditions"].as_array()?.iter().find(|c| c["type"] == kind)
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    condition(pod, "Ready").is_some_and(|c| c["status"] == "True")
}

/// Sets a condition in a status; the transition time moves only when the status does.
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

/// Changes the status of one incarnation of a pod; a pod that is gone or was replaced is left alone.
pub(crate) fn update(
    hub: &Hub,
    pod: &Object,
    manager: &str,
    change: impl FnOnce(&mut Value),
) -> Result<Arc<Object>, Failure> {
    let resource = hub.kind("pods");
    let w = Write::internal(&resource, pod.namespace(), pod.name(), manager).status();
    let mut tx = hub.store.lock();
    let current = tx
        .get("pods", pod.namespace(), pod.name())
        .filter(|c| c.uid() == pod.uid())
        .ok_or_else(|| resource.not_found(pod.name()))?;
    let mut value = current.value.clone();
    if !value["status"].is_object() {
        value["status"] = json!({});
    }
    change(&mut value["status"]);
    verbs::system_update(&mut tx, &w, &current, value)
}

/// The pod's conditions for whether its container is ready.
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
