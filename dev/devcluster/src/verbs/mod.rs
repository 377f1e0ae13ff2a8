//! The verbs on stored objects: what create, update, patch, apply and delete mean for any kind, inside one lock.
//! HTTP does not reach in here and neither do the kinds' own behaviours (scheduling, running pods).

pub(crate) mod apply;
pub(crate) mod delete;
pub(crate) mod fields;
mod ingest;
pub(crate) mod managed;
pub(crate) mod patch;

use crate::admission;
use crate::error::{Cause, Failure};
use crate::hub::{Hub, now};
use crate::kinds::{Resource, Version, builtin, custom};
use crate::rbac::User;
use crate::store::{Inner, Object};
use fields::Shape;
use ingest::{ingest, validate};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What to do with fields nobody knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    Ignore,
    Warn,
    Strict,
}

/// One write: on what, by whom, how.
#[derive(Clone)]
pub(crate) struct Write<'a> {
    pub resource: &'a Arc<Resource>,
    pub version: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
    /// Empty, or `status`.
    pub subresource: &'a str,
    pub manager: &'a str,
    pub user: Option<&'a User>,
    pub dry_run: bool,
    pub unknown: Unknown,
}

impl<'a> Write<'a> {
    /// A write by one of the cluster's own components.
    pub(crate) fn internal(
        resource: &'a Arc<Resource>,
        namespace: &'a str,
        name: &'a str,
        manager: &'a str,
    ) -> Self {
        Self {
            resource,
            version: &resource.storage_version().name,
            namespace,
            name,
            subresource: "",
            manager,
            user: None,
            dry_run: false,
            unknown: Unknown::Ignore,
        }
    }
    pub(crate) fn status(mut self) -> Self {
        self.subresource = "status";
        self
    }
    fn version(&self) -> &'a Version {
        self.resource.version(self.version).unwrap_or_else(|| self.resource.storage_version())
    }
    fn shape(&self) -> Shape<'a> {
        match &self.version().schema {
            Some(schema) => Shape::Schema(&schema.raw),
            None => Shape::Builtin(""),
        }
    }
    fn api_version(&self) -> String {
        self.resource.api_version(self.version)
    }
    fn invalid(&self, name: &str, causes: &[Cause]) -> Failure {
        Failure::invalid(&self.resource.group, &self.resource.kind, name, causes)
    }
}

/// What a write gave: the object and warnings for the client.
pub(crate) struct Written {
    pub object: Arc<Object>,
    pub warnings: Vec<String>,
}

/// The kinds of patch bodies.
pub(crate) enum Patch {
    Json(Value),
    Merge(Value),
    Strategic(Value),
    Apply { config: Value, force: bool },
}

/// A name from a prefix.
fn generated(prefix: &str) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let bytes = *uuid::Uuid::new_v4().as_bytes();
    let tail: String =
        bytes.iter().rev().take(5).map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()])).collect();
    format!("{}{tail}", &prefix[..prefix.len().min(58)])
}

/// Creates an object.
pub(crate) fn create(hub: &Hub, tx: &mut Inner, w: &Write<'_>, mut value: Value) -> Result<Written, Failure> {
    let warnings = ingest(w, &mut value, true)?;
    if !value["metadata"]["resourceVersion"].as_str().unwrap_or("").is_empty() {
        return Err(Failure::bad_request("resourceVersion should not be set on objects to be created"));
    }
    if let Some(meta) = value["metadata"].as_object_mut() {
        meta.shift_remove("managedFields");
        meta.shift_remove("resourceVersion");
    }
    store_new(hub, tx, w, value, warnings)
}

