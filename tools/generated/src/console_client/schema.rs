//! A schema as an expression of TypeScript.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    elements, members,
    text::{doc, key, string, type_name, union},
};

const SCHEMAS: &str = "#/components/schemas/";

/// Writes expressions, and keeps the names of the types that they need.
#[derive(Debug, Default)]
pub(super) struct Expressions {
    pub(super) names: BTreeSet<String>,
}

impl Expressions {
    /// The type of a schema. Its lines after the first are indented by `indent`.
    pub(super) fn of(&mut self, schema: &Value, indent: &str) -> String {
        if let Some(target) = schema["$ref"].as_str() {
            return self.named(type_name(target.strip_prefix(SCHEMAS).unwrap_or(target)));
        }
        let mut parts = Vec::new();
        for (operator, joint) in [("oneOf", " | "), ("anyOf", " | "), ("allOf", " & ")] {
            if schema[operator].is_array() {
                parts.push(self.combined(&schema[operator], joint, indent));
            }
        }
        let values: Vec<_> =
            elements(&schema["enum"]).chain(schema.get("const")).map(Value::to_string).collect();
        if !values.is_empty() {
            parts.push(union(&values, indent));
        } else if schema["x-extensible-enum"].is_array() {
            let known = elements(&schema["x-extensible-enum"]).map(Value::to_string);
            // keeps the known values for completion, where `| string` would absorb them
            parts.push(union(&known.chain(["(string & {})".to_owned()]).collect::<Vec<_>>(), indent));
        } else if !schema["type"].is_null() {
            parts.push(self.plain(schema, indent));
        }
        match &parts[..] {
            [] => "unknown".to_owned(),
            [part] => part.clone(),
            _ => parts.iter().map(|part| in_brackets(part)).collect::<Vec<_>>().join(" & "),
        }
    }

    /// The members of an object, a line for each, and its end.
    pub(super) fn body(&mut self, schema: &Value, indent: &str) -> String {
        let required: BTreeSet<_> = elements(&schema["required"]).filter_map(Value::as_str).collect();
        let inner = format!("{indent}  ");
        let mut body = "{\n".to_owned();
        for (name, member) in members(&schema["properties"]) {
            body += &doc(member["description"].as_str().unwrap_or_default(), &inner);
            let optional = if required.contains(name) { "" } else { "?" };
            body += &format!("{inner}{}{optional}: {};\n", key(name), self.of(member, &inner));
        }
        if schema["additionalProperties"] == true {
            body += &format!("{inner}[member: string]: unknown;\n");
        }
        body + indent + "}"
    }

    fn named(&mut self, name: String) -> String {
        self.names.insert(name.clone());
        name
    }

