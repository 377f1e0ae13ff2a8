//! Examples: of each request body, each successful response and each problem type.
//!
//! An example is composed of those of the members: that of the field (`#[schema(example = …)]`), or one for its name
//! from `examples.json`. What may be null is null in a response. A request has the required members, or the first one if
//! none is required; an operation whose request needs more declares its own example.

use serde_json::{Map, Value, json};

use super::{components, each_operation};
use crate::problem::ProblemType;

/// Values by the name of the member (`name`), or of the schema and the member (`Tenant.name`).
const BY_NAME: &str = include_str!("examples.json");

/// The kind of body of an example.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Request,
    Response,
}

struct Examples {
    schemas: Value,
    by_name: Value,
}

/// Adds an example to each JSON body that has none.
pub(super) fn complete(document: &mut Value) {
    let examples = Examples {
        schemas: json!(components(document, "schemas")),
        by_name: serde_json::from_str(BY_NAME).expect("examples.json is JSON"),
    };
    each_operation(document, |_, _, operation| {
        examples.add(&mut operation["requestBody"], Part::Request);
        let responses = operation["responses"].as_object_mut().into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            examples.add(response, Part::Response);
        }
    });
}

/// The example of a problem type.
pub(super) fn of_problem(kind: ProblemType) -> Value {
    let mut value = json!({
        "type": kind.uri(),
        "title": kind.title(),
        "status": kind.status().as_u16(),
        "detail": format!("{}.", kind.title()),
        "next": kind.next(),
    });
    if kind == ProblemType::InvalidField {
        value["errors"] = json!([{ "pointer": "/name", "detail": "Longer than 63 characters." }]);
    }
    json!({ "summary": kind.title(), "value": value })
}

impl Examples {
    fn add(&self, body: &mut Value, part: Part) {
        let Some(content) = body.pointer_mut("/content/application~1json").and_then(Value::as_object_mut)
        else {
            return;
        };
        if !content.contains_key("example") && !content.contains_key("examples") {
            let example = self.compose(&content["schema"], ("", ""), part);
            content.insert("example".to_owned(), example);
        }
    }

    /// An example of the member `name` of the schema `owner`. Null where no value is known or needed.
    fn compose(&self, schema: &Value, (owner, name): (&str, &str), part: Part) -> Value {
        if let Some(value) = declared(schema) {
            return value;
        }
        if let Some(target) = schema["$ref"].as_str().and_then(|to| to.strip_prefix("#/components/schemas/"))
        {
            return self.compose(&self.schemas[target], (target, name), part);
        }
        let alternatives = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array());
        let is_null = |one: &&Value| one["type"] == "null";
        let nullable = alternatives.is_some_and(|all| all.iter().any(|one| is_null(&one)))
            || schema["type"].as_array().is_some_and(|all| all.contains(&json!("null")));
        if nullable && part == Part::Response {
            return Value::Null;
        }
        if let Some(alternatives) = alternatives {
            let chosen = alternatives.iter().find(|one| !is_null(one));
            return chosen.map_or(Value::Null, |one| self.compose(one, (owner, name), part));
        }
        if let Some(parts) = schema["allOf"].as_array() {
            let members =
                parts.iter().filter_map(|one| self.compose(one, (owner, name), part).as_object().cloned());
            return members.flatten().collect::<Map<_, _>>().into();
        }
        let kind = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().find(|kind| *kind != "null").unwrap_or(&Value::Null),
            kind => kind,
        };
        match (kind.as_str().unwrap_or_default(), schema["format"].as_str().unwrap_or_default()) {
            ("object", _) => self.object(schema, owner, part),
            ("array", _) => {
                let item = self.compose(&schema["items"], (owner, name), part);
                Value::Array(if item.is_null() { Vec::new() } else { vec![item] })
            }
            ("string", "date-time") => "2026-11-23T08:00:00Z".into(),
            (kind, _) => match &self.by_name[name] {
                value if is_of(value, kind) => value.clone(),
                _ if kind == "boolean" => false.into(),
                _ if kind == "integer" || kind == "number" => {
                    schema["minimum"].as_i64().unwrap_or_default().max(1).into()
                }
                _ => Value::Null,
            },
        }
    }

    fn object(&self, schema: &Value, owner: &str, part: Part) -> Value {
        let Some(properties) = schema["properties"].as_object() else { return json!({}) };
        let required: Vec<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let names: Vec<_> = match part {
            Part::Response => properties.keys().map(String::as_str).collect(),
            Part::Request if required.is_empty() => properties.keys().map(String::as_str).take(1).collect(),
            Part::Request => required,
        };
        let member = |name: &str| {
            let own = &self.by_name[format!("{owner}.{name}")];
            let composed = || self.compose(&properties[name], (owner, name), part);
            (name.to_owned(), if own.is_null() { composed() } else { own.clone() })
        };
        names.into_iter().map(member).collect::<Map<_, _>>().into()
    }
}

/// The example, default or first value of the schema itself.
fn declared(schema: &Value) -> Option<Value> {
    let values = ["/example", "/examples/0", "/const", "/default", "/enum/0"];
    values.iter().filter_map(|at| schema.pointer(at)).find(|value| !value.is_null()).cloned()
}

fn is_of(value: &Value, kind: &str) -> bool {
    match value {
        Value::String(_) => kind == "string",
        Value::Number(_) => kind == "integer" || kind == "number",
        Value::Bool(_) => kind == "boolean",
        _ => false,
    }
}
