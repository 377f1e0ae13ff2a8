//! `metadata.managedFields`: the owners of fields, updated by every write.

use super::fields::{FieldSet, Shape, changed, set_of};
use crate::json::{items, text};
use serde_json::{Value, json};

/// The entry of one manager.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub manager: String,
    pub operation: String,
    pub api_version: String,
    pub subresource: String,
    pub time: String,
    pub set: FieldSet,
}

impl Entry {
    pub(super) fn new(by: &Manager<'_>, operation: &str, now: &str, set: FieldSet) -> Self {
        Self {
            manager: by.name.to_owned(),
            operation: operation.to_owned(),
            api_version: by.api_version.to_owned(),
            subresource: by.subresource.to_owned(),
            time: now.to_owned(),
            set,
        }
    }

    /// The manager as conflict messages name it.
    pub fn shown(&self) -> String {
        let sub = if self.subresource.is_empty() {
            String::new()
        } else {
            format!(" with subresource \"{}\"", self.subresource)
        };
        if self.operation == "Apply" {
            format!("\"{}\"{sub}", self.manager)
        } else {
            format!("\"{}\"{sub} using {}", self.manager, self.api_version)
        }
    }
}

/// Reads the managed fields of an object.
pub fn read(object: &Value) -> Vec<Entry> {
    let text = |v: &Value| text(v).to_owned();
    items(&object["metadata"]["managedFields"])
        .iter()
        .map(|e| Entry {
            manager: text(&e["manager"]),
            operation: text(&e["operation"]),
            api_version: text(&e["apiVersion"]),
            subresource: text(&e["subresource"]),
            time: text(&e["time"]),
            set: FieldSet::from_json(&e["fieldsV1"]),
        })
        .collect()
}

/// Sets the managed fields of an object.
pub fn write(object: &mut Value, entries: &[Entry]) {
    let Some(meta) = object["metadata"].as_object_mut() else { return };
    let list: Vec<Value> = entries
        .iter()
        .filter(|e| !e.set.is_empty())
        .map(|e| {
            let mut v = json!({
                "manager": e.manager, "operation": e.operation, "apiVersion": e.api_version, "time": e.time,
                "fieldsType": "FieldsV1", "fieldsV1": e.set.to_json(),
            });
            if !e.subresource.is_empty() {
                v["subresource"] = e.subresource.clone().into();
            }
            v
        })
        .collect();
    if list.is_empty() {
        meta.shift_remove("managedFields");
    } else {
        meta.insert("managedFields".into(), list.into());
    }
}

/// The part of an object that can have owners: without identity and without fields that the server sets.
pub(crate) fn ownable(object: &Value) -> Value {
    let mut v = object.clone();
    if let Some(map) = v.as_object_mut() {
        map.shift_remove("apiVersion");
        map.shift_remove("kind");
        if let Some(meta) = map.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in [
                "name",
                "namespace",
                "uid",
                "resourceVersion",
                "generation",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "selfLink",
                "managedFields",
                "generateName",
            ] {
                meta.shift_remove(field);
            }
            if meta.is_empty() {
                map.shift_remove("metadata");
            }
        }
    }
    v
}

/// The author of a write, as `managedFields` names it.
#[derive(Clone, Copy)]
pub struct Manager<'a> {
    pub name: &'a str,
    pub api_version: &'a str,
    /// Empty, or `status`.
    pub subresource: &'a str,
}

/// Updates the managed fields after an update (not an apply): the changed fields belong to the manager, removed fields
/// have no manager.
pub fn after_update(old: Option<&Value>, new: &mut Value, shape: Shape<'_>, by: &Manager<'_>, now: &str) {
    let mut entries = old.map(read).unwrap_or_default();
    let own = |e: &Entry| e.manager == by.name && e.operation == "Update" && e.subresource == by.subresource;
    let fresh = ownable(new);
    let before = old.map(ownable);
    let mine = changed(before.as_ref(), &fresh, shape);
    if before.as_ref() != Some(&fresh) {
        let all = with_containers(&set_of(&fresh, shape));
        for e in &mut entries {
            e.set.intersect(&all);
            if !own(e) {
                e.set.subtract(&mine);
            }
        }
    }
    if !mine.is_empty() {
        match entries.iter_mut().find(|e| own(e) && e.api_version == by.api_version) {
            Some(e) => {
                e.set.union(&mine);
                e.time = now.to_owned();
            }
            None => entries.push(Entry::new(by, "Update", now, mine)),
        }
    }
    write(new, &entries);
}

/// The set with all its containers as members, so that an intersection keeps them.
fn with_containers(set: &FieldSet) -> FieldSet {
    FieldSet {
        member: true,
        children: set.children.iter().map(|(k, c)| (k.clone(), with_containers(c))).collect(),
    }
}
