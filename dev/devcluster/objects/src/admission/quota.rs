//! Resource quotas. The limits are those of the status, which `controllers/quotas.rs` writes. The count is exact, because
//! every write is one step under the store's lock.

use crate::error::Failure;
use crate::json::{entries, items, quantity, text};
use crate::pod::is_over;
use crate::store::Inner;
use crate::write::Write;
use crds::Quantity;
use serde_json::Value;

/// The usage of an object for a quota key, in thousandths; `None` if the key does not concern it.
fn usage(key: &str, id: &str, value: &Value) -> Option<i128> {
    if id == "pods" && is_over(value) {
        return None;
    }
    if key == id || key.strip_prefix("count/") == Some(id) {
        return Some(1000);
    }
    match id {
        "pods" => {
            let (which, resource) = match key {
                "cpu" | "memory" | "ephemeral-storage" => ("requests", key),
                _ => key.split_once('.').filter(|(which, _)| matches!(*which, "requests" | "limits"))?,
            };
            let amounts = items(&value["spec"]["containers"]).iter().filter_map(|c| {
                let amount = c["resources"][which].get(resource)?;
                Some(quantity(amount).unwrap_or(0))
            });
            amounts.reduce(|sum, n| sum + n)
        }
        "persistentvolumeclaims" => {
            let size = || quantity(&value["spec"]["resources"]["requests"]["storage"]).unwrap_or(0);
            if key == "requests.storage" {
                return Some(size());
            }
            let class = value["spec"]["storageClassName"].as_str()?;
            match key.strip_prefix(class)?.strip_prefix(".storageclass.storage.k8s.io/")? {
                "requests.storage" => Some(size()),
                "persistentvolumeclaims" => Some(1000),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The usage of a namespace for a quota key.
fn used_in(tx: &Inner, namespace: &str, key: &str) -> i128 {
    let kinds = ["pods", "persistentvolumeclaims", "configmaps", "secrets"];
    let of_kind = |id: &str| -> i128 {
        tx.list(id, namespace).filter_map(|object| usage(key, id, &object.value)).sum()
    };
    kinds.into_iter().map(of_kind).sum()
}

/// The usage of a namespace for the keys of a quota.
pub fn count(tx: &Inner, namespace: &str, hard: &Value) -> Value {
    let used = |key: &str| Value::from(Quantity::from_milli(used_in(tx, namespace, key)).to_string());
    entries(hard).map(|(key, _)| (key.clone(), used(key))).collect()
}

/// Refuses an object that would exceed a quota of its namespace.
pub(super) fn check(tx: &Inner, w: &Write<'_>, name: &str, value: &Value) -> Result<(), Failure> {
    for quota in tx.list("resourcequotas", w.namespace) {
        let refused = |why: &str| Err(w.resource.forbidden(name, why));
        let spec = &quota.value["spec"];
        if !spec["scopes"].is_null() || !spec["scopeSelector"].is_null() {
            return refused(&format!("quota {} has scopes, which are not served here", quota.name()));
        }
        let status = &quota.value["status"];
        for (key, limit) in entries(&status["hard"]) {
            let Some(want) = usage(key, &w.resource.id, value) else {
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
            let have = used_in(tx, w.namespace, key);
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
