//! Replacing an object, and the last steps that all writes to an existing object share.

use std::sync::Arc;

use objects::admission;
use objects::error::{Cause, Failure};
use objects::json::{remove, set_or_remove, text};
use objects::ownership::{self, Entry, Manager};
use objects::store::{Inner, Object};
use objects::time::now;
use objects::write::Write;
use serde_json::Value;

use super::{Written, definition, delete, ingest};
use crate::hub::Hub;

/// Replaces an object (PUT).
pub(crate) fn update(hub: &Hub, tx: &mut Inner, w: &Write<'_>, mut value: Value) -> Result<Written, Failure> {
    let warnings = ingest::ingest(w, &mut value, true)?;
    if text(&value["metadata"]["name"]) != w.name {
        return Err(Failure::bad_request("the name of the object does not match the name on the URL"));
    }
    let old = tx.get(&w.resource.id, w.namespace, w.name).ok_or_else(|| w.resource.not_found(w.name))?;
    if w.resource.is_custom() && text(&value["metadata"]["resourceVersion"]).is_empty() {
        let cause = Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update");
        return Err(w.invalid(w.name, &[cause]));
    }
    admission::devices::check_binding(tx, w, "update", &old.value, &value)?;
    replace(hub, tx, w, &old, value, warnings, None)
}

/// Validates and stores the new version of an object. `owners` are the managed fields if an apply has computed them.
pub(super) fn replace(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    old: &Arc<Object>,
    mut new: Value,
    warnings: Vec<String>,
    owners: Option<Vec<Entry>>,
) -> Result<Written, Failure> {
    let res = w.resource;
    check_preconditions(w, old, &new)?;
    let time = now();
    let before = &old.value;
    keep_system_fields(&mut new, before);
    if w.subresource == "status" {
        let status = new.get("status").cloned();
        let annotations = new["metadata"].get("annotations").cloned();
        new = before.clone();
        set_or_remove(&mut new, "status", status);
        if !res.is_custom() {
            set_or_remove(&mut new["metadata"], "annotations", annotations);
        }
    } else if res.status {
        set_or_remove(&mut new, "status", before.get("status").cloned());
    }
    admission::default(res, &mut new);
    let causes = ingest::validate(w, &new, Some(before));
    if !causes.is_empty() {
        return Err(w.invalid(w.name, &causes));
    }
    admission::on_update(tx, w, before, &new)?;
    if res.generation && w.subresource.is_empty() && desired(w, &new) != desired(w, before) {
        let generation = before["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
        new["metadata"]["generation"] = generation.into();
    }
    match owners {
        Some(entries) => ownership::write(&mut new, &entries),
        None => {
            let by = Manager { name: w.manager, api_version: &res.api_version(), subresource: w.subresource };
            ownership::after_update(Some(before), &mut new, w.shape(), &by, &time);
        }
    }
    if new == *before {
        return Ok(Written { object: old.clone(), warnings });
    }
    let served = definition::resource(hub, w, &mut new, &time)?;
    if w.dry_run {
        return Ok(Written { object: Object::unstored(tx.rv(), new), warnings });
    }
    if delete::is_done(&new) {
        delete::finish(hub, tx, res, &old.key());
        return Ok(Written { object: Object::unstored(tx.rv(), new), warnings });
    }
    let object = tx.put(&res.id, new);
    if let Some(resource) = served {
        hub.kinds.insert(resource);
    }
    Ok(Written { object, warnings })
}

fn check_preconditions(w: &Write<'_>, old: &Object, new: &Value) -> Result<(), Failure> {
    let res = w.resource;
    let asked = text(&new["metadata"]["resourceVersion"]);
    if !asked.is_empty() && asked != old.meta("resourceVersion") {
        return Err(Failure::stale(&res.group, &res.plural, w.name));
    }
    let uid = text(&new["metadata"]["uid"]);
    if !uid.is_empty() && uid != old.uid() {
        return Err(Failure::wrong_uid(&res.group, &res.plural, w.name, uid, old.uid()));
    }
    Ok(())
}

/// The object without metadata and status: a change of it counts as a new generation.
fn desired(w: &Write<'_>, value: &Value) -> Value {
    let mut value = value.clone();
    remove(&mut value, "metadata");
    if w.resource.status {
        remove(&mut value, "status");
    }
    value
}

fn keep_system_fields(new: &mut Value, old: &Value) {
    for field in [
        "name",
        "namespace",
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "resourceVersion",
        "generateName",
        "selfLink",
        "managedFields",
    ] {
        set_or_remove(&mut new["metadata"], field, old["metadata"].get(field).cloned());
    }
}
