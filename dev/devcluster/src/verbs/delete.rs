//! Deletion: preconditions, grace, finalizers, propagation, and what ends with an object.

use crate::error::Failure;
use crate::hub::{Hub, now, seconds};
use crate::kinds::Resource;
use crate::store::{Inner, Key, Object};
use crate::verbs::Write;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// `DeleteOptions`, from the body and the query.
#[derive(Deserialize, Default, Clone, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Options {
    pub grace_period_seconds: Option<i64>,
    pub preconditions: Option<Preconditions>,
    pub propagation_policy: Option<String>,
    pub orphan_dependents: Option<bool>,
    pub dry_run: Option<Vec<String>>,
}

#[derive(Deserialize, Default, Clone, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// What became of the object.
pub(crate) enum Deleted {
    /// It is gone; its last state.
    Gone(Arc<Object>),
    /// It waits for its grace period or finalizers.
    Waiting(Arc<Object>),
}

/// Deletes an object, or begins to.
pub(crate) fn delete(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    options: &Options,
) -> Result<Deleted, Failure> {
    let res = w.resource;
    let old = tx.get(&res.id, w.namespace, w.name).ok_or_else(|| res.not_found(w.name))?;
    if let Some(p) = &options.preconditions {
        let differs = |want: &Option<String>, got: &str| want.as_deref().is_some_and(|w| w != got);
        if differs(&p.uid, old.uid()) {
            let why = format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                p.uid.as_deref().unwrap_or(""),
                old.uid()
            );
            return Err(Failure::conflict(&res.group, &res.plural, w.name, &why));
        }
        if differs(&p.resource_version, old.meta("resourceVersion")) {
            return Err(Failure::stale(&res.group, &res.plural, w.name));
        }
    }
    if res.id == "namespaces" && matches!(w.name, "default" | "kube-system") {
        return Err(res.forbidden(w.name, "this namespace may not be deleted"));
    }
    let mut new = old.value.clone();
    let policy = options.propagation_policy.as_deref().or(match options.orphan_dependents {
        Some(true) => Some("Orphan"),
        _ => None,
    });
    let finalizer = match policy {
        None | Some("Background") => None,
        Some("Foreground") => Some("foregroundDeletion"),
        Some("Orphan") => Some("orphan"),
        Some(other) => {
            return Err(Failure::bad_request(format!("invalid propagationPolicy {other:?}")));
        }
    };
    if let Some(finalizer) = finalizer
        && !old.terminating()
    {
        let list = new["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let mut list: Vec<Value> = list.into_iter().filter(|f| f != finalizer).collect();
        list.push(finalizer.into());
        new["metadata"]["finalizers"] = list.into();
    }
    let grace = grace_of(res, &old, options)?;
    if old.terminating() {
        let left = new["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        if grace < left {
            new["metadata"]["deletionGracePeriodSeconds"] = grace.into();
            new["metadata"]["deletionTimestamp"] = deadline(grace).into();
        }
    } else {
        new["metadata"]["deletionGracePeriodSeconds"] = grace.into();
        new["metadata"]["deletionTimestamp"] = deadline(grace).into();
        if res.generation {
            let generation = new["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            new["metadata"]["generation"] = generation.into();
        }
    }
    if res.id == "namespaces" {
        new["status"]["phase"] = "Terminating".into();
        if new["spec"]["finalizers"].as_array().is_none_or(Vec::is_empty) {
            new["spec"]["finalizers"] = serde_json::json!(["kubernetes"]);
        }
    }
    if res.id == "customresourcedefinitions.apiextensions.k8s.io" && tx.count(w.name) > 0 {
        let list = new["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let cleanup = "customresourcecleanup.apiextensions.k8s.io";
        let mut list: Vec<Value> = list.into_iter().filter(|f| f != cleanup).collect();
        list.push(cleanup.into());
        new["metadata"]["finalizers"] = list.into();
    }
    if w.dry_run {
        return Ok(Deleted::Waiting(Object::unstored(tx.rv(), new)));
    }
    if is_done(&new) {
        // the last state carries the deletion, as watchers of the real server see it for graceful kinds
        return match finish(hub, tx, res, &old.key()) {
            Some(object) => Ok(Deleted::Gone(object)),
            None => Err(res.not_found(w.name)),
        };
    }
    if new == old.value {
        return Ok(Deleted::Waiting(old));
    }
    Ok(Deleted::Waiting(tx.put(&res.id, new)))
}

fn deadline(grace: i64) -> String {
    if grace == 0 {
        return now();
    }
    let span = jiff::SignedDuration::from_secs(grace);
    jiff::Timestamp::now().checked_add(span).map_or_else(|_| now(), seconds)
}

/// Seconds the object may still live. Only pods that run have any.
fn grace_of(res: &Resource, old: &Object, options: &Options) -> Result<i64, Failure> {
    if options.grace_period_seconds.is_some_and(|g| g < 0) {
        return Err(Failure::bad_request("gracePeriodSeconds must not be negative"));
    }
    if res.id != "pods" {
        return Ok(0);
    }
    let idle = old.value["spec"]["nodeName"].as_str().unwrap_or("").is_empty()
        || matches!(old.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if idle {
        return Ok(0);
    }
    let own = old.value["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    Ok(options.grace_period_seconds.unwrap_or(own))
}

/// Whether nothing holds a terminating object any more.
pub(crate) fn is_done(value: &Value) -> bool {
    let meta = &value["metadata"];
    meta["deletionTimestamp"].is_string()
        && meta["finalizers"].as_array().is_none_or(Vec::is_empty)
        && meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && !(value["kind"] == "Namespace"
            && value["apiVersion"] == "v1"
            && value["spec"]["finalizers"].as_array().is_some_and(|f| !f.is_empty()))
}

/// Takes an object out of the store, and with a definition the kind it defines.
pub(crate) fn finish(hub: &Hub, tx: &mut Inner, res: &Resource, key: &Key) -> Option<Arc<Object>> {
    let gone = tx.remove(&res.id, key)?;
    if res.id == "customresourcedefinitions.apiextensions.k8s.io" {
        hub.kinds.remove(gone.name());
    }
    Some(gone)
}
