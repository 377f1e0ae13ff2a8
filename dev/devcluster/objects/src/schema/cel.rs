//! `x-kubernetes-validations`: CEL rules over `self` and `oldSelf`.

use super::{Kind, Node};
use crate::error::Cause;
use crate::json::{entries, text};
use cel::{Context, Env, Program, Value as Cel, objects::Map};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The standard functions. A context of its own would build them again for each evaluation.
static STDLIB: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A compiled rule.
#[derive(Debug)]
pub struct Rule {
    program: Program,
    source: String,
    message: Option<String>,
    message_program: Option<Program>,
    field_path: Option<String>,
    /// Refers to `oldSelf`: is evaluated only if there is an old value.
    transition: bool,
}

/// Supported functions and macros; a definition with others is refused.
#[rustfmt::skip]
const FUNCTIONS: [&str; 22] = [
    "size", "has", "all", "exists", "exists_one", "map", "filter", "matches", "contains", "startsWith", "endsWith",
    "string", "int", "uint", "double", "bool", "type", "dyn", "max", "min", "in", "bytes",
];

impl Rule {
    /// Compiles one entry of `x-kubernetes-validations`.
    pub fn compile(entry: &Value) -> Result<Self, String> {
        let source = text(&entry["rule"]).to_owned();
        for field in ["optionalOldSelf", "reason"] {
            if !entry[field].is_null() {
                return Err(format!("{field} is not supported by this cluster"));
            }
        }
        let program = compile(&source)?;
        let transition = program.references().variables().contains(&"oldSelf");
        let message_program = entry["messageExpression"].as_str().map(compile).transpose()?;
        Ok(Self {
            program,
            source,
            message: entry["message"].as_str().map(str::to_owned),
            message_program,
            field_path: entry["fieldPath"].as_str().map(str::to_owned),
            transition,
        })
    }

    /// Evaluates the rule; the error is the message for the client.
    pub(super) fn check(&self, node: &Node, value: &Value, old: Option<&Value>) -> Result<(), String> {
        if self.transition && old.is_none() {
            return Ok(());
        }
        let mut context = Context::with_env(STDLIB.clone());
        context.add_variable_from_value("self", convert(Some(node), value));
        if let Some(old) = old {
            context.add_variable_from_value("oldSelf", convert(Some(node), old));
        }
        match self.program.execute(&context) {
            Ok(Cel::Bool(true)) => Ok(()),
            Ok(Cel::Bool(false)) => {
                let computed = self.message_program.as_ref().and_then(|p| match p.execute(&context) {
                    Ok(Cel::String(s)) => Some(s.to_string()),
                    _ => None,
                });
                Err(computed
                    .or_else(|| self.message.clone())
                    .unwrap_or_else(|| format!("failed rule: {}", self.source)))
            }
            Ok(other) => Err(format!("rule did not evaluate to a boolean: {other:?}")),
            Err(e) => Err(format!("rule evaluation error: {e}")),
        }
    }

    pub(super) fn cause(&self, path: &str, value: &Value, why: String) -> Cause {
        let field = format!("{path}{}", self.field_path.as_deref().unwrap_or(""));
        Cause::invalid(field.trim_start_matches('.'), value, why)
    }
}

/// A device selector: a rule over `device` (`driver`, `attributes`, `capacity`).
pub struct Selector(Program);

impl Selector {
    pub fn compile(source: &str) -> Result<Self, String> {
        compile(source).map(Self)
    }

    /// Whether the selector selects a device of a slice. Attributes without a domain belong to the domain of the driver.
    pub fn matches(&self, driver: &str, device: &Value) -> Result<bool, String> {
        let grouped = |field: &str, unwrap: fn(&Value) -> Value| {
            let mut by_domain = serde_json::Map::new();
            for (name, v) in entries(&device[field]) {
                let (domain, id) = name.split_once('/').unwrap_or((driver, name));
                by_domain.entry(domain).or_insert_with(|| Value::Object(serde_json::Map::new()))[id] =
                    unwrap(v);
            }
            Value::Object(by_domain)
        };
        let attributes = grouped("attributes", |v| {
            ["string", "int", "bool", "version"].iter().find_map(|k| v.get(k).cloned()).unwrap_or(Value::Null)
        });
        let capacity = grouped("capacity", |v| v["value"].clone());
        let view = serde_json::json!({ "driver": driver, "attributes": attributes, "capacity": capacity });
        let mut context = Context::with_env(STDLIB.clone());
        context.add_variable_from_value("device", convert(None, &view));
        match self.0.execute(&context) {
            Ok(Cel::Bool(b)) => Ok(b),
            Ok(other) => Err(format!("device selector did not evaluate to a boolean: {other:?}")),
            Err(e) => Err(format!("device selector: {e}")),
        }
    }
}

fn compile(source: &str) -> Result<Program, String> {
    let program = Program::compile(source).map_err(|e| e.to_string())?;
    for function in program.references().functions() {
        let operator = !function.chars().all(|c| c.is_alphanumeric() || c == '_')
            || function.starts_with('_')
            || function.starts_with('@');
        if !operator && !FUNCTIONS.contains(&function) {
            return Err(format!("undeclared reference to '{function}'"));
        }
    }
    Ok(program)
}

/// Converts JSON to CEL values: by the schema, integers become ints and numbers doubles.
fn convert(node: Option<&Node>, value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(b) => Cel::Bool(*b),
        Value::Number(n) => match (node.and_then(|n| n.kind), n.as_i64()) {
            (Some(Kind::Number), _) | (_, None) => Cel::Float(n.as_f64().unwrap_or(f64::NAN)),
            (_, Some(i)) => Cel::Int(i),
        },
        Value::String(s) => Cel::String(Arc::new(s.clone())),
        Value::Array(items) => {
            let node = node.and_then(|n| n.items.as_deref());
            Cel::List(Arc::new(items.iter().map(|i| convert(node, i)).collect()))
        }
        Value::Object(map) => {
            let entries: HashMap<_, Cel> = map
                .iter()
                .map(|(k, v)| (k.as_str().into(), convert(node.and_then(|n| n.property(k)), v)))
                .collect();
            Cel::Map(Map { map: Arc::new(entries) })
        }
    }
}