    fn combined(&mut self, schemas: &Value, joint: &str, indent: &str) -> String {
        let mut parts: Vec<String> = Vec::new();
        let mut is_nullable = false;
        for schema in elements(schemas) {
            if schema["type"] == "null" {
                is_nullable = true;
                continue;
            }
            let inner = if schema["type"] == "object" { format!("{indent}  ") } else { indent.to_owned() };
            let mut part = self.of(schema, &inner);
            if part.starts_with('{') {
                let comment = doc(schema["description"].as_str().unwrap_or_default(), &inner);
                part = format!("{} {part}", comment.trim()).trim_start().to_owned();
            }
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        if joint == " & " {
            let bracketed: Vec<_> = parts.iter().map(|part| in_brackets(part)).collect();
            return bracketed.join(joint);
        }
        if is_nullable {
            parts.push("null".to_owned());
        }
        union(&parts, indent)
    }

    fn plain(&mut self, schema: &Value, indent: &str) -> String {
        let kinds: Vec<_> = match &schema["type"] {
            Value::String(kind) => vec![kind.as_str()],
            kinds => elements(kinds).filter_map(Value::as_str).collect(),
        };
        let types: Vec<_> = kinds.into_iter().map(|kind| self.of_kind(kind, schema, indent)).collect();
        union(&types, indent)
    }

    fn of_kind(&mut self, kind: &str, schema: &Value, indent: &str) -> String {
        match kind {
            "null" => "null".to_owned(),
            "boolean" => "boolean".to_owned(),
            "integer" | "number" => "number".to_owned(),
            "string" if schema["format"] == "date-time" => self.named("Timestamp".to_owned()),
            "string" => "string".to_owned(),
            "array" => format!("{}[]", in_brackets(&self.of(&schema["items"], indent))),
            "object" if members(&schema["properties"]).next().is_some() => self.body(schema, indent),
            "object" if schema["additionalProperties"].is_object() => {
                format!("Record<string, {}>", self.of(&schema["additionalProperties"], indent))
            }
            "object" if schema["additionalProperties"] == false => "Record<string, never>".to_owned(),
            "object" => "Record<string, unknown>".to_owned(),
            _ => "unknown".to_owned(),
        }
    }
}

/// The expression as one operand of `&` and `[]`.
fn in_brackets(part: &str) -> String {
    let mut depth = 0_usize;
    let is_compound = part.char_indices().any(|(_, letter)| {
        match letter {
            '{' | '(' | '<' => depth += 1,
            '}' | ')' | '>' => depth = depth.saturating_sub(1),
            '|' | '&' if depth == 0 => return true,
            _ => {}
        }
        false
    });
    if is_compound { format!("({part})") } else { part.to_owned() }
}

/// Whether a schema is an id: those are not to be mistaken for each other.
pub(super) fn is_id(name: &str, schema: &Value) -> bool {
    name.ends_with("Id") && schema["type"] == "string" && schema["pattern"].is_string()
}

/// An id's type.
pub(super) fn branded(name: &str) -> String {
    format!("string & {{ readonly __id: {} }}", string(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(schema: &Value) -> String {
        Expressions::default().of(schema, "")
    }

    #[test]
    fn plain_schemas() {
        assert_eq!(of(&json!({ "type": "string" })), "string");
        assert_eq!(of(&json!({ "type": "string", "format": "date-time" })), "Timestamp");
        assert_eq!(of(&json!({ "type": ["string", "null"], "format": "date-time" })), "Timestamp | null");
        assert_eq!(of(&json!({ "type": "integer", "format": "int64" })), "number");
        assert_eq!(
            of(&json!({ "type": "array", "items": { "type": ["string", "null"] } })),
            "(string | null)[]"
        );
        assert_eq!(
            of(&json!({ "type": ["array", "null"], "items": { "type": "string" } })),
            "string[] | null"
        );
        assert_eq!(of(&json!({})), "unknown");
        assert_eq!(of(&json!({ "type": "array" })), "unknown[]");
        assert_eq!(of(&json!({ "type": "object" })), "Record<string, unknown>");
        assert_eq!(
            of(&json!({ "type": "object", "additionalProperties": { "type": "integer" } })),
            "Record<string, number>"
        );
    }

    #[test]
    fn enums_are_unions_of_their_values() {
        assert_eq!(of(&json!({ "type": "string", "enum": ["a", "b"] })), r#""a" | "b""#);
        assert_eq!(
            of(&json!({ "type": "string", "enum": ["a"], "x-extensible-enum": ["a"] })),
            r#""a""#,
            "the console and the API are of one version"
        );
        assert_eq!(of(&json!({ "type": "string", "x-extensible-enum": ["a"] })), r#""a" | (string & {})"#);
        assert_eq!(of(&json!({ "const": "a" })), r#""a""#);
        let long: Vec<_> = (0..20).map(|number| format!("value-{number}")).collect();
        assert!(
            of(&json!({ "type": "string", "enum": long })).starts_with("\n  | \"value-0\"\n  | \"value-1\"")
        );
    }

    #[test]
    fn combinations_stay_what_they_are() {
        let id = json!({ "$ref": "#/components/schemas/StorageId", "description": "Its storage." });
        assert_eq!(of(&json!({ "oneOf": [id, { "type": "null" }] })), "StorageId | null");
        let page =
            json!({ "type": "object", "required": ["n"], "properties": { "n": { "type": "integer" } } });
        assert_eq!(of(&json!({ "allOf": [id, page] })), "StorageId & {\n    n: number;\n  }");
        let tagged = |kind: &str| {
            json!({ "type": "object", "description": "One.", "required": ["kind"],
                    "properties": { "kind": { "type": "string", "enum": [kind] } } })
        };
        assert_eq!(
            of(&json!({ "oneOf": [tagged("mig"), tagged("device")] })),
            "\n  | /** One. */ {\n    kind: \"mig\";\n  }\n  | /** One. */ {\n    kind: \"device\";\n  }"
        );
    }

    #[test]
    fn an_expression_names_the_types_that_it_needs() {
        let mut expressions = Expressions::default();
        let when = json!({ "type": "string", "format": "date-time" });
        let page = json!({ "$ref": "#/components/schemas/Page_Unit" });
        let _ = expressions.of(&json!({ "type": "object", "properties": { "a": when, "b": page } }), "");
        assert_eq!(expressions.names.into_iter().collect::<Vec<_>>(), ["PageUnit", "Timestamp"]);
    }
}
