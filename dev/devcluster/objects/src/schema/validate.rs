//! Validation of objects against a schema.

use super::{Kind, Node, at_root, join};
use crate::error::Cause;
use serde_json::{Map, Value};

impl Node {
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

    pub(super) fn validate(&self, value: &Value, path: &str, root: bool, causes: &mut Vec<Cause>) {
        if !self.type_matches(value) {
            let want = self.kind.map_or("integer,string".into(), |k| format!("{k:?}").to_lowercase());
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
                if let Some(min) = l.minimum.filter(|min| n < *min) {
                    wrong(format!("should be greater than or equal to {min}"));
                }
                if let Some(max) = l.maximum.filter(|max| n > *max) {
                    wrong(format!("should be less than or equal to {max}"));
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
                if let Some(min) = l.min_length.filter(|min| length < *min) {
                    wrong(format!("should be at least {min} chars long"));
                }
                if let Some(max) = l.max_length.filter(|max| length > *max) {
                    wrong(format!("may not be more than {max} chars long"));
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
                if let Some(min) = l.min_items.filter(|min| n < *min) {
                    wrong(format!("should have at least {min} items"));
                }
                if let Some(max) = l.max_items.filter(|max| n > *max) {
                    wrong(format!("must have at most {max} items"));
                }
                self.validate_items(items, path, causes);
            }
            Value::Object(map) => {
                let n = map.len() as u64;
                if let Some(max) = l.max_properties.filter(|max| n > *max) {
                    wrong(format!("must have at most {max} properties"));
                }
                self.validate_map(map, path, root, causes);
            }
            _ => {}
        }
    }

    fn validate_items(&self, items: &[Value], path: &str, causes: &mut Vec<Cause>) {
        if let Some(keys) = &self.list_keys {
            let mut seen: Vec<Vec<&Value>> = Vec::new();
            for (i, item) in items.iter().enumerate() {
                let id = if keys.is_empty() { vec![item] } else { keys.iter().map(|k| &item[k]).collect() };
                if seen.contains(&id) {
                    causes.push(Cause::duplicate(format!("{path}[{i}]"), item));
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

    pub(super) fn run_rules(&self, value: &Value, old: Option<&Value>, path: &str, causes: &mut Vec<Cause>) {
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
