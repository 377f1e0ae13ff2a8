//! Validates values against schemas, for the keywords of JSON Schema that the documents use. Any other keyword is an error, so
//! that none is ignored.

use serde_json::Value;

use crate::documents::{object, resolved};

/// Keywords that do not restrict values.
const ANNOTATIONS: [&str; 6] =
    ["description", "default", "example", "examples", "x-extensible-enum", "writeOnly"];

/// Returns why the value does not conform to the schema, each with a pointer.
pub(crate) fn departures(document: &Value, schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(document, resolved(document, schema), value, "", &mut found);
    found
}

fn check(document: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let conforms = |schema: &Value| departures(document, schema, value).is_empty();
    let number = |limit: &Value, holds: fn(f64, f64) -> bool| {
        value.as_f64().zip(limit.as_f64()).is_none_or(|(value, limit)| holds(value, limit))
    };
    let count = |limit: &Value, of: Option<usize>, holds: fn(u64, u64) -> bool| {
        of.zip(limit.as_u64()).is_none_or(|(count, limit)| holds(u64::try_from(count).unwrap(), limit))
    };
    let letters = value.as_str().map(|text| text.chars().count());
    let each = |value: &Value| value.as_array().cloned().unwrap_or_default();
    for (keyword, rule) in object(schema) {
        let holds = match keyword.as_str() {
            "$ref" => {
                check(document, resolved(document, schema), value, at, found);
                true
            }
            "type" => each(rule).iter().chain([rule]).any(|kind| is_of(value, kind)),
            "enum" => each(rule).contains(value),
            "anyOf" => each(rule).iter().any(conforms),
            "allOf" => each(rule).iter().all(conforms),
            "oneOf" => each(rule).iter().filter(|one| conforms(one)).count() == 1,
            "required" => value.as_object().is_none_or(|members| {
                each(rule).iter().all(|name| members.contains_key(name.as_str().unwrap()))
            }),
            "minimum" => number(rule, |value, limit| value >= limit),
            "maximum" => number(rule, |value, limit| value <= limit),
            "minLength" => count(rule, letters, |count, limit| count >= limit),
            "maxLength" => count(rule, letters, |count, limit| count <= limit),
            "maxItems" => count(rule, value.as_array().map(Vec::len), |count, limit| count <= limit),
            "pattern" => value
                .as_str()
                .is_none_or(|text| regex::Regex::new(rule.as_str().unwrap()).unwrap().is_match(text)),
            "format" => value.as_str().is_none_or(|text| match rule.as_str().unwrap() {
                "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
                "uri" => text.parse::<http::Uri>().is_ok_and(|uri| uri.scheme().is_some()),
                "uuid" => uuid::Uuid::try_parse(text).is_ok(),
                "password" => true,
                other => panic!("{at}: the format {other} is not checked"),
            }),
            "properties" => {
                for (name, member) in object(value) {
                    if let Some(schema) = rule.get(name) {
                        check(document, schema, member, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let more = object(value).filter(|(name, _)| schema["properties"].get(name).is_none());
                for (name, member) in more.filter(|_| rule != true) {
                    check(document, rule, member, &format!("{at}/{name}"), found);
                }
                true
            }
            "propertyNames" => object(value)
                .all(|(name, _)| departures(document, rule, &Value::from(name.as_str())).is_empty()),
            "items" => {
                for (n, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(document, rule, item, &format!("{at}/{n}"), found);
                }
                true
            }
            other => {
                assert!(ANNOTATIONS.contains(&other), "{at}: the keyword {other} is not checked");
                true
            }
        };
        if !holds {
            found.push(format!("{at}: {value} is not as {keyword} says: {rule}"));
        }
    }
    // the schema that allows nothing
    if *schema == false {
        found.push(format!("{at}: not allowed"));
    }
}

fn is_of(value: &Value, kind: &Value) -> bool {
    match kind.as_str().unwrap_or_default() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
