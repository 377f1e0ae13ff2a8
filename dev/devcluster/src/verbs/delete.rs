//! Deletion: preconditions, grace periods, finalizers and propagation.

use std::sync::Arc;

use objects::error::Failure;
use objects::json::{items, text};
use objects::kinds::{DEFINITIONS, Resource};
use objects::store::{Inner, Key, Object};
use objects::time::{now, seconds};
use objects::write::Write;
use serde::Deserialize;
use serde_json::Value;

use crate::hub::Hub;

/// `DeleteOptions`, from the body and the query.
#[derive(Deserialize, Default, Clone, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Options {
    pub grace_period_seconds: Option<i64>,
    pub preconditions: Option<Preconditions>,
    pub propagation_policy: Option<String>,
    pub dry_run: Option<Vec<String>>,
}

#[derive(Deserialize, Default, Clone, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

impl Preconditions {
    /// Only this incarnation of the object.
    pub(crate) fn uid(uid: &str) -> Self {
        Self { uid: Some(uid.to_owned()), resource_version: None }
    }
}

/// The result of a deletion.
pub(crate) enum Deleted {
    /// The object is gone; its last state.
    Gone(Arc<Object>),
    /// The object waits for its grace period or its finalizers.
    Waiting(Arc<Object>),
}

/// Deletes an object, or marks it as terminating.
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
            let asked = p.uid.as_deref().unwrap_or_default();
            return Err(Failure::wrong_uid(&res.group, &res.plural, w.name, asked, old.uid()));
        }
        if differs(&p.resource_version, old.meta("resourceVersion")) {
            return Err(Failure::stale(&res.group, &res.plural, w.name));
        }
    }
    if res.id == "namespaces" && matches!(w.name, "default" | "kube-system") {
        return Err(res.forbidden(w.name, "this namespace may not be deleted"));
    }
    let mut new = old.value.clone();
    let policy = options.propagation_policy.as_deref();
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
        let list = items(&new["metadata"]["finalizers"]).to_vec();
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
        if items(&new["spec"]["finalizers"]).is_empty() {
            new["spec"]["finalizers"] = serde_json::json!(["kubernetes"]);
        }
    }
    if res.id == DEFINITIONS && tx.count(w.name) > 0 {
        let list = items(&new["metadata"]["finalizers"]).to_vec();
        let cleanup = "customresourcecleanup.apiextensions.k8s.io";
        let mut list: Vec<Value> = list.into_iter().filter(|f| f != cleanup).collect();
        list.push(cleanup.into());
        new["metadata"]["finalizers"] = list.into();
    }
    if w.dry_run {
        return Ok(Deleted::Waiting(Object::unstored(tx.rv(), new)));
    }
    if is_done(&new) {
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

/// The grace period in seconds. Only running pods have one.
fn grace_of(res: &Resource, old: &Object, options: &Options) -> Result<i64, Failure> {
    if options.grace_period_seconds.is_some_and(|g| g < 0) {
        return Err(Failure::bad_request("gracePeriodSeconds must not be negative"));
    }
    if res.id != "pods" {
        return Ok(0);
    }
    let idle = text(&old.value["spec"]["nodeName"]).is_empty()
        || matches!(old.value["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
    if idle {
        return Ok(0);
    }
    let own = old.value["spec"]["terminationGracePeriodSeconds"].as_i64().unwrap_or(30);
    Ok(options.grace_period_seconds.unwrap_or(own))
}

/// Whether a terminating object can be removed.
pub(crate) fn is_done(value: &Value) -> bool {
    let meta = &value["metadata"];
    meta["deletionTimestamp"].is_string()
        && items(&meta["finalizers"]).is_empty()
        && meta["deletionGracePeriodSeconds"].as_i64().unwrap_or(0) == 0
        && !(value["kind"] == "Namespace"
            && value["apiVersion"] == "v1"
            && !items(&value["spec"]["finalizers"]).is_empty())
}

/// Removes an object from the store, and with a definition its kind.
pub(crate) fn finish(hub: &Hub, tx: &mut Inner, res: &Resource, key: &Key) -> Option<Arc<Object>> {
    let gone = tx.remove(&res.id, key)?;
    if res.id == DEFINITIONS {
        hub.kinds.remove(gone.name());
    }
    Some(gone)
}
