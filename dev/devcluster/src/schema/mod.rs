//! Structural schemas of CustomResourceDefinitions: compiled once, then pruning, defaulting and validation of each
//! object that is written. The rules' CEL expressions are compiled by `cel`.

pub(crate) mod cel;

use crate::error::Cause;
use cel::Rule;
use regex::Regex;
use serde_json::{Map, Value};

/// A compiled schema node.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The source, for what only reads it (apply's list kinds, OpenAPI).
    pub raw: Value,
    root: Node,
}

#[derive(Debug, Default)]
struct Node {
    kind: Option<Kind>,
    nullable: bool,
    int_or_string: bool,
    preserve: bool,
    embedded: bool,
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
    all_of: Vec<Node>,
    any_of: Vec<Node>,
    one_of: Vec<Node>,
    not: Option<Box<Node>>,
}

#[derive(Debug, Default)]
struct Limits {
    minimum: Option<f64>,
    maximum: Option<f64>,
    exclusive_minimum: bool,
    exclusive_maximum: bool,
    multiple_of: Option<f64>,
    min_length: Option<u64>,
    max_length: Option<u64>,
    min_items: Option<u64>,
    max_items: Option<u64>,
    min_properties: Option<u64>,
    max_properties: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
}

const KNOWN: &[&str] = &[
    "type",
    "nullable",
    "properties",
    "additionalProperties",
    "items",
    "required",
    "enum",
    "default",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "pattern",
    "format",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "description",
    "title",
    "example",
    "externalDocs",
    "uniqueItems",
    "x-kubernetes-int-or-string",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

impl Schema {
    /// Compiles a schema; `path` is where it stands in its definition, for messages.
    pub(crate) fn compile(raw: &Value, path: &str) -> Result<Self, Vec<Cause>> {
        let mut causes = Vec::new();
        let root = Node::compile(raw, path, true, &mut causes);
        if causes.is_empty() { Ok(Self { raw: raw.clone(), root }) } else { Err(causes) }
    }

    /// Removes fields the schema does not know; their paths come back.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        self.root.prune(object, "", true, &mut dropped);
        dropped
    }

    /// Fills in defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        self.root.fill(object);
    }

    /// What is wrong with an object; `old` is the version it replaces.
    pub(crate) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<Cause> {
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
    fn compile(raw: &Value, path: &str, structural: bool, causes: &mut Vec<Cause>) -> Self {
        let Some(map) = raw.as_object() else {
            causes.push(Cause::invalid(path, raw, "must be a schema object"));
            return Self::default();
        };
        for key in map.keys().filter(|k| !KNOWN.contains(&k.as_str())) {
            causes.push(Cause::forbidden(join(path, key), "not part of the schema language served here"));
        }
        let flag = |name: &str| raw[name] == true;
        let kind = match raw["type"].as_str() {
            Some("object") => Some(Kind::Object),
            Some("array") => Some(Kind::Array),
            Some("string") => Some(Kind::String),
            Some("integer") => Some(Kind::Integer),
            Some("number") => Some(Kind::Number),
            Some("boolean") => Some(Kind::Boolean),
            Some(other) => {
                causes.push(Cause::invalid(join(path, "type"), &other.into(), "unknown type"));
                None
            }
            None => None,
        };
        let (int_or_string, preserve) =
            (flag("x-kubernetes-int-or-string"), flag("x-kubernetes-preserve-unknown-fields"));
        if structural && kind.is_none() && !int_or_string && !preserve {
            causes.push(Cause::required(join(path, "type"), "must not be empty for specified object fields"));
        }
        let mut child =
            |raw: &Value, at: String, structural: bool| Self::compile(raw, &at, structural, causes);
        let many = |name: &str| raw[name].as_array().map(Vec::as_slice).unwrap_or_default();
        let mut list = |name: &str| -> Vec<Self> {
            many(name)
                .iter()
                .enumerate()
                .map(|(i, s)| child(s, format!("{path}.{name}[{i}]"), false))
                .collect()
        };
        let (all_of, any_of, one_of) = (list("allOf"), list("anyOf"), list("oneOf"));
        let not = raw.get("not").map(|s| Box::new(child(s, join(path, "not"), false)));
        let properties: Vec<(String, Self)> = raw["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(k, s)| (k.clone(), child(s, format!("{path}.properties[{k}]"), structural)))
            .collect();
        let additional = match &raw["additionalProperties"] {
            Value::Object(_) => Some(Box::new(child(
                &raw["additionalProperties"],
                join(path, "additionalProperties"),
                structural,
            ))),
            _ => None,
        };
        let items = raw.get("items").map(|s| Box::new(child(s, join(path, "items"), structural)));
        let preserve = preserve || raw["additionalProperties"] == true;
        if structural && kind == Some(Kind::Array) && items.is_none() {
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
            Some("map") => Some(strings(&raw["x-kubernetes-list-map-keys"])),
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
            embedded: flag("x-kubernetes-embedded-resource"),
            properties,
            additional,
            items,
            required: strings(&raw["required"]),
            values: raw["enum"].as_array().cloned(),
            default: raw.get("default").cloned(),
            limits: Limits {
                minimum: number("minimum"),
                maximum: number("maximum"),
                exclusive_minimum: flag("exclusiveMinimum"),
                exclusive_maximum: flag("exclusiveMaximum"),
                multiple_of: number("multipleOf"),
                min_length: count("minLength"),
                max_length: count("maxLength"),
                min_items: count("minItems"),
                max_items: count("maxItems"),
                min_properties: count("minProperties"),
                max_properties: count("maxProperties"),
            },
            pattern,
            format: raw["format"].as_str().map(str::to_owned),
            list_keys,
            rules,
            all_of,
            any_of,
            one_of,
            not,
        }
    }

    fn property(&self, key: &str) -> Option<&Self> {
        self.properties.iter().find(|(k, _)| k == key).map(|(_, n)| n).or(self.additional.as_deref())
    }

    fn prune(&self, value: &mut Value, path: &str, root: bool, dropped: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                let keys: Vec<String> = map.keys().cloned().collect();
                for key in keys {
                    if (root || self.embedded) && at_root(&key) {
                        continue;
                    }
                    match self.property(&key) {
                        Some(node) => {
                            if let Some(child) = map.get_mut(&key) {
                                node.prune(child, &join(path, &key), false, dropped);
                            }
                        }
                        None if self.preserve => {}
                        None => {
                            map.shift_remove(&key);
                            dropped.push(join(path, &key));
                        }
                    }
                }
            }
            Value::Array(items) => {
                if let Some(node) = &self.items {
                    for (i, item) in items.iter_mut().enumerate() {
                        node.prune(item, &format!("{path}[{i}]"), false, dropped);
                    }
                }
            }
            _ => {}
        }
    }

    fn fill(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, node) in &self.properties {
                    if let Some(default) = &node.default {
                        let absent = map.get(key).is_none_or(|v| v.is_null() && !node.nullable);
                        if absent {
                            map.insert(key.clone(), default.clone());
                        }
                    } else if map.get(key).is_some_and(Value::is_null)
                        && !node.nullable
                        && !self.required.contains(key)
                    {
                        map.shift_remove(key);
                    }
                }
                for (key, child) in map.iter_mut() {
                    if let Some(node) = self.property(key) {
                        node.fill(child);
                    }
                }
            }
            Value::Array(items) => {
                if let Some(node) = &self.items {
                    items.iter_mut().for_each(|i| node.fill(i));
                }
            }
            _ => {}
        }
    }

    fn type_matches(&self, value: &Value) -> bool {
        if value.is_null() && self.nullable {
            return true;
        }
        if self.int_or_string {
            return value.is_string() || value.is_i64() || value.is_u64();
        }
        match self.kind {
            None => true,
            Some(Kind::Object) => value.is_object(),
            Some(Kind::Array) => value.is_array(),
            Some(Kind::String) => value.is_string(),
            Some(Kind::Integer) => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|f| f.fract() == 0.0)
            }
            Some(Kind::Number) => value.is_number(),
            Some(Kind::Boolean) => value.is_boolean(),
        }
    }

    fn validate(&self, value: &Value, path: &str, root: bool, causes: &mut Vec<Cause>) {
        if !self.type_matches(value) {
            let want = self.kind.map_or("integer or string".into(), |k| format!("{k:?}").to_lowercase());
            let got = type_name(value);
            let why = format!("{} in body must be of type {want}: \"{got}\"", shown(path));
            causes.push(Cause { reason: "FieldValueTypeInvalid", ..Cause::invalid(path, value, why) });
            return;
        }
        if value.is_null() {
            return;
        }
        if let Some(values) = &self.values
            && !values.contains(value)
        {
            let all: Vec<String> = values.iter().map(Value::to_string).collect();
            causes.push(Cause {
                field: path.to_owned(),
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: {value}: supported values: {}", all.join(", ")),
            });
        }
        let mut wrong =
            |why: String| causes.push(Cause::invalid(path, value, format!("{} in body {why}", shown(path))));
        let l = &self.limits;
        match value {
            Value::Number(n) => {
                let n = n.as_f64().unwrap_or(f64::NAN);
                if let Some(min) = l.minimum
                    && (n < min || l.exclusive_minimum && n == min)
                {
                    wrong(format!(
                        "should be greater than {}{min}",
                        if l.exclusive_minimum { "" } else { "or equal to " }
                    ));
                }
                if let Some(max) = l.maximum
                    && (n > max || l.exclusive_maximum && n == max)
                {
                    wrong(format!(
                        "should be less than {}{max}",
                        if l.exclusive_maximum { "" } else { "or equal to " }
                    ));
                }
                if let Some(of) = l.multiple_of
                    && (n / of).fract() != 0.0
                {
                    wrong(format!("should be a multiple of {of}"));
                }
                let whole = value.as_i64();
                if self.format.as_deref() == Some("int32") && whole.is_some_and(|i| i32::try_from(i).is_err())
                {
                    wrong("must be of type int32".into());
                }
                if self.kind == Some(Kind::Integer) && whole.is_none() && n.abs() >= 9.3e18 {
                    wrong("must be of type int64".into());
                }
            }
            Value::String(s) => {
                let length = s.chars().count() as u64;
                if l.min_length.is_some_and(|m| length < m) {
                    wrong(format!("should be at least {} chars long", l.min_length.unwrap_or(0)));
                }
                if l.max_length.is_some_and(|m| length > m) {
                    wrong(format!("may not be more than {} chars long", l.max_length.unwrap_or(0)));
                }
                if let Some(p) = &self.pattern
                    && !p.is_match(s)
                {
                    wrong(format!("should match '{}'", p.as_str()));
                }
                if self.format.as_deref() == Some("date-time") && s.parse::<jiff::Timestamp>().is_err() {
                    wrong(format!("must be of type date-time: \"{s}\""));
                }
            }
            Value::Array(items) => {
                let n = items.len() as u64;
                if l.min_items.is_some_and(|m| n < m) {
                    wrong(format!("should have at least {} items", l.min_items.unwrap_or(0)));
                }
                if l.max_items.is_some_and(|m| n > m) {
                    wrong(format!("must have at most {} items", l.max_items.unwrap_or(0)));
                }
                self.validate_items(items, path, causes);
            }
            Value::Object(map) => {
                let n = map.len() as u64;
                if l.min_properties.is_some_and(|m| n < m) {
                    wrong(format!("should have at least {} properties", l.min_properties.unwrap_or(0)));
                }
                if l.max_properties.is_some_and(|m| n > m) {
                    wrong(format!("must have at most {} properties", l.max_properties.unwrap_or(0)));
                }
                self.validate_map(map, path, root, causes);
            }
            _ => {}
        }
        self.validate_composed(value, path, root, causes);
    }

    fn validate_items(&self, items: &[Value], path: &str, causes: &mut Vec<Cause>) {
        if let Some(keys) = &self.list_keys {
            let mut seen: Vec<Vec<&Value>> = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let id = if keys.is_empty() { vec![item] } else { keys.iter().map(|k| &item[k]).collect() };
                if seen.contains(&id) {
                    let message = format!("Duplicate value: {item}");
                    causes.push(Cause {
                        field: format!("{path}[{i}]"),
                        reason: "FieldValueDuplicate",
                        message,
                    });
                }
                seen.push(id);
            }
        }
        if let Some(node) = &self.items {
            for (i, item) in items.iter().enumerate() {
                node.validate(item, &format!("{path}[{i}]"), false, causes);
            }
        }
    }

    fn validate_map(&self, map: &Map<String, Value>, path: &str, root: bool, causes: &mut Vec<Cause>) {
        for key in self.required.iter().filter(|k| !map.contains_key(*k)) {
            causes.push(Cause::required(join(path, key), ""));
        }
        for (key, child) in map {
            if root && at_root(key) {
                continue;
            }
            if let Some(node) = self.property(key) {
                node.validate(child, &join(path, key), false, causes);
            }
        }
    }

    fn validate_composed(&self, value: &Value, path: &str, root: bool, causes: &mut Vec<Cause>) {
        let accepts = |node: &Self| {
            let mut inner = Vec::new();
            node.validate(value, path, root, &mut inner);
            inner.is_empty()
        };
        for node in &self.all_of {
            node.validate(value, path, root, causes);
        }
        let mut wrong =
            |why: &str| causes.push(Cause::invalid(path, value, format!("{} in body {why}", shown(path))));
        if !self.any_of.is_empty() && !self.any_of.iter().any(accepts) {
            wrong("must validate at least one schema (anyOf)");
        }
        if !self.one_of.is_empty() && self.one_of.iter().filter(|n| accepts(n)).count() != 1 {
            wrong("must validate one and only one schema (oneOf)");
        }
        if self.not.as_deref().is_some_and(accepts) {
            wrong("must not validate the schema (not)");
        }
    }

    fn run_rules(&self, value: &Value, old: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
        if value.is_null() {
            return;
        }
        for rule in &self.rules {
            if let Err(why) = rule.check(self, value, old) {
                causes.push(rule.cause(path, value, why));
            }
        }
        match value {
            Value::Object(map) => {
                for (key, child) in map {
                    if let Some(node) = self.property(key) {
                        node.run_rules(child, old.and_then(|o| o.get(key)), &join(path, key), causes);
                    }
                }
            }
            Value::Array(items) => {
                let Some(node) = &self.items else { return };
                for (i, item) in items.iter().enumerate() {
                    // only items of map lists can be found again in the old version
                    let before = match &self.list_keys {
                        Some(keys) if !keys.is_empty() => old
                            .and_then(Value::as_array)
                            .and_then(|l| l.iter().find(|o| keys.iter().all(|k| o[k] == item[k]))),
                        _ => None,
                    };
                    node.run_rules(item, before, &format!("{path}[{i}]"), causes);
                }
            }
            _ => {}
        }
    }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "object" } else { path }
}

fn strings(v: &Value) -> Vec<String> {
    v.as_array().into_iter().flatten().filter_map(|s| s.as_str().map(str::to_owned)).collect()
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
