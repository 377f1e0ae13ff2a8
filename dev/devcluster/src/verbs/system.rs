//! Writes by the cluster's own components (scheduler, controllers, kubelet). Updates skip the rules for clients and
//! cannot fail.

use std::sync::Arc;

use objects::error::Failure;
use objects::json::text;
use objects::kinds::builtin;
use objects::ownership::{self, Manager, Shape};
use objects::store::{Inner, Key, Object};
use objects::write::Write;
use serde_json::Value;

use super::create;
use super::delete::{self, Deleted, Options};
use crate::hub::Hub;

/// Creates an object.
pub(crate) fn create(
    hub: &Hub,
    tx: &mut Inner,
    kind: &str,
    namespace: &str,
    manager: &str,
    value: Value,
) -> Result<Arc<Object>, Failure> {
    let resource = hub.kind(kind);
    let name = text(&value["metadata"]["name"]).to_owned();
    let w = Write::internal(&resource, namespace, &name, manager);
    create::create(hub, tx, &w, value).map(|written| written.object)
}

/// Replaces an object of a builtin kind.
pub(crate) fn update(
    tx: &mut Inner,
    kind: &str,
    old: &Arc<Object>,
    new: Value,
    manager: &str,
) -> Arc<Object> {
    put(tx, kind, old, new, manager, "")
}

/// Replaces an object of a builtin kind, with its status owned by `manager`.
pub(crate) fn update_status(
    tx: &mut Inner,
    kind: &str,
    old: &Arc<Object>,
    new: Value,
    manager: &str,
) -> Arc<Object> {
    put(tx, kind, old, new, manager, "status")
}

fn put(
    tx: &mut Inner,
    kind: &str,
    old: &Arc<Object>,
    mut new: Value,
    manager: &str,
    subresource: &str,
) -> Arc<Object> {
    builtin::drop_nulls(&mut new);
    if new == old.value {
        return old.clone();
    }
    let by = Manager { name: manager, api_version: text(&old.value["apiVersion"]), subresource };
    ownership::after_update(Some(&old.value), &mut new, Shape::Builtin(""), &by, &objects::time::now());
    tx.put(kind, new)
}

/// Deletes an object.
pub(crate) fn delete(
    hub: &Hub,
    tx: &mut Inner,
    kind: &str,
    key: &Key,
    options: &Options,
) -> Result<Deleted, Failure> {
    let resource = hub.kinds.get(kind).ok_or_else(Failure::no_such_resource)?;
    delete::delete(hub, tx, &Write::internal(&resource, &key.0, &key.1, ""), options)
}

/// Removes finalizers from an object and, if it was terminating and waited for nothing else, the object.
pub(crate) fn remove_finalizers(hub: &Hub, tx: &mut Inner, kind: &str, object: &Object, done: &[&str]) {
    let Some(resource) = hub.kinds.get(kind) else { return };
    let mut value = object.value.clone();
    if let Some(finalizers) = value["metadata"]["finalizers"].as_array_mut() {
        finalizers.retain(|f| !done.iter().any(|d| f == d));
    }
    if delete::is_done(&value) {
        delete::finish(hub, tx, &resource, &object.key());
    } else {
        tx.put(kind, value);
    }
}
