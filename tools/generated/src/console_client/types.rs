//! `types.ts`: every schema of the document.

use std::collections::BTreeMap;

use anyhow::ensure;
use serde_json::Value;

use super::{
    HEADER, members,
    schema::{Expressions, branded, is_id},
    text::{doc, type_name},
};

const TIMESTAMP: &str = "/** A moment, as RFC 3339 writes it in UTC. */\nexport type Timestamp = string;\n";

pub(super) fn emit(document: &Value) -> anyhow::Result<String> {
    let mut declarations = BTreeMap::from([("Timestamp".to_owned(), TIMESTAMP.to_owned())]);
    for (schema_name, schema) in members(&document["components"]["schemas"]) {
        let name = type_name(schema_name);
        let comment = doc(schema["description"].as_str().unwrap_or_default(), "");
        let text = format!("{comment}{}", declaration(&name, schema));
        ensure!(declarations.insert(name.clone(), text).is_none(), "two schemas are named {name}");
    }
    Ok(format!("{HEADER}\n{}", declarations.into_values().collect::<Vec<_>>().join("\n")))
}

fn declaration(name: &str, schema: &Value) -> String {
    if is_id(name, schema) {
        return format!("export type {name} = {};\n", branded(name));
    }
    let mut expressions = Expressions::default();
    let is_interface = schema["type"] == "object" && members(&schema["properties"]).next().is_some();
    if is_interface {
        return format!("export interface {name} {}\n", expressions.body(schema, ""));
    }
    let expression = expressions.of(schema, "");
    let space = if expression.starts_with('\n') { "" } else { " " };
    format!("export type {name} ={space}{expression};\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_schema_is_a_type_with_its_description() {
        let document = json!({ "components": { "schemas": {
            "Unit": {
                "type": "object",
                "description": "A unit.",
                "required": ["id", "holder", "state"],
                "properties": {
                    "id": { "$ref": "#/components/schemas/UnitId", "description": "Unit id." },
                    "holder": { "oneOf": [{ "$ref": "#/components/schemas/InstanceId" }, { "type": "null" }] },
                    "state": { "$ref": "#/components/schemas/UnitState" },
                    "since": { "type": "string", "format": "date-time" },
                },
                "additionalProperties": true,
            },
            "UnitId": { "type": "string", "pattern": "^unit_[0-9a-f]{32}$" },
            "UnitState": { "type": "string", "enum": ["free", "held"] },
        } } });
        assert_eq!(
            emit(&document).unwrap().strip_prefix(HEADER).unwrap(),
            r#"
/** A moment, as RFC 3339 writes it in UTC. */
export type Timestamp = string;

/** A unit. */
export interface Unit {
  /** Unit id. */
  id: UnitId;
  holder: InstanceId | null;
  state: UnitState;
  since?: Timestamp;
  [member: string]: unknown;
}

export type UnitId = string & { readonly __id: "UnitId" };

export type UnitState = "free" | "held";
"#
        );
    }

    #[test]
    fn two_schemas_cannot_have_one_name() {
        let schemas = json!({ "Page_Unit": { "type": "string" }, "PageUnit": { "type": "string" } });
        assert!(emit(&json!({ "components": { "schemas": schemas } })).is_err());
    }
}
