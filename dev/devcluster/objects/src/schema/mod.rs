//! Structural schemas of CustomResourceDefinitions, compiled once and applied to every object that is written.

pub mod cel;
mod validate;
mod values;

use crate::error::Cause;
use crate::json::{entries, items, text, texts};
use cel::Rule;
use regex::Regex;
use serde_json::Value;

/// A compiled schema node.
#[derive(Debug)]
pub struct Schema {
    /// The source, for field ownership and OpenAPI.
    pub raw: Value,
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    kind: Option<Kind>,
    nullable: bool,
    int_or_string: bool,
    preserve: bool,
    properties: Vec<(String, Node)>,
    additional: Option<Box<Node>>,
    items: Option<Box<Node>>,
    required: Vec<String>,
    values: Option<Vec<Value>>,
    default: Option<Value>,
    limits: Limits,
    pattern: Option<Regex>,
    format: Option<String>,
    list_keys: Option<Vec<String>>,
    rules: Vec<Rule>,
}

#[derive(Debug, Default)]
struct Limits {
    minimum: Option<f64>,
    maximum: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    max_properties: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

impl Kind {
    fn parse(name: &Value) -> Option<Self> {
        Some(match text(name) {
            "object" => Self::Object,
            "array" => Self::Array,
            "string" => Self::String,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "boolean" => Self::Boolean,
            _ => return None,
        })
    }
}

/// The supported keywords; others are refused.
#[rustfmt::skip]
const KNOWN: [&str; 28] = [
    "type", "nullable", "properties", "additionalProperties", "items", "required", "enum", "default", "minimum",
    "maximum", "minLength", "maxLength", "minItems", "maxItems", "maxProperties", "pattern", "format", "description",
    "title", "example", "externalDocs", "x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-validations",
    "uniqueItems",
];

impl Schema {
    /// Compiles a schema; `path` is its place in the definition, for messages.
    pub fn compile(raw: &Value, path: &str) -> Result<Self, Vec<Cause>> {
        let mut causes = Vec::new();
        let root = Node::compile(raw, path, &mut causes);
        if causes.is_empty() { Ok(Self { raw: raw.clone(), root }) } else { Err(causes) }
    }

    /// Removes unknown fields and returns their paths.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        self.root.prune(object, "", true, &mut dropped);
        dropped
    }

    /// Sets defaults.
    pub fn default(&self, object: &mut Value) {
        self.root.fill(object);
    }

    /// Errors of an object; `old` is the version that it replaces.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
        let mut causes = Vec::new();
        self.root.validate(object, "", true, &mut causes);
        if causes.is_empty() {
            self.root.run_rules(object, old, "", &mut causes);
        }
        causes
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn at_root(key: &str) -> bool {
    matches!(key, "apiVersion" | "kind" | "metadata")
}

impl Node {
    fn compile(raw: &Value, path: &str, causes: &mut Vec<Cause>) -> Self {
        let Some(map) = raw.as_object() else {
            causes.push(Cause::invalid(path, raw, "must be a schema object"));
            return Self::default();
        };
        for key in map.keys().filter(|k| !KNOWN.contains(&k.as_str())) {
            causes.push(Cause::forbidden(join(path, key), "not supported by this cluster"));
        }
        let flag = |name: &str| raw[name] == true;
        let kind = Kind::parse(&raw["type"]);
        if kind.is_none() && raw["type"].is_string() {
            causes.push(Cause {
                field: join(path, "type"),
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: {}: supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\"", raw["type"]),
            });
        }
        let (int_or_string, preserve) =
            (flag("x-kubernetes-int-or-string"), flag("x-kubernetes-preserve-unknown-fields"));
        if kind.is_none() && !int_or_string && !preserve {
            causes.push(Cause::required(join(path, "type"), "must not be empty for specified object fields"));
        }
        let mut child = |raw: &Value, at: String| Self::compile(raw, &at, causes);
        let many = |name: &str| items(&raw[name]);
        let properties: Vec<(String, Self)> = entries(&raw["properties"])
            .map(|(k, s)| (k.clone(), child(s, format!("{path}.properties[{k}]"))))
            .collect();
        let additional = match &raw["additionalProperties"] {
            Value::Object(_) => {
                Some(Box::new(child(&raw["additionalProperties"], join(path, "additionalProperties"))))
            }
            _ => None,
        };
        let items = raw.get("items").map(|s| Box::new(child(s, join(path, "items"))));
        let preserve = preserve || raw["additionalProperties"] == true;
        if kind == Some(Kind::Array) && items.is_none() {
            causes.push(Cause::required(join(path, "items"), "must be specified"));
        }
        let pattern = raw["pattern"].as_str().and_then(|p| match Regex::new(p) {
            Ok(r) => Some(r),
            Err(e) => {
                causes.push(Cause::invalid(join(path, "pattern"), &p.into(), e.to_string()));
                None
            }
        });
        let rules = many("x-kubernetes-validations")
            .iter()
            .enumerate()
            .filter_map(|(i, r)| {
                Rule::compile(r)
                    .map_err(|why| {
                        let at = format!("{path}.x-kubernetes-validations[{i}].rule");
                        causes.push(Cause::invalid(at, &r["rule"], format!("compilation failed: {why}")));
                    })
                    .ok()
            })
            .collect();
        let list_keys = match raw["x-kubernetes-list-type"].as_str() {
            Some("map") => Some(owned(&raw["x-kubernetes-list-map-keys"])),
            Some("set") => Some(Vec::new()),
            _ => None,
        };
        if raw["x-kubernetes-list-type"] == "map" && list_keys.as_ref().is_none_or(Vec::is_empty) {
            causes.push(Cause::required(
                join(path, "x-kubernetes-list-map-keys"),
                "must not be empty for a map list",
            ));
        }
        let number = |name: &str| raw[name].as_f64();
        let count = |name: &str| raw[name].as_u64();
        Self {
            kind,
            nullable: flag("nullable"),
            int_or_string,
            preserve,
            properties,
            additional,
            items,
            required: owned(&raw["required"]),
            values: raw["enum"].as_array().cloned(),
            default: raw.get("default").cloned(),
            limits: Limits {
                minimum: number("minimum"),
                maximum: number("maximum"),
                min_length: count("minLength"),
                max_length: count("maxLength"),
                min_items: count("minItems"),
                max_items: count("maxItems"),
                max_properties: count("maxProperties"),
            },
            pattern,
            format: raw["format"].as_str().map(str::to_owned),
            list_keys,
            rules,
        }
    }

    fn property(&self, key: &str) -> Option<&Self> {
        self.properties.iter().find(|(k, _)| k == key).map(|(_, n)| n).or(self.additional.as_deref())
    }
}

fn owned(list: &Value) -> Vec<String> {
    texts(list).map(str::to_owned).collect()
}
