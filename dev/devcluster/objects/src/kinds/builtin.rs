//! The builtin kinds. Objects are checked against the Kubernetes types of k8s-openapi.

use super::{Resource, TypeCheck};
use k8s_openapi::api::{
    coordination::v1 as coordination, core::v1 as core, events::v1 as events, networking::v1 as networking,
    node::v1 as node, rbac::v1 as rbac, resource::v1 as resource, scheduling::v1 as scheduling,
    storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

fn typed<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, String> {
    let object = T::deserialize(value).map_err(|e| e.to_string())?;
    serde_json::to_value(object).map_err(|e| e.to_string())
}

const NAMESPACED: u8 = 1;
const STATUS: u8 = 2;
const GENERATION: u8 = 4;

/// A kind of version v1.
fn row(group: &str, kind: &str, plural: &str, short: &[&str], flags: u8, check: TypeCheck) -> Resource {
    Resource {
        id: if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") },
        group: group.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short: short.iter().map(|&s| s.to_owned()).collect(),
        namespaced: flags & NAMESPACED != 0,
        generation: flags & GENERATION != 0,
        status: flags & STATUS != 0,
        selectable: Vec::new(),
        check: Some(check),
        schema: None,
        columns: Vec::new(),
    }
}

/// Every builtin kind.
#[rustfmt::skip]
pub fn table() -> Vec<Resource> {
    const N: u8 = NAMESPACED;
    const S: u8 = STATUS;
    const G: u8 = GENERATION;
    let (rbac, dra) = ("rbac.authorization.k8s.io", "resource.k8s.io");
    vec![
        row("", "Namespace", "namespaces", &["ns"], S, typed::<core::Namespace>),
        row("", "Node", "nodes", &["no"], S, typed::<core::Node>),
        row("", "Pod", "pods", &["po"], N | S | G, typed::<core::Pod>),
        row("", "Secret", "secrets", &[], N, typed::<core::Secret>),
        row("", "ConfigMap", "configmaps", &["cm"], N, typed::<core::ConfigMap>),
        row("", "PersistentVolumeClaim", "persistentvolumeclaims", &["pvc"], N | S, typed::<core::PersistentVolumeClaim>),
        row("", "PersistentVolume", "persistentvolumes", &["pv"], S, typed::<core::PersistentVolume>),
        row("", "ServiceAccount", "serviceaccounts", &["sa"], N, typed::<core::ServiceAccount>),
        row("", "Event", "events", &["ev"], N, typed::<core::Event>),
        row("", "ResourceQuota", "resourcequotas", &["quota"], N | S, typed::<core::ResourceQuota>),
        row("", "LimitRange", "limitranges", &["limits"], N, typed::<core::LimitRange>),
        row("events.k8s.io", "Event", "events", &["ev"], N, typed::<events::Event>),
        row("scheduling.k8s.io", "PriorityClass", "priorityclasses", &["pc"], 0, typed::<scheduling::PriorityClass>),
        row("coordination.k8s.io", "Lease", "leases", &[], N, typed::<coordination::Lease>),
        row("networking.k8s.io", "NetworkPolicy", "networkpolicies", &["netpol"], N | G, typed::<networking::NetworkPolicy>),
        row("node.k8s.io", "RuntimeClass", "runtimeclasses", &[], 0, typed::<node::RuntimeClass>),
        row("storage.k8s.io", "StorageClass", "storageclasses", &["sc"], 0, typed::<storage::StorageClass>),
        row(rbac, "ClusterRole", "clusterroles", &[], 0, typed::<rbac::ClusterRole>),
        row(rbac, "ClusterRoleBinding", "clusterrolebindings", &[], 0, typed::<rbac::ClusterRoleBinding>),
        row(rbac, "Role", "roles", &[], N, typed::<rbac::Role>),
        row(rbac, "RoleBinding", "rolebindings", &[], N, typed::<rbac::RoleBinding>),
        row(dra, "DeviceClass", "deviceclasses", &[], G, typed::<resource::DeviceClass>),
        row(dra, "ResourceClaim", "resourceclaims", &[], N | S, typed::<resource::ResourceClaim>),
        row(dra, "ResourceSlice", "resourceslices", &[], G, typed::<resource::ResourceSlice>),
        row("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", &["crd", "crds"], S | G, typed::<apiextensions::CustomResourceDefinition>),
    ]
}

/// Turns numbers in quantity fields into strings.
pub fn quantities_as_text(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (key, child) in map.iter_mut() {
                if matches!(
                    key.as_str(),
                    "limits"
                        | "requests"
                        | "capacity"
                        | "allocatable"
                        | "hard"
                        | "used"
                        | "overhead"
                        | "podFixed"
                ) {
                    if let Value::Object(entries) = child {
                        for v in entries.values_mut().filter(|v| v.is_number()) {
                            *v = Value::String(v.to_string());
                        }
                    }
                } else if key == "sizeLimit" && child.is_number() {
                    *child = Value::String(child.to_string());
                }
                quantities_as_text(child);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(quantities_as_text),
        _ => {}
    }
}

/// Removes null fields: in builtin kinds they mean the same as absent ones.
pub fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Removes the fields of `value` that `known` lacks, and adds their paths to `dropped`.
pub fn keep_known(value: &mut Value, known: &Value, path: &str, dropped: &mut Vec<String>) {
    match (value, known) {
        (Value::Object(map), Value::Object(known)) => {
            let all: Vec<String> = map.keys().cloned().collect();
            for key in all {
                let here = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match known.get(&key) {
                    Some(k) => {
                        if let Some(v) = map.get_mut(&key) {
                            keep_known(v, k, &here, dropped);
                        }
                    }
                    None => {
                        if map.shift_remove(&key).is_some_and(|v| !v.is_null()) {
                            dropped.push(here);
                        }
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(known)) => {
            for (i, (v, k)) in items.iter_mut().zip(known).enumerate() {
                keep_known(v, k, &format!("{path}[{i}]"), dropped);
            }
        }
        _ => {}
    }
}
