//! What the builtin kinds demand beyond their types: defaults, validation and the admission plugins (namespace
//! lifecycle, priority, limit ranges, quota, pod security, service accounts).

pub(crate) mod devices;
pub(crate) mod pods;
pub(crate) mod quota;
pub(crate) mod security;

use crate::error::{Cause, Failure};
use crate::hub::Hub;
use crate::quantity;
use crate::store::Inner;
use crate::verbs::Write;
use serde_json::{Value, json};

/// Defaults of a builtin kind; does nothing for others.
pub(crate) fn default_builtin(id: &str, value: &mut Value) {
    match id {
        "pods" => pods::default(value),
        "namespaces" => {
            if value["spec"]["finalizers"].is_null() && value["metadata"]["deletionTimestamp"].is_null() {
                value["spec"]["finalizers"] = json!(["kubernetes"]);
            }
            let name = value["metadata"]["name"].clone();
            value["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            if value["status"]["phase"].is_null() {
                value["status"]["phase"] = "Active".into();
            }
        }
        "persistentvolumeclaims" => {
            let spec = &mut value["spec"];
            if spec["volumeMode"].is_null() {
                spec["volumeMode"] = "Filesystem".into();
            }
            if value["status"]["phase"].is_null() {
                value["status"]["phase"] = "Pending".into();
            }
        }
        "services" => {
            let spec = &mut value["spec"];
            for (field, default) in [("type", "ClusterIP"), ("sessionAffinity", "None")] {
                if spec[field].is_null() {
                    spec[field] = default.into();
                }
            }
            for port in spec["ports"].as_array_mut().into_iter().flatten() {
                if port["protocol"].is_null() {
                    port["protocol"] = "TCP".into();
                }
                if port["targetPort"].is_null() {
                    port["targetPort"] = port["port"].clone();
                }
            }
        }
        "secrets" => {
            if let Some(plain) = value.as_object_mut().and_then(|m| m.shift_remove("stringData")) {
                use base64::Engine as _;
                for (k, v) in plain.as_object().into_iter().flatten() {
                    let text = v.as_str().unwrap_or("");
                    value["data"][k] = base64::engine::general_purpose::STANDARD.encode(text).into();
                }
            }
            if value["type"].is_null() {
                value["type"] = "Opaque".into();
            }
        }
        "priorityclasses.scheduling.k8s.io" if value["preemptionPolicy"].is_null() => {
            value["preemptionPolicy"] = "PreemptLowerPriority".into();
        }
        "storageclasses.storage.k8s.io" => {
            for (field, default) in [("reclaimPolicy", "Delete"), ("volumeBindingMode", "Immediate")] {
                if value[field].is_null() {
                    value[field] = default.into();
                }
            }
        }
        "resourceclaims.resource.k8s.io" | "resourceclaimtemplates.resource.k8s.io" => {
            let spec = if id.starts_with("resourceclaims") {
                &mut value["spec"]
            } else {
                &mut value["spec"]["spec"]
            };
            for request in spec["devices"]["requests"].as_array_mut().into_iter().flatten() {
                if request["exactly"].is_object() {
                    if request["exactly"]["allocationMode"].is_null() {
                        request["exactly"]["allocationMode"] = "ExactCount".into();
                    }
                    if request["exactly"]["allocationMode"] == "ExactCount"
                        && request["exactly"]["count"].is_null()
                    {
                        request["exactly"]["count"] = 1.into();
                    }
                }
            }
        }
        _ => {}
    }
}

fn immutable(causes: &mut Vec<Cause>, field: &str, old: &Value, new: &Value) {
    if old != new {
        causes.push(Cause::invalid(field, new, "field is immutable"));
    }
}

