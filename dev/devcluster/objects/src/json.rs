//! Short readers of JSON values: a field that is absent or of another type reads as empty.

use serde_json::Value;

/// The string, or `""`.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The elements of an array.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The strings of an array.
pub fn texts(value: &Value) -> impl Iterator<Item = &str> {
    items(value).iter().filter_map(Value::as_str)
}

/// The fields of an object.
pub fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Whether an array contains a string.
pub fn contains(value: &Value, wanted: &str) -> bool {
    items(value).iter().any(|item| item == wanted)
}

/// Sets a field that is absent.
pub fn set_default(value: &mut Value, field: &str, default: impl Into<Value>) {
    if value[field].is_null() {
        value[field] = default.into();
    }
}

/// Sets a field, or removes it.
pub fn set_or_remove(value: &mut Value, field: &str, new: Option<Value>) {
    match new {
        Some(new) => value[field] = new,
        None => remove(value, field),
    }
}

/// Removes a field.
pub fn remove(value: &mut Value, field: &str) {
    if let Some(map) = value.as_object_mut() {
        map.shift_remove(field);
    }
}

/// A quantity in thousandths of its unit.
pub fn quantity(value: &Value) -> Option<i128> {
    value.as_str()?.parse().ok().map(crds::Quantity::milli)
}
