//! Operations and their ids, from an OpenAPI document.

use std::sync::Arc;

use reqwest::Method;
use serde_json::Value;

use super::schemas;

/// Where a request has an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A segment of the path.
    Path,
    /// A query parameter.
    Query,
    /// A property of the body.
    Body,
}

/// An id that a request takes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot {
    /// Where it is.
    pub(crate) place: Place,
    /// Name of the parameter, or JSON pointer into the body.
    pub(crate) name: String,
    /// The type's prefix on the wire (`inst`), or the name of the parameter if it has no typed id.
    pub(crate) kind: String,
}

/// An operation of the API.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    /// `operationId`.
    pub(crate) id: String,
    /// HTTP method.
    pub(crate) method: Method,
    /// Path template.
    pub(crate) path: String,
    /// Whether it needs an access token.
    pub(crate) needs_token: bool,
    /// Required query parameters that are not ids.
    pub(crate) texts: Vec<String>,
    /// Ids that each request has: those of the path, and required ones of the query and the body.
    pub(crate) required: Vec<Slot>,
    /// Ids that a request may have.
    pub(crate) optional: Vec<Slot>,
    /// Schema of the body.
    pub(crate) body: Option<Value>,
    /// Whether the response may be `101 Switching Protocols`.
    pub(crate) upgrades: bool,
    document: Arc<Value>,
}

/// The committed OpenAPI documents of the services with a schema, internal operations included (`cargo xtask openapi`).
pub(crate) fn documents() -> impl Iterator<Item = (&'static str, Value)> {
    schemas().into_iter().map(|service| {
        let file = format!("{}/../../openapi/{service}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
        (service, serde_json::from_str(&text).unwrap())
    })
}

/// Returns the operations of a document, in its order.
#[must_use]
pub(crate) fn operations(document: Value) -> Vec<Operation> {
    let document = Arc::new(document);
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method: Method = method.to_uppercase().parse().unwrap();
            operations.push(Operation::read(&document, path, method, operation));
        }
    }
    operations
}

impl Operation {
    fn read(document: &Arc<Value>, path: &str, method: Method, value: &Value) -> Self {
        let id = value["operationId"].as_str().unwrap().to_owned();
        let mut read = Self {
            needs_token: !value["security"][0].as_object().is_some_and(serde_json::Map::is_empty),
            upgrades: value["responses"].get("101").is_some(),
            path: path.to_owned(),
            texts: Vec::new(),
            required: Vec::new(),
            optional: Vec::new(),
            body: value["requestBody"]["content"]["application/json"].get("schema").cloned(),
            document: Arc::clone(document),
            method,
            id,
        };
        for parameter in value["parameters"].as_array().into_iter().flatten() {
            let parameter = read.resolved(parameter).clone();
            let name = parameter["name"].as_str().unwrap().to_owned();
            let kind = read.id_kind(&parameter["schema"]);
            match (parameter["in"].as_str().unwrap(), kind) {
                ("path", kind) => {
                    // a parameter without a typed id is known by its name, and by its operation if that is `id`
                    let untyped = if name == "id" { format!("{}.id", read.id) } else { name.clone() };
                    let kind = kind.unwrap_or(untyped);
                    read.required.push(Slot { place: Place::Path, name, kind });
                }
                ("query", Some(kind)) => {
                    let slots =
                        if parameter["required"] == true { &mut read.required } else { &mut read.optional };
                    slots.push(Slot { place: Place::Query, name, kind });
                }
                ("query", None) if parameter["required"] == true => read.texts.push(name),
                _ => {}
            }
        }
        if let Some(schema) = read.body.clone() {
            let (mut required, mut optional) = (Vec::new(), Vec::new());
            read.find_ids(
                &schema,
                &Pointer { text: String::new(), required: true },
                &mut |slot, is_required| {
                    if is_required { required.push(slot) } else { optional.push(slot) }
                },
            );
            read.required.extend(required);
            read.optional.extend(optional);
        }
        read
    }

    /// All ids.
    pub(crate) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.required.iter().chain(&self.optional)
    }

    /// Follows `$ref`.
    pub(crate) fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        let Some(reference) = value["$ref"].as_str() else { return value };
        let pointer = reference.strip_prefix('#').unwrap();
        self.resolved(self.document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere")))
    }

    /// The alternative of a schema that is not `null`, resolved.
    pub(crate) fn shape<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let schema = self.resolved(schema);
        let alternatives = ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array());
        let is_null = |one: &&Value| one["type"] != "null";
        match alternatives.and_then(|all| all.iter().find(is_null)) {
            Some(alternative) => self.shape(alternative),
            None => schema,
        }
    }

    /// The prefix of the ids that a schema describes (`^inst_[0-9a-f]{32}$`).
    fn id_kind(&self, schema: &Value) -> Option<String> {
        let pattern = self.shape(schema)["pattern"].as_str()?;
        let prefix = pattern.strip_prefix('^')?.strip_suffix("_[0-9a-f]{32}$")?;
        Some(prefix.to_owned())
    }

    fn find_ids(&self, schema: &Value, at: &Pointer, found: &mut impl FnMut(Slot, bool)) {
        if let Some(kind) = self.id_kind(schema) {
            return found(Slot { place: Place::Body, name: at.text.clone(), kind }, at.required);
        }
        let schema = self.shape(schema);
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let is_required =
                schema["required"].as_array().is_some_and(|all| all.contains(&name.as_str().into()));
            let text = format!("{}/{name}", at.text);
            self.find_ids(property, &Pointer { text, required: at.required && is_required }, found);
        }
        if let Some(items) = schema.get("items") {
            self.find_ids(items, &Pointer { text: format!("{}/0", at.text), required: false }, found);
        }
    }
}

/// A place in a body.
struct Pointer {
    /// JSON pointer.
    text: String,
    /// Whether each body has it.
    required: bool,
}