/// Validation of a builtin kind.
pub(crate) fn validate_builtin(
    id: &str,
    subresource: &str,
    value: &Value,
    old: Option<&Value>,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    match id {
        "pods" => pods::validate(subresource, value, old, &mut causes),
        "configmaps" | "secrets" => {
            if let Some(old) = old
                && old["immutable"] == true
            {
                immutable(&mut causes, "data", &old["data"], &value["data"]);
            }
            if id == "secrets" {
                use base64::Engine as _;
                for (k, v) in value["data"].as_object().into_iter().flatten() {
                    if base64::engine::general_purpose::STANDARD.decode(v.as_str().unwrap_or("")).is_err() {
                        causes.push(Cause::invalid(format!("data[{k}]"), &Value::Null, "must be base64"));
                    }
                }
                if let Some(old) = old {
                    immutable(&mut causes, "type", &old["type"], &value["type"]);
                }
            }
        }
        "persistentvolumeclaims" => validate_claim(value, old, &mut causes),
        "priorityclasses.scheduling.k8s.io" => {
            if let Some(old) = old {
                immutable(&mut causes, "value", &old["value"], &value["value"]);
                immutable(
                    &mut causes,
                    "preemptionPolicy",
                    &old["preemptionPolicy"],
                    &value["preemptionPolicy"],
                );
            }
            let system = value["metadata"]["name"].as_str().unwrap_or("").starts_with("system-");
            if !system && value["value"].as_i64().unwrap_or(0) > 1_000_000_000 {
                causes.push(Cause::forbidden(
                    "value",
                    "maximum allowed value of a user defined priority is 1000000000",
                ));
            }
        }
        "clusterrolebindings.rbac.authorization.k8s.io" | "rolebindings.rbac.authorization.k8s.io" => {
            if let Some(old) = old {
                immutable(&mut causes, "roleRef", &old["roleRef"], &value["roleRef"]);
            }
        }
        "resourceclaims.resource.k8s.io" => {
            devices::validate_spec(&value["spec"], "spec", &mut causes);
            if let Some(old) = old {
                immutable(&mut causes, "spec", &old["spec"], &value["spec"]);
                devices::validate_status(old, value, &mut causes);
            }
        }
        "resourceclaimtemplates.resource.k8s.io" => {
            devices::validate_spec(&value["spec"]["spec"], "spec.spec", &mut causes);
        }
        "resourceslices.resource.k8s.io" => {
            if value["spec"]["nodeName"].as_str().unwrap_or("").is_empty() {
                causes.push(Cause::required(
                    "spec.nodeName",
                    "this cluster serves devices of one node per slice",
                ));
            }
            if !value["spec"]["sharedCounters"].is_null() {
                causes.push(Cause::forbidden(
                    "spec.sharedCounters",
                    "partitionable devices are not served here",
                ));
            }
        }
        "services" => {
            let kind = value["spec"]["type"].as_str().unwrap_or("ClusterIP");
            if kind != "ExternalName"
                && value["spec"]["clusterIP"] != "None"
                && value["spec"]["ports"].as_array().is_none_or(Vec::is_empty)
            {
                causes.push(Cause::required("spec.ports", ""));
            }
        }
        "leases.coordination.k8s.io"
            if value["spec"]["leaseDurationSeconds"].as_i64().is_some_and(|s| s <= 0) =>
        {
            causes.push(Cause::invalid(
                "spec.leaseDurationSeconds",
                &value["spec"]["leaseDurationSeconds"],
                "must be greater than 0",
            ));
        }
        _ => {}
    }
    causes
}

