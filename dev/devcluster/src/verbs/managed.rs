//! `metadata.managedFields`: who owns which fields, kept for every write.

use super::fields::{FieldSet, Shape, changed, set_of};
use serde_json::{Value, json};

/// One manager's entry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub manager: String,
    pub operation: String,
    pub api_version: String,
    pub subresource: String,
    pub time: String,
    pub set: FieldSet,
}

impl Entry {
    /// Who it is in conflict messages.
    pub(crate) fn shown(&self) -> String {
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

pub(crate) fn read(object: &Value) -> Vec<Entry> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    object["metadata"]["managedFields"]
        .as_array()
        .into_iter()
        .flatten()
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

pub(crate) fn write(object: &mut Value, entries: &[Entry]) {
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

/// The part of an object that can be owned: no identity, nothing the server fills in.
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

/// Accounts for an update by `manager`: what it changed is its own, what is gone is nobody's.
pub(crate) fn after_update(
    old: Option<&Value>,
    new: &mut Value,
    shape: Shape<'_>,
    who: (&str, &str, &str),
    now: &str,
    cleared: bool,
) {
    let (manager, api_version, subresource) = who;
    let mut entries = if cleared { Vec::new() } else { old.map(read).unwrap_or_default() };
    let fresh = ownable(new);
    let before = old.map(ownable);
    let mine = changed(before.as_ref(), &fresh, shape);
    if before.as_ref() != Some(&fresh) {
        let all = set_of(&fresh, shape);
        let all = with_containers(&all);
        for e in &mut entries {
            e.set.intersect(&all);
            if !(e.manager == manager && e.operation == "Update" && e.subresource == subresource) {
                // a changed field changes hands; existence of a list item is shared
                e.set.subtract(&mine);
            }
        }
    }
    if !mine.is_empty() {
        let own = entries.iter_mut().find(|e| {
            e.manager == manager
                && e.operation == "Update"
                && e.subresource == subresource
                && e.api_version == api_version
        });
        match own {
            Some(e) => {
                e.set.union(&mine);
                e.time = now.to_owned();
            }
            None => entries.push(Entry {
                manager: manager.to_owned(),
                operation: "Update".into(),
                api_version: api_version.to_owned(),
                subresource: subresource.to_owned(),
                time: now.to_owned(),
                set: mine,
            }),
        }
    }
    write(new, &entries);
}

/// The same set with every container on the way a member too, so that intersecting keeps them.
fn with_containers(set: &FieldSet) -> FieldSet {
    FieldSet {
        member: true,
        children: set.children.iter().map(|(k, c)| (k.clone(), with_containers(c))).collect(),
    }
}
