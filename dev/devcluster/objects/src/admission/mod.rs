//! Admission: defaults and validation of the builtin kinds, and the admission plugins (namespace lifecycle, priority,
//! runtime classes, service accounts, quota, pod security, privilege escalation).

mod defaults;
pub mod devices;
mod escalation;
mod pods;
pub mod quota;
mod security;
mod validate;

pub use validate::validate;

use crate::error::{Cause, Failure};
use crate::json::{items, set_default, text};
use crate::kinds::{DEFINITIONS, Resource, builtin, custom};
use crate::rbac::RBAC;
use crate::store::Inner;
use crate::write::Write;
use serde_json::{Value, json};

/// Sets the defaults of a builtin kind.
pub fn default(resource: &Resource, value: &mut Value) {
    if resource.is_custom() {
        return;
    }
    if resource.id == DEFINITIONS {
        custom::default_names(value);
    }
    defaults::set(&resource.id, value);
    builtin::drop_nulls(value);
}

/// Admits a new object; may change it.
pub fn on_create(tx: &Inner, w: &Write<'_>, value: &mut Value) -> Result<(), Failure> {
    let res = w.resource;
    let name = text(&value["metadata"]["name"]).to_owned();
    if res.namespaced {
        check_namespace(tx, w, &name)?;
    }
    if res.group == RBAC {
        escalation::check(tx, w, value)?;
    }
    match res.id.as_str() {
        "pods" => {
            pods::set_priority(tx, res, value)?;
            pods::set_runtime(tx, res, &name, value)?;
            pods::set_service_account(tx, w, &name, value)?;
            security::check(tx, w, &name, value)?;
            quota::check(tx, w, &name, value)?;
        }
        "persistentvolumes" => value["metadata"]["finalizers"] = json!(["kubernetes.io/pv-protection"]),
        "persistentvolumeclaims" => {
            set_storage_class(tx, value);
            value["metadata"]["finalizers"] = json!(["kubernetes.io/pvc-protection"]);
            quota::check(tx, w, &name, value)?;
        }
        "configmaps" | "secrets" => quota::check(tx, w, &name, value)?,
        _ => {}
    }
    Ok(())
}

/// Admits a change.
pub fn on_update(tx: &Inner, w: &Write<'_>, old: &Value, new: &Value) -> Result<(), Failure> {
    let (before, after) = (items(&old["metadata"]["finalizers"]), items(&new["metadata"]["finalizers"]));
    if old["metadata"]["deletionTimestamp"].is_string() && after.iter().any(|f| !before.contains(f)) {
        let why = "no new finalizers can be added if the object is being deleted";
        return Err(w.invalid(w.name, &[Cause::forbidden("metadata.finalizers", why)]));
    }
    if w.resource.group == RBAC {
        escalation::check(tx, w, new)?;
    }
    Ok(())
}

fn check_namespace(tx: &Inner, w: &Write<'_>, name: &str) -> Result<(), Failure> {
    let namespace = tx
        .get("namespaces", "", w.namespace)
        .ok_or_else(|| Failure::not_found("", "namespaces", w.namespace))?;
    if !namespace.terminating() {
        return Ok(());
    }
    let message = format!("namespace {} is being terminated", w.namespace);
    let why =
        format!("unable to create new content in namespace {} because it is being terminated", w.namespace);
    let mut failure = w.resource.forbidden(name, &why);
    if let Some(details) = failure.details.as_mut() {
        details["causes"] =
            json!([{ "reason": "NamespaceTerminating", "message": message, "field": "metadata.namespace" }]);
    }
    Err(failure)
}

/// A claim without a class gets the default class.
fn set_storage_class(tx: &Inner, claim: &mut Value) {
    let default = tx.list("storageclasses.storage.k8s.io", "").find(|c| {
        c.value["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true"
    });
    if let Some(class) = default {
        set_default(&mut claim["spec"], "storageClassName", class.name());
    }
}
