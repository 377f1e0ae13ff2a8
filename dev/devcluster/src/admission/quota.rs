//! Limit ranges (container defaults, minimum, maximum) and resource quotas, counted exactly because every write is
//! one step under the store's lock.

use crate::error::Failure;
use crate::quantity::{format_milli, parse_milli};
use crate::store::Inner;
use crate::verbs::Write;
use serde_json::Value;
use std::collections::BTreeMap;

fn amount(v: &Value) -> Option<i128> {
    v.as_str().and_then(parse_milli)
}

/// Applies and checks the namespace's limit ranges of type Container and Pod.
pub(crate) fn limit_ranges(tx: &Inner, w: &Write<'_>, name: &str, pod: &mut Value) -> Result<(), Failure> {
    let ranges: Vec<Value> = tx
        .list("limitranges", w.namespace)
        .flat_map(|r| r.value["spec"]["limits"].as_array().cloned().unwrap_or_default())
        .filter(|l| l["type"] == "Container")
        .collect();
    for limit in &ranges {
        for c in pod["spec"]["containers"].as_array_mut().into_iter().flatten() {
            for (from, to) in [("default", "limits"), ("defaultRequest", "requests")] {
                for (resource, v) in limit[from].as_object().into_iter().flatten() {
                    if c["resources"][to][resource].is_null() {
                        c["resources"][to][resource] = v.clone();
                    }
                }
            }
            for (bound, which, over) in [("max", "limits", true), ("min", "requests", false)] {
                for (resource, v) in limit[bound].as_object().into_iter().flatten() {
                    let (Some(edge), got) = (amount(v), amount(&c["resources"][which][resource])) else {
                        continue;
                    };
                    let bad = match got {
                        None => true,
                        Some(n) => {
                            if over {
                                n > edge
                            } else {
                                n < edge
                            }
                        }
                    };
                    if bad {
                        let word = if over { "maximum" } else { "minimum" };
                        let why =
                            format!("{word} {resource} usage per Container is {}", v.as_str().unwrap_or(""));
                        return Err(w.resource.forbidden(name, &why));
                    }
                }
            }
        }
    }
    Ok(())
}

/// What an object counts for, by quota key, in thousandths.
fn usage(id: &str, value: &Value) -> BTreeMap<String, i128> {
    let mut used = BTreeMap::new();
    let mut add = |key: String, n: i128| *used.entry(key).or_insert(0) += n;
    match id {
        "pods" => {
            if matches!(value["status"]["phase"].as_str(), Some("Succeeded" | "Failed")) {
                return used;
            }
            add("pods".into(), 1000);
            add("count/pods".into(), 1000);
            for c in value["spec"]["containers"].as_array().into_iter().flatten() {
                for which in ["requests", "limits"] {
                    for (resource, v) in c["resources"][which].as_object().into_iter().flatten() {
                        let n = amount(v).unwrap_or(0);
                        add(format!("{which}.{resource}"), n);
                        if which == "requests"
                            && matches!(resource.as_str(), "cpu" | "memory" | "ephemeral-storage")
                        {
                            add(resource.clone(), n);
                        }
                    }
                }
            }
        }
        "persistentvolumeclaims" => {
            let n = amount(&value["spec"]["resources"]["requests"]["storage"]).unwrap_or(0);
            add("persistentvolumeclaims".into(), 1000);
            add("count/persistentvolumeclaims".into(), 1000);
            add("requests.storage".into(), n);
            if let Some(class) = value["spec"]["storageClassName"].as_str() {
                add(format!("{class}.storageclass.storage.k8s.io/requests.storage"), n);
                add(format!("{class}.storageclass.storage.k8s.io/persistentvolumeclaims"), 1000);
            }
        }
        _ => {
            add(id.to_owned(), 1000);
            add(format!("count/{id}"), 1000);
        }
    }
    used
}

/// Sum of what stands in a namespace, by quota key.
pub(crate) fn used_in(tx: &Inner, namespace: &str, keys: &[String]) -> BTreeMap<String, i128> {
    let mut total: BTreeMap<String, i128> = keys.iter().map(|k| (k.clone(), 0)).collect();
    for id in ["pods", "persistentvolumeclaims", "services", "configmaps", "secrets"] {
        for object in tx.list(id, namespace) {
            for (key, n) in usage(id, &object.value) {
                if let Some(sum) = total.get_mut(&key) {
                    *sum += n;
                }
            }
        }
    }
    total
}

/// Refuses an object that would exceed a quota, and counts it in the quota's status otherwise.
pub(crate) fn check(tx: &mut Inner, w: &Write<'_>, name: &str, value: &Value) -> Result<(), Failure> {
    let quotas: Vec<_> = tx.list("resourcequotas", w.namespace).cloned().collect();
    if quotas.is_empty() {
        return Ok(());
    }
    let wants = usage(&w.resource.id, value);
    for quota in quotas {
        let scoped =
            !quota.value["spec"]["scopes"].is_null() || !quota.value["spec"]["scopeSelector"].is_null();
        if scoped {
            return Err(w
                .resource
                .forbidden(name, &format!("quota {} has scopes, which are not served here", quota.name())));
        }
        let hard = quota.value["spec"]["hard"].as_object().cloned().unwrap_or_default();
        let keys: Vec<String> = hard.keys().cloned().collect();
        let used = used_in(tx, w.namespace, &keys);
        for (key, limit) in &hard {
            let limit_value = amount(limit).unwrap_or(0);
            let compute = w.resource.id == "pods" && !key.starts_with("count/") && key != "pods";
            let Some(want) = wants.get(key).copied() else {
                let of_pods = compute
                    && (key.starts_with("requests.") && key != "requests.storage" && !key.contains('/')
                        || key.starts_with("limits.")
                        || matches!(key.as_str(), "cpu" | "memory"));
                if of_pods {
                    return Err(w.resource.forbidden(
                        name,
                        &format!("failed quota: {}: must specify {key} for: {}", quota.name(), name),
                    ));
                }
                continue;
            };
            let have = used.get(key).copied().unwrap_or(0);
            if have + want > limit_value {
                let why = format!(
                    "exceeded quota: {}, requested: {key}={}, used: {key}={}, limited: {key}={}",
                    quota.name(),
                    format_milli(want),
                    format_milli(have),
                    limit.as_str().unwrap_or("")
                );
                return Err(w.resource.forbidden(name, &why));
            }
        }
    }
    Ok(())
}
