//! The builtin kinds. Their types are the real ones (k8s-openapi): an object that does not fit them is refused.

use super::{Resource, Source, TypeCheck, Version};
use k8s_openapi::api::{
    authorization::v1 as authz, coordination::v1 as coordination, core::v1 as core, events::v1 as events,
    networking::v1 as networking, node::v1 as node, policy::v1 as policy, rbac::v1 as rbac,
    resource::v1 as resource, scheduling::v1 as scheduling, storage::v1 as storage,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

fn typed<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, String> {
    let object = T::deserialize(value).map_err(|e| e.to_string())?;
    serde_json::to_value(object).map_err(|e| e.to_string())
}

/// Checks the body of an `authorization.k8s.io` review, which is answered and never stored.
pub(crate) fn check_review(plural: &str, value: &Value) -> Result<Value, String> {
    match plural {
        "selfsubjectaccessreviews" => typed::<authz::SelfSubjectAccessReview>(value),
        _ => typed::<authz::SubjectAccessReview>(value),
    }
}

const NAMESPACED: u8 = 1;
const STATUS: u8 = 2;
const GENERATION: u8 = 4;

fn row(
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
    short: &[&str],
    flags: u8,
    check: TypeCheck,
) -> Resource {
    Resource {
        id: if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") },
        group: group.to_owned(),
        kind: kind.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        short: short.iter().map(|&s| s.to_owned()).collect(),
        categories: if matches!(plural, "pods" | "services") { vec!["all".into()] } else { Vec::new() },
        namespaced: flags & NAMESPACED != 0,
        generation: flags & GENERATION != 0,
        selectable: Vec::new(),
        versions: vec![Version {
            name: version.to_owned(),
            storage: true,
            status: flags & STATUS != 0,
            schema: None,
            columns: Vec::new(),
        }],
        source: Source::Builtin(check),
    }
}

/// Every builtin kind.
pub(crate) fn table() -> Vec<Resource> {
    const N: u8 = NAMESPACED;
    const S: u8 = STATUS;
    const G: u8 = GENERATION;
    let (rb, sc, st) = ("rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io");
    let dra = "resource.k8s.io";
    vec![
        row("", "v1", "Namespace", "namespaces", &["ns"], S, typed::<core::Namespace>),
        row("", "v1", "Node", "nodes", &["no"], S, typed::<core::Node>),
        row("", "v1", "Pod", "pods", &["po"], N | S | G, typed::<core::Pod>),
        row("", "v1", "Service", "services", &["svc"], N | S, typed::<core::Service>),
        row("", "v1", "Secret", "secrets", &[], N, typed::<core::Secret>),
        row("", "v1", "ConfigMap", "configmaps", &["cm"], N, typed::<core::ConfigMap>),
        row(
            "",
            "v1",
            "PersistentVolumeClaim",
            "persistentvolumeclaims",
            &["pvc"],
            N | S,
            typed::<core::PersistentVolumeClaim>,
        ),
        row("", "v1", "PersistentVolume", "persistentvolumes", &["pv"], S, typed::<core::PersistentVolume>),
        row("", "v1", "ServiceAccount", "serviceaccounts", &["sa"], N, typed::<core::ServiceAccount>),
        row("", "v1", "Event", "events", &["ev"], N, typed::<core::Event>),
        row("", "v1", "ResourceQuota", "resourcequotas", &["quota"], N | S, typed::<core::ResourceQuota>),
        row("", "v1", "LimitRange", "limitranges", &["limits"], N, typed::<core::LimitRange>),
        row("events.k8s.io", "v1", "Event", "events", &["ev"], N, typed::<events::Event>),
        row(sc, "v1", "PriorityClass", "priorityclasses", &["pc"], 0, typed::<scheduling::PriorityClass>),
        row("coordination.k8s.io", "v1", "Lease", "leases", &[], N, typed::<coordination::Lease>),
        row(
            "networking.k8s.io",
            "v1",
            "NetworkPolicy",
            "networkpolicies",
            &["netpol"],
            N | G,
            typed::<networking::NetworkPolicy>,
        ),
        row(st, "v1", "StorageClass", "storageclasses", &["sc"], 0, typed::<storage::StorageClass>),
        row(rb, "v1", "ClusterRole", "clusterroles", &[], 0, typed::<rbac::ClusterRole>),
        row(rb, "v1", "ClusterRoleBinding", "clusterrolebindings", &[], 0, typed::<rbac::ClusterRoleBinding>),
        row(rb, "v1", "Role", "roles", &[], N, typed::<rbac::Role>),
        row(rb, "v1", "RoleBinding", "rolebindings", &[], N, typed::<rbac::RoleBinding>),
        row("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", &[], 0, typed::<node::RuntimeClass>),
        row(
            "policy",
            "v1",
            "PodDisruptionBudget",
            "poddisruptionbudgets",
            &["pdb"],
            N | S | G,
            typed::<policy::PodDisruptionBudget>,
        ),
        row(dra, "v1", "DeviceClass", "deviceclasses", &[], G, typed::<resource::DeviceClass>),
        row(dra, "v1", "ResourceClaim", "resourceclaims", &[], N | S, typed::<resource::ResourceClaim>),
        row(
            dra,
            "v1",
            "ResourceClaimTemplate",
            "resourceclaimtemplates",
            &[],
            N,
            typed::<resource::ResourceClaimTemplate>,
        ),
        row(dra, "v1", "ResourceSlice", "resourceslices", &[], G, typed::<resource::ResourceSlice>),
        row(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
            "customresourcedefinitions",
            &["crd", "crds"],
            S | G,
            typed::<apiextensions::CustomResourceDefinition>,
        ),
    ]
}

/// Numbers where quantities belong become text, as the real server reads them.
pub(crate) fn quantities_as_text(value: &mut Value) {
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

/// Removes fields that are null: for a builtin kind they are the same as absent.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Removes what the typed round trip dropped from `value`; the paths of what was removed come back.
pub(crate) fn keep_known(value: &mut Value, known: &Value, path: &str, dropped: &mut Vec<String>) {
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

/// The two classes every cluster has.
pub(crate) fn ensure_priority_classes(hub: &crate::hub::Hub) {
    let resource = hub.kind("priorityclasses.scheduling.k8s.io");
    for (name, value) in [("system-node-critical", 2_000_001_000), ("system-cluster-critical", 2_000_000_000)]
    {
        let mut tx = hub.store.lock();
        if tx.get(&resource.id, "", name).is_none() {
            let w = crate::verbs::Write::internal(&resource, "", name, "devcluster");
            let class = serde_json::json!({ "metadata": { "name": name }, "value": value });
            if let Err(error) = crate::verbs::create(hub, &mut tx, &w, class) {
                tracing::error!(%error, name, "priority class not made");
            }
        }
    }
}
