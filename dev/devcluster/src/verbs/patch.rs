//! The patch kinds that need no ownership: JSON patch, merge patch and (builtin kinds only) strategic merge patch.

use super::fields::{ListKind, Shape};
use crate::error::Failure;
use serde_json::{Map, Value};

/// RFC 7396.
pub(crate) fn merge_patch(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    if let Some(map) = target.as_object_mut() {
        for (key, value) in patch {
            if value.is_null() {
                map.shift_remove(key);
            } else {
                merge_patch(map.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
    }
}

/// RFC 6902.
pub(crate) fn json_patch(target: &mut Value, patch: &Value) -> Result<(), Failure> {
    let bad = |why: String| Failure::bad_request(format!("error decoding patch: {why}"));
    let operations = patch.as_array().ok_or_else(|| bad("expected an array of operations".into()))?;
    for op in operations {
        let path = op["path"].as_str().ok_or_else(|| bad("missing path".into()))?;
        let from = || op["from"].as_str().ok_or_else(|| bad("missing from".into()));
        let value = || op.get("value").cloned().ok_or_else(|| bad("missing value".into()));
        let unprocessable = |why: String| {
            let mut f = Failure::invalid("", "", "", &[]);
            f.message = why;
            f
        };
        let missing = || unprocessable(format!("the path {path} does not exist"));
        match op["op"].as_str().unwrap_or_default() {
            "add" => add(target, path, value()?).ok_or_else(missing)?,
            "remove" => drop(take(target, path).ok_or_else(missing)?),
            "replace" => *target.pointer_mut(path).ok_or_else(missing)? = value()?,
            "test" => {
                if target.pointer(path).unwrap_or(&Value::Null) != op.get("value").unwrap_or(&Value::Null) {
                    return Err(unprocessable(format!("testing value {path} failed")));
                }
            }
            "move" => {
                let value = take(target, from()?).ok_or_else(missing)?;
                add(target, path, value).ok_or_else(missing)?;
            }
            "copy" => {
                let value = target.pointer(from()?).cloned().ok_or_else(missing)?;
                add(target, path, value).ok_or_else(missing)?;
            }
            other => return Err(bad(format!("unknown operation {other:?}"))),
        }
    }
    Ok(())
}

fn parent<'v>(target: &'v mut Value, path: &str) -> Option<(&'v mut Value, String)> {
    let (head, last) = path.rsplit_once('/')?;
    Some((target.pointer_mut(head)?, last.replace("~1", "/").replace("~0", "~")))
}

fn add(target: &mut Value, path: &str, value: Value) -> Option<()> {
    if path.is_empty() {
        *target = value;
        return Some(());
    }
    match parent(target, path)? {
        (Value::Object(map), key) => {
            map.insert(key, value);
        }
        (Value::Array(items), key) if key == "-" => items.push(value),
        (Value::Array(items), key) => {
            let at: usize = key.parse().ok().filter(|&i| i <= items.len())?;
            items.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn take(target: &mut Value, path: &str) -> Option<Value> {
    match parent(target, path)? {
        (Value::Object(map), key) => map.shift_remove(&key),
        (Value::Array(items), key) => {
            let at: usize = key.parse().ok().filter(|&i| i < items.len())?;
            Some(items.remove(at))
        }
        _ => None,
    }
}

/// Strategic merge: keyed lists merge by their first key, `$patch` and `$deleteFromPrimitiveList` are directives.
pub(crate) fn strategic(target: &mut Value, patch: &Value, shape: Shape<'_>) -> Result<(), Failure> {
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
            let gone = value.as_array().cloned().unwrap_or_default();
            if let Some(items) = map.get_mut(list).and_then(Value::as_array_mut) {
                items.retain(|i| !gone.contains(i));
            }
        } else if key.starts_with("$setElementOrder/") || key == "$retainKeys" {
            // order of a keyed list carries no meaning here
        } else if key.starts_with('$') {
            return Err(Failure::bad_request(format!("unknown strategic merge directive {key}")));
        } else if value.is_null() {
            map.shift_remove(key);
        } else if let Value::Array(items) = value {
            let existing = map.entry(key.clone()).or_insert_with(|| Value::Array(Vec::new()));
            merge_list(existing, items, shape.child(key))?;
        } else {
            strategic(map.entry(key.clone()).or_insert(Value::Null), value, shape.child(key))?;
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
                    (Some(at), false) => strategic(&mut items[at], p, shape.item())?,
                    (None, false) => items.push(p.clone()),
                }
            }
        }
    }
    Ok(())
}
