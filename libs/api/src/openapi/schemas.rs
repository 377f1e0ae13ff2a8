//! Schemas: references instead of copies, required properties and open enums in responses.

use std::collections::BTreeSet;

use serde_json::{Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Replaces each inlined copy of a named schema by a reference.
pub(super) fn share(document: &mut Value) {
    let named: Vec<(String, Value)> = document["components"]["schemas"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, schema)| !schema["properties"].is_null() || !schema["enum"].is_null())
        .map(|(name, schema)| (name.clone(), schema.clone()))
        .collect();
    replace_copies(&mut document["paths"], &named);
    for (_, schema) in document["components"]["schemas"].as_object_mut().into_iter().flatten() {
        children(schema).for_each(|child| replace_copies(child, &named));
    }
}

/// Writes maps of any values as `additionalProperties: true`; utoipa cannot read them otherwise.
pub(super) fn free_maps(value: &mut Value) {
    if let Value::Object(members) = value
        && let Some(values) = members.get_mut("additionalProperties")
        && values.as_object().is_some_and(|schema| {
            ["type", "$ref", "oneOf", "anyOf", "allOf"].iter().all(|keyword| !schema.contains_key(*keyword))
        })
    {
        *values = true.into();
    }
    children(value).for_each(free_maps);
}

fn replace_copies(value: &mut Value, named: &[(String, Value)]) {
    if let Some((name, _)) = named.iter().find(|(_, schema)| schema == value) {
        *value = json!({ "$ref": format!("{SCHEMAS}{name}") });
    } else {
        children(value).for_each(|child| replace_copies(child, named));
    }
}

fn children(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Object(members) => Box::new(members.values_mut()),
        Value::Array(items) => Box::new(items.iter_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

/// Makes the properties of schemas that only responses use required, and their enums open.
pub(super) fn complete(document: &mut Value) {
    let requests = reachable(document, "requestBody").into_iter().chain(reachable(document, "parameters"));
    let requests: BTreeSet<String> = requests.collect();
    let responses = reachable(document, "responses");
    let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
    for name in responses.difference(&requests) {
        if let Some(schema) = schemas.get_mut(name).filter(|_| !name.ends_with("Problem")) {
            complete_schema(schema);
        }
    }
}

fn complete_schema(schema: &mut Value) {
    if let Value::Object(members) = schema {
        // only where it is the keyword: a property may also be called `properties`
        let names =
            members.get("properties").and_then(Value::as_object).map(|all| all.keys().cloned().collect());
        if let Some(names) = names.filter(|_| members.contains_key("type")) {
            members.insert("required".to_owned(), names);
        }
        let open = members.get("enum").filter(|_| members.get("type").is_some_and(|kind| kind == "string"));
        if let Some(values) = open.cloned() {
            members.entry("x-extensible-enum").or_insert(values);
        }
    }
    children(schema).for_each(complete_schema);
}

/// Returns the schemas that a part of any operation leads to.
fn reachable(document: &Value, part: &str) -> BTreeSet<String> {
    let mut next = Vec::new();
    for item in document["paths"].as_object().into_iter().flat_map(|paths| paths.values()) {
        for operation in item.as_object().into_iter().flat_map(|item| item.values()) {
            references(&operation[part], &mut next);
        }
    }
    let mut reached = BTreeSet::new();
    while let Some(name) = next.pop() {
        if reached.insert(name.clone()) {
            references(&document["components"]["schemas"][&name], &mut next);
        }
    }
    reached
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.extend(
                members
                    .get("$ref")
                    .and_then(Value::as_str)
                    .and_then(|to| to.strip_prefix(SCHEMAS))
                    .map(str::to_owned),
            );
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_any_values_are_found_at_any_depth() {
        let map = |values: Value| json!({ "type": "object", "additionalProperties": values });
        let mut schema = json!({
            "oneOf": [{ "type": "null" }, map(json!({ "description": "anything" }))],
            "properties": { "typed": map(json!({ "type": "string" })) },
        });
        free_maps(&mut schema);
        assert_eq!(schema["oneOf"][1], map(json!(true)));
        assert_eq!(schema["properties"]["typed"], map(json!({ "type": "string" })));
    }
}
