//! Pods of fake nodes: running and ready at once, gone at once.

use std::sync::Arc;

use objects::json::text;
use objects::pod::container;
use objects::store::Object;
use objects::time::now;
use serde_json::json;

use super::remove;
use crate::hub::Hub;
use crate::report::{set_ready, update_pod};

pub(super) fn run(hub: &Hub, pod: &Arc<Object>) {
    if pod.terminating() {
        if pod.value["metadata"]["deletionGracePeriodSeconds"].as_i64() != Some(0) {
            remove(hub, pod);
        }
        return;
    }
    if pod.value["status"]["phase"] != "Pending" || pod.value["status"]["containerStatuses"].is_array() {
        return;
    }
    let address = hub.runtime.addresses.allocate();
    let container = container(&pod.value);
    let (name, image) = (text(&container["name"]), &container["image"]);
    let updated = update_pod(hub, pod, "kubelet", |s| {
        let time = now();
        s["phase"] = "Running".into();
        s["podIP"] = address.clone().into();
        s["podIPs"] = json!([{ "ip": address }]);
        s["hostIP"] = "127.0.0.1".into();
        s["startTime"] = time.clone().into();
        s["containerStatuses"] = json!([{
            "name": name, "image": image, "imageID": "", "ready": true, "started": true, "restartCount": 0,
            "state": { "running": { "startedAt": time } }, "lastState": {},
        }]);
        set_ready(s, name, true, false);
    });
    if updated.is_none() {
        hub.runtime.addresses.release(&address);
    }
}
