//! Validation of the builtin kinds, beyond their types.

use super::{devices, pods};
use crate::error::Cause;
use crate::json::{entries, items, quantity, remove, text};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// Errors of an object; `old` is the version that it replaces.
pub fn validate(id: &str, subresource: &str, value: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let mut immutable = |field: &str| {
        if let Some(old) = old
            && old[field] != value[field]
        {
            causes.push(Cause::invalid(field, &value[field], "field is immutable"));
        }
    };
    match id {
        "configmaps" | "secrets" if old.is_some_and(|old| old["immutable"] == true) => immutable("data"),
        "secrets" => immutable("type"),
        "priorityclasses.scheduling.k8s.io" => {
            immutable("value");
            immutable("preemptionPolicy");
        }
        "clusterrolebindings.rbac.authorization.k8s.io" | "rolebindings.rbac.authorization.k8s.io" => {
            immutable("roleRef");
        }
        "resourceclaims.resource.k8s.io" => immutable("spec"),
        "runtimeclasses.node.k8s.io" => immutable("handler"),
        _ => {}
    }
    match id {
        "pods" => pods::validate(subresource, value, old, &mut causes),
        "secrets" => {
            for (key, _) in entries(&value["data"]).filter(|(_, v)| STANDARD.decode(text(v)).is_err()) {
                causes.push(Cause::invalid(format!("data[{key}]"), &Value::Null, "must be base64"));
            }
        }
        "runtimeclasses.node.k8s.io" if !is_label(text(&value["handler"])) => {
            let why = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            causes.push(Cause::invalid("handler", &value["handler"], why));
        }
        "persistentvolumeclaims" => validate_claim(value, old, &mut causes),
        "priorityclasses.scheduling.k8s.io" => {
            let system = text(&value["metadata"]["name"]).starts_with("system-");
            if !system && value["value"].as_i64().unwrap_or(0) > 1_000_000_000 {
                let why = "maximum allowed value of a user defined priority is 1000000000";
                causes.push(Cause::forbidden("value", why));
            }
        }
        "resourceclaims.resource.k8s.io" => {
            devices::validate_spec(&value["spec"], &mut causes);
            if let Some(old) = old {
                devices::validate_status(old, value, &mut causes);
            }
        }
        "resourceslices.resource.k8s.io" if text(&value["spec"]["nodeName"]).is_empty() => {
            causes
                .push(Cause::required("spec.nodeName", "this cluster serves devices of one node per slice"));
        }
        "leases.coordination.k8s.io" => {
            let seconds = &value["spec"]["leaseDurationSeconds"];
            if seconds.as_i64().is_some_and(|s| s <= 0) {
                let field = "spec.leaseDurationSeconds";
                causes.push(Cause::invalid(field, seconds, "must be greater than 0"));
            }
        }
        _ => {}
    }
    causes
}

fn is_label(text: &str) -> bool {
    let is_word = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&text.len())
        && text.bytes().all(|c| is_word(c) || c == b'-')
        && !text.starts_with('-')
        && !text.ends_with('-')
}

fn validate_claim(value: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const MODES: [&str; 4] = ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"];
    let modes = items(&value["spec"]["accessModes"]);
    if modes.is_empty() {
        causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    for mode in modes.iter().filter(|mode| !MODES.contains(&text(mode))) {
        causes.push(Cause::invalid("spec.accessModes", mode, "unknown access mode"));
    }
    let size = |v: &Value| quantity(&v["spec"]["resources"]["requests"]["storage"]);
    match size(value) {
        None => causes.push(Cause::required("spec.resources[storage]", "")),
        Some(..=0) => {
            let asked = &value["spec"]["resources"]["requests"]["storage"];
            causes.push(Cause::invalid("spec.resources[storage]", asked, "must be greater than zero"));
        }
        Some(_) => {}
    }
    let Some(old) = old else { return };
    let frozen = |v: &Value| {
        let mut spec = v["spec"].clone();
        for field in ["resources", "volumeAttributesClassName", "volumeName", "storageClassName"] {
            remove(&mut spec, field);
        }
        spec
    };
    if frozen(old) != frozen(value) {
        let why = "spec is immutable after creation except resources.requests for bound claims";
        causes.push(Cause::forbidden("spec", why));
    }
    if size(value) < size(old) {
        let why = "field can not be less than status.capacity";
        causes.push(Cause::forbidden("spec.resources.requests.storage", why));
    }
}
