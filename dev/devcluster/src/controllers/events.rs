//! Kubernetes Events of the cluster's own components: repeated ones are counted, old ones forgotten.

use crate::hub::{Hub, now};
use crate::store::{Key, Object};
use crate::verbs::{self, Write};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Records that something happened to an object.
pub(crate) fn record(hub: &Hub, about: &Object, kind: &str, reason: &str, message: &str, component: &str) {
    let mut hasher = DefaultHasher::new();
    (about.uid(), kind, reason, message, component).hash(&mut hasher);
    let name = format!("{}.{:016x}", about.name(), hasher.finish());
    let namespace = if about.namespace().is_empty() { "default" } else { about.namespace() };
    let resource = hub.kind("events");
    let w = Write::internal(&resource, namespace, &name, component);
    let mut tx = hub.store.lock();
    let time = now();
    if let Some(old) = tx.get("events", namespace, &name) {
        let mut value = old.value.clone();
        value["count"] = (value["count"].as_i64().unwrap_or(1) + 1).into();
        value["lastTimestamp"] = time.into();
        tx.put("events", value);
        return;
    }
    let value = json!({
        "metadata": { "name": name, "namespace": namespace },
        "involvedObject": {
            "kind": about.value["kind"], "apiVersion": about.value["apiVersion"], "name": about.name(),
            "namespace": about.namespace(), "uid": about.uid(), "resourceVersion": about.meta("resourceVersion"),
        },
        "type": kind, "reason": reason, "message": message, "source": { "component": component },
        "reportingComponent": component, "reportingInstance": "", "firstTimestamp": time, "lastTimestamp": time, "count": 1,
    });
    if let Err(error) = verbs::create(hub, &mut tx, &w, value) {
        tracing::debug!(%error, reason, "event not recorded");
    }
}

/// Forgets events of more than an hour ago.
pub(crate) fn expire(hub: &Hub) {
    let Ok(edge) = Timestamp::now().checked_sub(SignedDuration::from_hours(1)) else { return };
    let mut tx = hub.store.lock();
    let old: Vec<Key> = tx
        .list("events", "")
        .filter(|e| {
            let time = e.value["lastTimestamp"]
                .as_str()
                .or_else(|| e.value["eventTime"].as_str())
                .unwrap_or_else(|| e.meta("creationTimestamp"));
            time.parse::<Timestamp>().is_ok_and(|t| t < edge)
        })
        .map(|e| e.key())
        .collect();
    for key in old {
        tx.remove("events", &key);
    }
}