/// The common end of create and of an apply that creates; managed fields may already stand in the object.
fn store_new(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    mut value: Value,
    warnings: Vec<String>,
) -> Result<Written, Failure> {
    let res = w.resource;
    let time = now();
    let given_namespace = value["metadata"]["namespace"].as_str().unwrap_or("").to_owned();
    if !given_namespace.is_empty() && given_namespace != w.namespace {
        return Err(Failure::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    let applied = !value["metadata"]["managedFields"].is_null();
    {
        let Some(meta) = value["metadata"].as_object_mut() else {
            return Err(Failure::bad_request("metadata must be an object"));
        };
        let name = meta.get("name").and_then(Value::as_str).unwrap_or("").to_owned();
        if name.is_empty() {
            match meta.get("generateName").and_then(Value::as_str) {
                Some(prefix) if !prefix.is_empty() => {
                    let name = generated(prefix);
                    meta.insert("name".into(), name.into());
                }
                _ => {
                    let causes = [Cause::required("metadata.name", "name or generateName is required")];
                    return Err(w.invalid("", &causes));
                }
            }
        }
        if res.namespaced {
            meta.insert("namespace".into(), w.namespace.into());
        } else {
            meta.shift_remove("namespace");
        }
        for field in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"] {
            meta.shift_remove(field);
        }
        meta.insert("uid".into(), uuid::Uuid::new_v4().to_string().into());
        meta.insert("creationTimestamp".into(), time.clone().into());
        if res.generation {
            meta.insert("generation".into(), 1.into());
        }
    }
    if w.version().status && res.id != "nodes" {
        value.as_object_mut().map(|m| m.shift_remove("status"));
    }
    let name = value["metadata"]["name"].as_str().unwrap_or("").to_owned();
    defaults(res, &mut value);
    if res.id == "customresourcedefinitions.apiextensions.k8s.io" {
        custom::default_names(&mut value);
    }
    let causes = validate(w, &value, None);
    if !causes.is_empty() {
        return Err(w.invalid(&name, &causes));
    }
    if tx.get(&res.id, w.namespace, &name).is_some() {
        return Err(Failure::already_exists(&res.group, &res.plural, &name));
    }
    admission::on_create(hub, tx, w, &mut value)?;
    if !applied {
        managed::after_update(
            None,
            &mut value,
            w.shape(),
            (w.manager, &w.api_version(), w.subresource),
            &time,
            false,
        );
    }
    to_storage(w, &mut value);
    let served = on_definition(hub, w, &mut value, &time)?;
    let object = store(tx, w, value);
    if let (Some(resource), false) = (served, w.dry_run) {
        hub.kinds.insert(resource);
    }
    if w.resource.id == "namespaces" && !w.dry_run {
        crate::controllers::namespaces::default_account(hub, tx, object.name());
    }
    Ok(Written { object, warnings })
}

/// Defaults of builtin kinds; a field left null by anybody is a field left out.
fn defaults(res: &Resource, value: &mut Value) {
    if !res.is_custom() {
        admission::default_builtin(&res.id, value);
        builtin::drop_nulls(value);
    }
}

/// A definition that is written becomes a served kind (or is refused) in the same step.
fn on_definition(
    hub: &Hub,
    w: &Write<'_>,
    value: &mut Value,
    time: &str,
) -> Result<Option<Resource>, Failure> {
    if w.resource.id != "customresourcedefinitions.apiextensions.k8s.io" {
        return Ok(None);
    }
    let name = value["metadata"]["name"].as_str().unwrap_or("").to_owned();
    let resource = custom::resource_of(value).map_err(|causes| w.invalid(&name, &causes))?;
    let taken = hub
        .kinds
        .all()
        .iter()
        .any(|r| r.group == resource.group && r.kind == resource.kind && r.id != resource.id);
    if taken || hub.kinds.get(&resource.id).is_some_and(|r| !r.is_custom()) {
        return Err(w.invalid(
            &name,
            &[Cause::invalid("spec.names.kind", &resource.kind.as_str().into(), "is already in use")],
        ));
    }
    if value["status"]["conditions"].is_null() || value["status"]["acceptedNames"] != value["spec"]["names"] {
        value["status"] = custom::established(value, time);
    }
    Ok(Some(resource))
}

fn to_storage(w: &Write<'_>, value: &mut Value) {
    value["apiVersion"] = w.resource.api_version(&w.resource.storage_version().name).into();
}

fn store(tx: &mut Inner, w: &Write<'_>, value: Value) -> Arc<Object> {
    if w.dry_run { Object::unstored(tx.rv(), value) } else { tx.put(&w.resource.id, value) }
}

/// The current object, in the version of the request.
fn current(tx: &Inner, w: &Write<'_>) -> Result<Arc<Object>, Failure> {
    tx.get(&w.resource.id, w.namespace, w.name).ok_or_else(|| w.resource.not_found(w.name))
}

/// Replaces an object (PUT).
pub(crate) fn update(hub: &Hub, tx: &mut Inner, w: &Write<'_>, mut value: Value) -> Result<Written, Failure> {
    let warnings = ingest(w, &mut value, true)?;
    if value["metadata"]["name"].as_str().unwrap_or("") != w.name {
        return Err(Failure::bad_request("the name of the object does not match the name on the URL"));
    }
    let old = current(tx, w)?;
    if w.resource.is_custom() && value["metadata"]["resourceVersion"].as_str().unwrap_or("").is_empty() {
        let causes =
            [Cause::invalid("metadata.resourceVersion", &0.into(), "must be specified for an update")];
        return Err(w.invalid(w.name, &causes));
    }
    admission::devices::may_bind(tx, w, "update", &old.value, &value)?;
    replace(hub, tx, w, &old, value, warnings, None)
}

/// Patches an object; an apply may create it.
pub(crate) fn patch(hub: &Hub, tx: &mut Inner, w: &Write<'_>, body: Patch) -> Result<Written, Failure> {
    let old = match (current(tx, w), &body) {
        (Ok(old), _) => old,
        (Err(e), Patch::Apply { .. }) if !w.subresource.is_empty() => return Err(e),
        (Err(_), Patch::Apply { .. }) => return apply_new(hub, tx, w, body),
        (Err(e), _) => return Err(e),
    };
    let mut value = old.value.clone();
    value["apiVersion"] = w.api_version().into();
    let mut applied = None;
    match body {
        Patch::Json(p) => patch::json_patch(&mut value, &p)?,
        Patch::Merge(p) => patch::merge_patch(&mut value, &p),
        Patch::Strategic(p) => {
            if w.resource.is_custom() {
                return Err(Failure::unsupported_media(
                    "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
                ));
            }
            patch::strategic(&mut value, &p, Shape::Builtin(""))?;
        }
        Patch::Apply { mut config, force } => {
            let warnings = ingest(w, &mut config, false)?;
            check_applied(w, &mut config)?;
            let given = config["metadata"]["resourceVersion"].as_str().unwrap_or("").to_owned();
            let uid = config["metadata"]["uid"].as_str().unwrap_or("").to_owned();
            value = apply::apply(&value, &config, w.shape(), &apply_by(w, &w.api_version(), force, &now()))?;
            if !given.is_empty() {
                value["metadata"]["resourceVersion"] = given.into();
            }
            if !uid.is_empty() {
                value["metadata"]["uid"] = uid.into();
            }
            applied = Some(warnings);
        }
    }
    if value["metadata"]["name"].as_str().unwrap_or("") != w.name {
        let causes = [Cause::invalid("metadata.name", &value["metadata"]["name"], "field is immutable")];
        return Err(w.invalid(w.name, &causes));
    }
    let is_apply = applied.is_some();
    let mut warnings = applied.unwrap_or_default();
    warnings.extend(ingest(w, &mut value, true)?);
    admission::devices::may_bind(tx, w, "patch", &old.value, &value)?;
    let managed = is_apply.then(|| managed::read(&value));
    replace(hub, tx, w, &old, value, warnings, managed)
}

fn apply_by<'a>(w: &'a Write<'_>, api_version: &'a str, force: bool, now: &'a str) -> apply::Apply<'a> {
    apply::Apply { manager: w.manager, api_version, subresource: w.subresource, force, now }
}

fn check_applied(w: &Write<'_>, config: &mut Value) -> Result<(), Failure> {
    if !config["metadata"]["managedFields"].is_null() {
        return Err(Failure::bad_request("metadata.managedFields must be nil"));
    }
    if config["metadata"]["name"].as_str().is_some_and(|n| n != w.name) {
        return Err(Failure::bad_request("the name of the object does not match the name on the URL"));
    }
    // an apply owns nothing on the other side of the status subresource
    if w.subresource == "status" {
        if let Some(map) = config.as_object_mut() {
            map.retain(|k, _| matches!(k.as_str(), "apiVersion" | "kind" | "metadata" | "status"));
            if let Some(meta) = map.get_mut("metadata").and_then(Value::as_object_mut) {
                meta.retain(|k, _| matches!(k.as_str(), "name" | "namespace" | "resourceVersion" | "uid"));
            }
        }
    } else if w.version().status {
        config.as_object_mut().map(|m| m.shift_remove("status"));
    }
    Ok(())
}

fn apply_new(hub: &Hub, tx: &mut Inner, w: &Write<'_>, body: Patch) -> Result<Written, Failure> {
    let Patch::Apply { mut config, force } = body else { return Err(w.resource.not_found(w.name)) };
    let warnings = ingest(w, &mut config, false)?;
    if !config["metadata"]["uid"].as_str().unwrap_or("").is_empty() {
        return Err(Failure::conflict(
            &w.resource.group,
            &w.resource.plural,
            w.name,
            "uid mismatch: the object does not exist",
        ));
    }
    check_applied(w, &mut config)?;
    let mut live =
        json!({ "apiVersion": w.api_version(), "kind": w.resource.kind, "metadata": { "name": w.name } });
    live = apply::apply(&live, &config, w.shape(), &apply_by(w, &w.api_version(), force, &now()))?;
    ingest(w, &mut live, true)?;
    store_new(hub, tx, w, live, warnings)
}

/// The common end of every write to an existing object. `managed` is what an apply has worked out already.
fn replace(
    hub: &Hub,
    tx: &mut Inner,
    w: &Write<'_>,
    old: &Arc<Object>,
    mut new: Value,
    warnings: Vec<String>,
    managed: Option<Vec<managed::Entry>>,
) -> Result<Written, Failure> {
    let res = w.resource;
    let meta = &new["metadata"];
    let asked = meta["resourceVersion"].as_str().unwrap_or("");
    if !asked.is_empty() && asked != old.meta("resourceVersion") {
        return Err(Failure::stale(&res.group, &res.plural, w.name));
    }
    let uid = meta["uid"].as_str().unwrap_or("");
    if !uid.is_empty() && uid != old.uid() {
        let why =
            format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", old.uid());
        return Err(Failure::conflict(&res.group, &res.plural, w.name, &why));
    }
    let cleared = meta["managedFields"]
        .as_array()
        .is_some_and(|a| a.is_empty() || a[0].as_object().is_some_and(Map::is_empty));
    let time = now();
    let mut before = old.value.clone();
    before["apiVersion"] = w.api_version().into();
    keep_system_fields(&mut new, &before);
    if w.subresource == "status" {
        let status = new.get("status").cloned();
        let annotations = new["metadata"].get("annotations").cloned();
        new = before.clone();
        set_or_remove(&mut new, "status", status);
        if !res.is_custom() {
            set_or_remove(&mut new["metadata"], "annotations", annotations);
        }
    } else if w.version().status {
        set_or_remove(&mut new, "status", before.get("status").cloned());
    }
    if res.id == "customresourcedefinitions.apiextensions.k8s.io" {
        custom::default_names(&mut new);
    }
    defaults(res, &mut new);
    let causes = validate(w, &new, Some(&before));
    if !causes.is_empty() {
        return Err(w.invalid(w.name, &causes));
    }
    admission::on_update(hub, tx, w, &before, &mut new)?;
    if res.generation && w.subresource.is_empty() {
        let strip = |v: &Value| {
            let mut v = v.clone();
            if let Some(map) = v.as_object_mut() {
                map.shift_remove("metadata");
                if w.version().status {
                    map.shift_remove("status");
                }
            }
            v
        };
        if strip(&new) != strip(&before) {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0) + 1;
            new["metadata"]["generation"] = generation.into();
        }
    }
    match managed {
        Some(entries) => managed::write(&mut new, &entries),
        None => managed::after_update(
            Some(&before),
            &mut new,
            w.shape(),
            (w.manager, &w.api_version(), w.subresource),
            &time,
            cleared,
        ),
    }
    to_storage(w, &mut new);
    if new == old.value {
        return Ok(Written { object: old.clone(), warnings });
    }
    let served = on_definition(hub, w, &mut new, &time)?;
    if delete::is_done(&new) {
        let object = Object::unstored(tx.rv(), new);
        if !w.dry_run {
            delete::finish(hub, tx, res, &old.key());
        }
        return Ok(Written { object, warnings });
    }
    let object = store(tx, w, new);
    if let (Some(resource), false) = (served, w.dry_run) {
        hub.kinds.insert(resource);
    }
    Ok(Written { object, warnings })
}

/// A change by one of the cluster's own components: ownership is kept, rules for clients are not asked.
pub(crate) fn system_update(
    tx: &mut Inner,
    w: &Write<'_>,
    old: &Arc<Object>,
    mut new: Value,
) -> Result<Arc<Object>, Failure> {
    builtin::drop_nulls(&mut new);
    if new == old.value {
        return Ok(old.clone());
    }
    let shape = Shape::Builtin("");
    managed::after_update(
        Some(&old.value),
        &mut new,
        shape,
        (w.manager, &w.api_version(), w.subresource),
        &now(),
        false,
    );
    Ok(tx.put(&w.resource.id, new))
}

fn set_or_remove(target: &mut Value, field: &str, value: Option<Value>) {
    match value {
        Some(v) => target[field] = v,
        None => drop(target.as_object_mut().map(|m| m.shift_remove(field))),
    }
}

fn keep_system_fields(new: &mut Value, old: &Value) {
    let (Some(meta), Some(was)) = (new["metadata"].as_object_mut(), old["metadata"].as_object()) else {
        return;
    };
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
        match was.get(field) {
            Some(v) => drop(meta.insert(field.into(), v.clone())),
            None => drop(meta.shift_remove(field)),
        }
    }
}
