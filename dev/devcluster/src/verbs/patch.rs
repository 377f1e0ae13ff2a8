//! Patches: JSON patch, merge patch, strategic merge patch and server-side apply.

use objects::admission;
use objects::error::{Cause, Failure};
use objects::json::{remove, text};
use objects::ownership::{self, Apply, Manager};
use objects::store::Inner;
use objects::time::now;
use objects::write::Write;
use serde_json::{Value, json};

use super::update::replace;
use super::{Written, create, ingest, strategic};
use crate::hub::Hub;

pub(crate) enum Patch {
    Json(json_patch::Patch),
    Merge(Value),
    Strategic(Value),
    Apply { config: Value, force: bool },
}

/// Patches an object; an apply may create it.
pub(crate) fn patch(hub: &Hub, tx: &mut Inner, w: &Write<'_>, patch: Patch) -> Result<Written, Failure> {
    let Some(old) = tx.get(&w.resource.id, w.namespace, w.name) else {
        return match patch {
            Patch::Apply { config, force } if w.subresource.is_empty() => {
                apply_new(hub, tx, w, config, force)
            }
            _ => Err(w.resource.not_found(w.name)),
        };
    };
    let mut value = old.value.clone();
    let mut warnings = Vec::new();
    let mut is_apply = false;
    match patch {
        Patch::Json(p) => {
            json_patch::patch(&mut value, &p).map_err(|e| Failure::unprocessable(e.to_string()))?;
        }
        Patch::Merge(p) => json_patch::merge(&mut value, &p),
        Patch::Strategic(p) => {
            if w.resource.is_custom() {
                return Err(Failure::unsupported_media(
                    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                ));
            }
            strategic::merge(&mut value, &p, w.shape())?;
        }
        Patch::Apply { mut config, force } => {
            is_apply = true;
            warnings = ingest::ingest(w, &mut config, false)?;
            check_applied(w, &mut config)?;
            value = apply(w, &value, &config, force)?;
            // preconditions of the applied configuration
            for field in ["resourceVersion", "uid"] {
                if !text(&config["metadata"][field]).is_empty() {
                    value["metadata"][field] = config["metadata"][field].clone();
                }
            }
        }
    }
    if text(&value["metadata"]["name"]) != w.name {
        let cause = Cause::invalid("metadata.name", &value["metadata"]["name"], "field is immutable");
        return Err(w.invalid(w.name, &[cause]));
    }
    warnings.extend(ingest::ingest(w, &mut value, true)?);
    admission::devices::check_binding(tx, w, "patch", &old.value, &value)?;
    let owners = is_apply.then(|| ownership::read(&value));
    replace(hub, tx, w, &old, value, warnings, owners)
}

fn apply_new(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    mut config: Value,
    force: bool,
) -> Result<Written, Failure> {
    let warnings = ingest::ingest(w, &mut config, false)?;
    if !text(&config["metadata"]["uid"]).is_empty() {
        let why = "uid mismatch: the object does not exist";
        return Err(Failure::conflict(&w.resource.group, &w.resource.plural, w.name, why));
    }
    check_applied(w, &mut config)?;
    let empty = json!({
        "apiVersion": w.resource.api_version(), "kind": w.resource.kind, "metadata": { "name": w.name },
    });
    let mut value = apply(w, &empty, &config, force)?;
    ingest::ingest(w, &mut value, true)?;
    create::store_new(hub, tx, w, value, warnings)
}

fn apply(w: &Write<'_>, live: &Value, config: &Value, force: bool) -> Result<Value, Failure> {
    let api_version = w.resource.api_version();
    let manager = Manager { name: w.manager, api_version: &api_version, subresource: w.subresource };
    ownership::apply(live, config, w.shape(), &Apply { manager, force, now: &now() })
}

fn check_applied(w: &Write<'_>, config: &mut Value) -> Result<(), Failure> {
    if !config["metadata"]["managedFields"].is_null() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    if config["metadata"]["name"].as_str().is_some_and(|n| n != w.name) {
        return Err(Failure::bad_request("the name of the object does not match the name on the URL"));
    }
    // an apply to the status owns nothing else, and the other way round
    if w.subresource == "status" {
        if let Some(map) = config.as_object_mut() {
            map.retain(|k, _| matches!(k.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
        }
        if let Some(meta) = config["metadata"].as_object_mut() {
            meta.retain(|k, _| matches!(k.as_str(), "name" | "namespace" | "resourceVersion" | "uid"));
        }
    } else if w.resource.status {
        remove(config, "status");
    }
    Ok(())
}
