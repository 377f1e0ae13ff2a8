//! Defaults of the builtin kinds.

use super::pods;
use crate::json::{entries, set_default, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

pub(super) fn set(id: &str, value: &mut Value) {
    match id {
        "pods" => pods::default(value),
        "namespaces" => {
            if value["metadata"]["deletionTimestamp"].is_null() {
                set_default(&mut value["spec"], "finalizers", json!(["kubernetes"]));
            }
            let name = value["metadata"]["name"].clone();
            value["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            set_default(&mut value["status"], "phase", "Active");
        }
        "persistentvolumeclaims" => {
            set_default(&mut value["spec"], "volumeMode", "Filesystem");
            set_default(&mut value["status"], "phase", "Pending");
        }
        "secrets" => {
            let plain = value.as_object_mut().and_then(|m| m.shift_remove("stringData")).unwrap_or_default();
            for (key, v) in entries(&plain) {
                value["data"][key] = STANDARD.encode(text(v)).into();
            }
            set_default(value, "type", "Opaque");
        }
        "priorityclasses.scheduling.k8s.io" => set_default(value, "preemptionPolicy", "PreemptLowerPriority"),
        "storageclasses.storage.k8s.io" => {
            set_default(value, "reclaimPolicy", "Delete");
            set_default(value, "volumeBindingMode", "Immediate");
        }
        "resourceclaims.resource.k8s.io" => {
            for request in value["spec"]["devices"]["requests"].as_array_mut().into_iter().flatten() {
                let exact = &mut request["exactly"];
                if exact.is_object() {
                    set_default(exact, "allocationMode", "ExactCount");
                    if exact["allocationMode"] == "ExactCount" {
                        set_default(exact, "count", 1);
                    }
                }
            }
        }
        _ => {}
    }
}
