//! Server-side apply: merges an applied configuration into the live object under field ownership.

use super::fields::{FieldSet, ListKind, Shape, key_element, lookup, remove_at, set_of, show};
use super::managed::{Entry, Manager, ownable, read, write};
use crate::error::Failure;
use serde_json::Value;

/// The author and options of an apply.
pub struct Apply<'a> {
    pub manager: Manager<'a>,
    /// Take fields from other managers.
    pub force: bool,
    pub now: &'a str,
}

/// Returns the object after the apply, with its managed fields. For a new object, `live` has only a name.
///
/// # Errors
/// 409 if another manager owns a changed field and `force` is not set.
pub fn apply(live: &Value, applied: &Value, shape: Shape<'_>, by: &Apply<'_>) -> Result<Value, Failure> {
    let wanted = ownable(applied);
    let current = ownable(live);
    let set = if wanted.as_object().is_some_and(serde_json::Map::is_empty) {
        FieldSet::default()
    } else {
        set_of(&wanted, shape)
    };
    let mut entries = read(live);
    let mine = |e: &Entry| {
        e.manager == by.manager.name && e.operation == "Apply" && e.subresource == by.manager.subresource
    };

    let mut conflicts: Vec<(String, String)> = Vec::new();
    let mut taken = FieldSet::default();
    for entry in entries.iter().filter(|e| !mine(e)) {
        let mut shared = entry.set.clone();
        shared.intersect(&set);
        for path in shared.paths() {
            let keyed = path.last().is_some_and(|l| l.starts_with("k:") || l.starts_with("v:"));
            if keyed || lookup(&current, &path, shape) == lookup(&wanted, &path, shape) {
                continue;
            }
            conflicts.push((entry.shown(), show(&path)));
            let mut at = &mut taken;
            for element in path {
                at = at.children.entry(element).or_default();
            }
            at.member = true;
        }
    }
    if !conflicts.is_empty() && !by.force {
        conflicts.sort();
        return Err(Failure::apply_conflict(&conflicts));
    }

    let mut result = live.clone();
    merge(&mut result, &wanted, shape);

    let previous = entries.iter().find(|e| mine(e)).map(|e| e.set.clone()).unwrap_or_default();
    let mut removed = previous;
    removed.subtract(&set);
    for path in removed.paths() {
        if path.is_empty() {
            continue;
        }
        let others =
            entries.iter().filter(|e| !mine(e)).any(|e| e.set.contains(&path) || under(&e.set, &path));
        // a map that became granular was not removed
        let still = under(&set, &path);
        if !others && !still {
            remove_at(&mut result, &path, shape);
        }
    }

    for entry in entries.iter_mut().filter(|e| !mine(e)) {
        entry.set.subtract(&taken);
    }
    match entries.iter_mut().find(|e| mine(e)) {
        Some(e) => {
            if e.set != set || e.api_version != by.manager.api_version {
                e.time = by.now.to_owned();
            }
            e.set = set;
            e.api_version = by.manager.api_version.to_owned();
        }
        None => entries.push(Entry::new(&by.manager, "Apply", by.now, set)),
    }
    write(&mut result, &entries);
    Ok(result)
}

/// Whether the set has members at or below a path.
fn under(set: &FieldSet, path: &[String]) -> bool {
    let mut at = set;
    for element in path {
        match at.children.get(element) {
            Some(child) => at = child,
            None => return false,
        }
    }
    !at.is_empty()
}

fn merge(live: &mut Value, applied: &Value, shape: Shape<'_>) {
    match (live, applied) {
        (Value::Object(map), Value::Object(wanted)) if !shape.atomic_map() => {
            for (key, value) in wanted {
                match map.get_mut(key) {
                    Some(existing) => merge(existing, value, shape.child(key)),
                    None => {
                        map.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        (Value::Array(items), Value::Array(wanted)) if !wanted.is_empty() => match shape.list(wanted) {
            ListKind::Atomic => *items = wanted.clone(),
            ListKind::Set => {
                let fresh: Vec<Value> = wanted.iter().filter(|w| !items.contains(w)).cloned().collect();
                items.extend(fresh);
            }
            ListKind::Keyed(keys) => {
                for w in wanted {
                    let element = key_element(shape, &keys, w);
                    match items.iter_mut().find(|i| key_element(shape, &keys, i) == element) {
                        Some(existing) => merge(existing, w, shape.item()),
                        None => items.push(w.clone()),
                    }
                }
            }
        },
        (live, applied) => *live = applied.clone(),
    }
}
