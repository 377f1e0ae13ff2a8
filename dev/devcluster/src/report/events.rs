//! Kubernetes events. Equal events are counted, old ones removed.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::{SignedDuration, Timestamp};
use objects::json::text;
use objects::store::{Key, Object};
use objects::time::now;
use serde_json::json;

use crate::hub::Hub;
use crate::verbs::system;

/// Records an event about an object.
pub(crate) fn record(hub: &Hub, about: &Object, kind: &str, reason: &str, message: &str, component: &str) {
    let mut hasher = DefaultHasher::new();
    (about.uid(), kind, reason, message, component).hash(&mut hasher);
    let name = format!("{}.{:016x}", about.name(), hasher.finish());
    let namespace = if about.namespace().is_empty() { "default" } else { about.namespace() };
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
    if let Err(error) = system::create(hub, &mut tx, "events", namespace, component, value) {
        tracing::debug!(%error, reason, "cannot record event");
    }
}

/// Removes events older than one hour.
pub(crate) fn expire(hub: &Hub) {
    let Ok(oldest) = Timestamp::now().checked_sub(SignedDuration::from_hours(1)) else { return };
    let mut tx = hub.store.lock();
    let old: Vec<Key> = tx
        .list("events", "")
        .filter(|e| {
            let times =
                [text(&e.value["lastTimestamp"]), text(&e.value["eventTime"]), e.meta("creationTimestamp")];
            let last = times.into_iter().find(|t| !t.is_empty()).unwrap_or_default();
            last.parse::<Timestamp>().is_ok_and(|t| t < oldest)
        })
        .map(|e| e.key())
        .collect();
    for key in old {
        tx.remove("events", &key);
    }
}