fn validate_claim(value: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    let modes = value["spec"]["accessModes"].as_array();
    if modes.is_none_or(Vec::is_empty) {
        causes.push(Cause::required("spec.accessModes", "at least 1 access mode is required"));
    }
    for mode in modes.into_iter().flatten() {
        if !matches!(
            mode.as_str(),
            Some("ReadWriteOnce" | "ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOncePod")
        ) {
            causes.push(Cause::invalid("spec.accessModes", mode, "unknown access mode"));
        }
    }
    let size =
        |v: &Value| v["spec"]["resources"]["requests"]["storage"].as_str().and_then(quantity::parse_milli);
    match size(value) {
        None => causes.push(Cause::required("spec.resources[storage]", "")),
        Some(n) if n <= 0 => causes.push(Cause::invalid(
            "spec.resources[storage]",
            &value["spec"]["resources"]["requests"]["storage"],
            "must be greater than zero",
        )),
        _ => {}
    }
    if let Some(old) = old {
        let bare = |v: &Value| {
            let mut spec = v["spec"].clone();
            if let Some(map) = spec.as_object_mut() {
                map.shift_remove("resources");
                map.shift_remove("volumeAttributesClassName");
                map.shift_remove("volumeName");
                map.shift_remove("storageClassName");
            }
            spec
        };
        if bare(old) != bare(value) {
            causes.push(Cause::forbidden(
                "spec",
                "spec is immutable after creation except resources.requests for bound claims",
            ));
        }
        if size(value) < size(old) {
            causes.push(Cause::forbidden(
                "spec.resources.requests.storage",
                "field can not be less than status.capacity",
            ));
        }
    }
}

/// Admission of a new object.
pub(crate) fn on_create(hub: &Hub, tx: &mut Inner, w: &Write<'_>, value: &mut Value) -> Result<(), Failure> {
    let res = w.resource;
    let name = value["metadata"]["name"].as_str().unwrap_or("").to_owned();
    if res.namespaced {
        let namespace = tx
            .get("namespaces", "", w.namespace)
            .ok_or_else(|| Failure::not_found("", "namespaces", w.namespace))?;
        if namespace.terminating() {
            let why = format!(
                "unable to create new content in namespace {} because it is being terminated",
                w.namespace
            );
            let mut failure = res.forbidden(&name, &why);
            if let Some(details) = failure.details.as_mut() {
                details["causes"] = json!([{
                    "reason": "NamespaceTerminating",
                    "message": format!("namespace {} is being terminated", w.namespace),
                    "field": "metadata.namespace",
                }]);
            }
            return Err(failure);
        }
    }
    match res.id.as_str() {
        "pods" => {
            pods::resolve_priority(tx, res, value)?;
            pods::service_account(tx, w, &name, value)?;
            quota::limit_ranges(tx, w, &name, value)?;
            pods::after_limits(value);
            security::check(tx, w, &name, value)?;
            quota::check(tx, w, &name, value)?;
        }
        "persistentvolumes" => {
            value["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]);
        }
        "persistentvolumeclaims" => {
            pods::default_storage_class(tx, value);
            value["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
            quota::check(tx, w, &name, value)?;
        }
        "rolebindings.rbac.authorization.k8s.io"
        | "clusterrolebindings.rbac.authorization.k8s.io"
        | "roles.rbac.authorization.k8s.io"
        | "clusterroles.rbac.authorization.k8s.io" => {
            crate::rbac::no_escalation(tx, w, value)?;
        }
        "services" | "configmaps" | "secrets" => quota::check(tx, w, &name, value)?,
        _ => {}
    }
    let _ = hub;
    Ok(())
}

/// Admission of a change.
pub(crate) fn on_update(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    old: &Value,
    new: &mut Value,
) -> Result<(), Failure> {
    let adds_finalizer = |old: &Value, new: &Value| {
        let list = |v: &Value| v["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let before = list(old);
        list(new).into_iter().any(|f| !before.contains(&f))
    };
    if old["metadata"]["deletionTimestamp"].is_string() && adds_finalizer(old, new) {
        let why = [Cause::forbidden(
            "metadata.finalizers",
            "no new finalizers can be added if the object is being deleted",
        )];
        return Err(Failure::invalid(&w.resource.group, &w.resource.kind, w.name, &why));
    }
    if w.resource.group == "rbac.authorization.k8s.io" {
        crate::rbac::no_escalation(tx, w, new)?;
    }
    let _ = hub;
    Ok(())
}
