//! Create, also by an apply to an object that does not exist.

use objects::admission;
use objects::error::{Cause, Failure};
use objects::json::{remove, text};
use objects::ownership::{self, Manager};
use objects::store::{Inner, Object};
use objects::time::now;
use objects::write::Write;
use serde_json::Value;

use super::{Written, definition, ingest};
use crate::hub::Hub;

/// Creates an object.
pub(crate) fn create(hub: &Hub, tx: &mut Inner, w: &Write<'_>, mut value: Value) -> Result<Written, Failure> {
    let warnings = ingest::ingest(w, &mut value, true)?;
    if !text(&value["metadata"]["resourceVersion"]).is_empty() {
        return Err(Failure::bad_request("resourceVersion should not be set on objects to be created"));
    }
    remove(&mut value["metadata"], "managedFields");
    remove(&mut value["metadata"], "resourceVersion");
    store_new(hub, tx, w, value, warnings)
}

/// Validates and stores a new object. An apply has set the managed fields already.
pub(super) fn store_new(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    mut value: Value,
    warnings: Vec<String>,
) -> Result<Written, Failure> {
    let res = w.resource;
    let time = now();
    let applied = !value["metadata"]["managedFields"].is_null();
    set_identity(w, &mut value, &time)?;
    if res.status && res.id != "nodes" {
        remove(&mut value, "status");
    }
    let name = text(&value["metadata"]["name"]).to_owned();
    admission::default(res, &mut value);
    let causes = ingest::validate(w, &value, None);
    if !causes.is_empty() {
        return Err(w.invalid(&name, &causes));
    }
    if tx.get(&res.id, w.namespace, &name).is_some() {
        return Err(Failure::already_exists(&res.group, &res.plural, &name));
    }
    admission::on_create(tx, w, &mut value)?;
    if !applied {
        let by = Manager { name: w.manager, api_version: &res.api_version(), subresource: w.subresource };
        ownership::after_update(None, &mut value, w.shape(), &by, &time);
    }
    let served = definition::resource(hub, w, &mut value, &time)?;
    if w.dry_run {
        return Ok(Written { object: Object::unstored(tx.rv(), value), warnings });
    }
    let object = tx.put(&res.id, value);
    if let Some(resource) = served {
        hub.kinds.insert(resource);
    }
    Ok(Written { object, warnings })
}

fn set_identity(w: &Write<'_>, value: &mut Value, time: &str) -> Result<(), Failure> {
    let given = text(&value["metadata"]["namespace"]);
    if !given.is_empty() && given != w.namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let meta = &mut value["metadata"];
    if text(&meta["name"]).is_empty() {
        let prefix = text(&meta["generateName"]);
        if prefix.is_empty() {
            let causes = [Cause::required("metadata.name", "name or generateName is required")];
            return Err(w.invalid("", &causes));
        }
        meta["name"] = generated(prefix).into();
    }
    for field in ["namespace", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"] {
        remove(meta, field);
    }
    if w.resource.namespaced {
        meta["namespace"] = w.namespace.into();
    }
    meta["uid"] = uuid::Uuid::new_v4().to_string().into();
    meta["creationTimestamp"] = time.into();
    if w.resource.generation {
        meta["generation"] = 1.into();
    }
    Ok(())
}

/// A name from a prefix.
fn generated(prefix: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let bytes = *uuid::Uuid::new_v4().as_bytes();
    let tail: String =
        bytes.iter().rev().take(5).map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()])).collect();
    format!("{}{tail}", &prefix[..prefix.len().min(58)])
}
