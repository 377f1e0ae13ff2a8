//! Resource quotas. The limits are those of the status, which `controllers/quotas.rs` writes. The count is exact, because
//! every write is one step under the store's lock.

use crate::error::Failure;
use crate::json::{entries, items, quantity, text};
use crate::pod::is_over;
use crate::store::Inner;
use crate::write::Write;
use crds::Quantity;
use serde_json::Value;
use std::collections::BTreeMap;

/// The usage of an object by quota key, in thousandths.
fn usage(id: &str, value: &Value) -> BTreeMap<String, i128> {
    let mut used = BTreeMap::from([(id.to_owned(), 1000), (format!("count/{id}"), 1000)]);
    let mut add = |key: String, n: i128| *used.entry(key).or_insert(0) += n;
    match id {
        "pods" if is_over(value) => return BTreeMap::new(),
        "pods" => {
            for c in items(&value["spec"]["containers"]) {
                for which in ["requests", "limits"] {
                    for (resource, v) in entries(&c["resources"][which]) {
                        let n = quantity(v).unwrap_or(0);
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
            let n = quantity(&value["spec"]["resources"]["requests"]["storage"]).unwrap_or(0);
            add("requests.storage".into(), n);
            if let Some(class) = value["spec"]["storageClassName"].as_str() {
                add(format!("{class}.storageclass.storage.k8s.io/requests.storage"), n);
                add(format!("{class}.storageclass.storage.k8s.io/persistentvolumeclaims"), 1000);
            }
        }
        _ => {}
    }
    used
}

/// The usage of a namespace for the given quota keys.
fn used_in<'a>(
    tx: &Inner,
    namespace: &str,
    keys: impl Iterator<Item = &'a String>,
) -> BTreeMap<String, i128> {
    let mut total: BTreeMap<String, i128> = keys.map(|k| (k.clone(), 0)).collect();
    for id in ["pods", "persistentvolumeclaims", "configmaps", "secrets"] {
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

/// The usage of a namespace for the keys of a quota.
pub(crate) fn count(tx: &Inner, namespace: &str, hard: &Value) -> Value {
    let used = used_in(tx, namespace, entries(hard).map(|(key, _)| key));
    used.into_iter().map(|(key, n)| (key, Value::from(Quantity::from_milli(n).to_string()))).collect()
}

/// Refuses an object that would exceed a quota of its namespace.
pub(super) fn check(tx: &Inner, w: &Write<'_>, name: &str, value: &Value) -> Result<(), Failure> {
    for quota in tx.list("resourcequotas", w.namespace) {
        let refused = |why: &str| Err(w.resource.forbidden(name, why));
        let spec = &quota.value["spec"];
        if !spec["scopes"].is_null() || !spec["scopeSelector"].is_null() {
            return refused(&format!("quota {} has scopes, which are not served here", quota.name()));
        }
        let wants = usage(&w.resource.id, value);
        let status = &quota.value["status"];
        let used = used_in(tx, w.namespace, entries(&status["hard"]).map(|(key, _)| key));
        for (key, limit) in entries(&status["hard"]) {
            let Some(want) = wants.get(key).copied() else {
                let of_pods = key.starts_with("requests.") && key != "requests.storage" && !key.contains('/')
                    || key.starts_with("limits.")
                    || matches!(key.as_str(), "cpu" | "memory");
                if w.resource.id == "pods" && of_pods {
                    return refused(&format!(
                        "failed quota: {}: must specify {key} for: {name}",
                        quota.name()
                    ));
                }
                continue;
            };
            if status["used"][key].is_null() {
                let why = format!("status unknown for quota: {}, resources: {key}", quota.name());
                return refused(&why);
            }
            let have = used.get(key).copied().unwrap_or(0);
            if have + want > quantity(limit).unwrap_or(0) {
                return refused(&format!(
                    "exceeded quota: {}, requested: {key}={}, used: {key}={}, limited: {key}={}",
                    quota.name(),
                    Quantity::from_milli(want),
                    Quantity::from_milli(have),
                    text(limit)
                ));
            }
        }
    }
    Ok(())
}
