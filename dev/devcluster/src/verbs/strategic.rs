//! Strategic merge patch, for builtin kinds only: keyed lists merge by their first key; `$patch`, `$retainKeys` and
//! `$deleteFromPrimitiveList` are directives.

use objects::error::Failure;
use objects::json::items;
use objects::ownership::{ListKind, Shape};
use serde_json::{Map, Value};

/// Merges a patch into an object.
pub(crate) fn merge(target: &mut Value, patch: &Value, shape: Shape<'_>) -> Result<(), Failure> {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return Ok(());
    };
    if patch.get("$patch").is_some_and(|d| d == "replace") {
        let mut fresh = patch.clone();
        fresh.shift_remove("$patch");
        *target = Value::Object(fresh);
        return Ok(());
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(map) = target.as_object_mut() else { return Ok(()) };
    if let Some(keep) = patch.get("$retainKeys").and_then(Value::as_array) {
        map.retain(|k, _| keep.iter().any(|v| v == k));
    }
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            let gone = items(value).to_vec();
            if let Some(items) = map.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|i| !gone.contains(i));
            }
        } else if key.starts_with("$setElementOrder/") || key == "$retainKeys" {
            // the order of a keyed list has no meaning here
        } else if key.starts_with('$') {
            return Err(Failure::bad_request(format!("unknown strategic merge directive {key}")));
        } else if value.is_null() {
            map.shift_remove(key);
        } else if let Value::Array(items) = value {
            let existing = map.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
            merge_list(existing, items, shape.child(key))?;
        } else {
            merge(map.entry(key.clone()).or_insert(Value::Null), value, shape.child(key))?;
        }
    }
    Ok(())
}

fn merge_list(target: &mut Value, patch: &[Value], shape: Shape<'_>) -> Result<(), Failure> {
    let sample: Vec<Value> = patch.iter().filter(|p| p["$patch"].is_null()).cloned().collect();
    let kind = if sample.is_empty() && !patch.is_empty() {
        shape.list(target.as_array().map_or(&[], Vec::as_slice))
    } else {
        shape.list(patch)
    };
    let replace = patch.iter().any(|p| p["$patch"] == "replace");
    let Some(items) = target.as_array_mut().filter(|_| !replace) else {
        *target = Value::Array(sample);
        return Ok(());
    };
    match kind {
        ListKind::Atomic => *items = sample,
        ListKind::Set => {
            let fresh: Vec<Value> = sample.into_iter().filter(|p| !items.contains(p)).collect();
            items.extend(fresh);
        }
        ListKind::Keyed(keys) => {
            let Some(key) = keys.first() else { return Ok(()) };
            for p in patch {
                let at = items.iter().position(|i| i[key] == p[key]);
                match (at, p["$patch"] == "delete") {
                    (Some(at), true) => drop(items.remove(at)),
                    (None, true) => {}
                    (Some(at), false) => merge(&mut items[at], p, shape.item())?,
                    (None, false) => items.push(p.clone()),
                }
            }
        }
    }
    Ok(())
}
