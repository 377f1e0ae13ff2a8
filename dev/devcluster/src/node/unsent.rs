//! The status that kubelets report, and statuses that wait while they do not reach the API server.

use std::sync::Arc;

use objects::json::items;
use objects::json::text;
use objects::pod::{NODE_NOT_READY, container, container_status};
use objects::store::Object;
use serde_json::Value;

use crate::hub::Hub;
use crate::report::{self, update_pod};

/// Changes the status of a pod, or keeps the change until the kubelet reaches the API server.
pub(super) fn write(hub: &Hub, node: &str, pod: &Object, change: impl FnOnce(&mut Value)) {
    let mut unsent = hub.kubelets.unsent.lock();
    let kept = unsent.remove(pod.uid());
    if hub.faults.kubelet_reaches(node) {
        update_pod(hub, pod, "kubelet", |status| {
            if let Some(kept) = kept {
                *status = kept;
            }
            change(status);
        });
        return;
    }
    let stored =
        || hub.store.lock().get("pods", pod.namespace(), pod.name()).filter(|p| p.uid() == pod.uid());
    let mut status = kept.unwrap_or_else(|| stored().map_or(Value::Null, |pod| pod.value["status"].clone()));
    change(&mut status);
    unsent.insert(pod.uid().to_owned(), status);
}

/// Sends the reports that were kept, and reports a pod as ready again that the node controller has marked.
pub(super) fn send(hub: &Hub, pod: &Arc<Object>) {
    let kept = hub.kubelets.unsent.lock().remove(pod.uid());
    let marked = |status: &Value| {
        items(&status["conditions"]).iter().any(|c| c["type"] == "Ready" && c["reason"] == NODE_NOT_READY)
    };
    let ready = container_status(&pod.value)["ready"] == true;
    if kept.is_none() && !(ready && marked(&pod.value["status"])) {
        return;
    }
    let name = text(&container(&pod.value)["name"]);
    update_pod(hub, pod, "kubelet", |status| {
        if let Some(kept) = kept {
            *status = kept;
        }
        if marked(status) && status["containerStatuses"][0]["ready"] == true {
            report::set_ready(status, name, true, false);
        }
    });
}
