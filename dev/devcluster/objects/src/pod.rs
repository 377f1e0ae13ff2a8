//! Questions about pods and nodes as JSON values.

use crate::json::{items, text};
use serde_json::Value;

/// Why a pod on a lost node is not ready.
pub const NODE_NOT_READY: &str = "NodeNotReady";

/// Whether a pod has succeeded or failed.
pub fn is_over(pod: &Value) -> bool {
    matches!(text(&pod["status"]["phase"]), "Succeeded" | "Failed")
}

/// The only container of a pod.
pub fn container(pod: &Value) -> &Value {
    &pod["spec"]["containers"][0]
}

/// The status of the only container of a pod.
pub fn container_status(pod: &Value) -> &Value {
    &pod["status"]["containerStatuses"][0]
}

/// Whether a pod mounts a claim.
pub fn mounts(pod: &Value, claim: &str) -> bool {
    items(&pod["spec"]["volumes"]).iter().any(|v| v["persistentVolumeClaim"]["claimName"] == claim)
}

/// Whether a toleration matches a taint.
pub fn tolerates(toleration: &Value, taint: &Value) -> bool {
    let (key, effect) = (text(&toleration["key"]), text(&toleration["effect"]));
    let exists = toleration["operator"] == "Exists";
    (effect.is_empty() || taint["effect"] == effect)
        && (key.is_empty() && exists || taint["key"] == key)
        && (exists || text(&toleration["value"]) == text(&taint["value"]))
}
