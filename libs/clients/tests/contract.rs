//! Compares each call of the typed clients with the callee's committed OpenAPI document.

use std::path::Path;

use atelier_clients::contract;
use serde_json::Value;

/// A schema with the document that resolves its references.
#[derive(Clone, Copy)]
struct Side<'a> {
    document: &'a Value,
    schema: &'a Value,
}

impl<'a> Side<'a> {
    fn at(self, schema: &'a Value) -> Self {
        Self { schema, ..self }
    }

    /// Follows `$ref`, and takes the one real schema of `oneOf: [null, X]`.
    fn resolved(self) -> Self {
        if let Some(reference) = self.schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            let schema = self.document.pointer(pointer).unwrap_or_else(|| panic!("{reference} not found"));
            return self.at(schema).resolved();
        }
        for combinator in ["oneOf", "anyOf", "allOf"] {
            if let Some(options) = self.schema[combinator].as_array() {
                let real: Vec<_> = options.iter().filter(|o| o["type"] != "null").collect();
                if let [only] = real[..] {
                    return self.at(only).resolved();
                }
            }
        }
        self
    }

    fn types(self) -> Vec<String> {
        match &self.resolved().schema["type"] {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).filter(|n| *n != "null").map(str::to_owned).collect()
            }
            _ => Vec::new(),
        }
    }

    fn property(self, name: &str) -> Option<Self> {
        let this = self.resolved();
        this.schema["properties"].get(name).map(|schema| this.at(schema))
    }

    fn properties(self) -> Vec<String> {
        self.resolved().schema["properties"]
            .as_object()
            .map(|p| p.keys().cloned().collect())
            .unwrap_or_default()
    }

    fn refuses_unknown(self) -> bool {
        self.resolved().schema["additionalProperties"] == false
    }

    fn required(self) -> Vec<String> {
        let required = self.resolved().schema["required"].as_array();
        required.map(|r| r.iter().filter_map(Value::as_str).map(str::to_owned).collect()).unwrap_or_default()
    }
}

/// Adds to `found` why a value of the sender's schema is not valid for the receiver.
fn mismatches(sender: Side<'_>, receiver: Side<'_>, at: &str, found: &mut Vec<String>) {
    let (sent, expected) = (sender.types(), receiver.types());
    if sent != expected {
        found.push(format!("{at}: sent {sent:?}, expected {expected:?}"));
        return;
    }
    for name in receiver.required() {
        if !sender.required().contains(&name) {
            found.push(format!("{at}/{name}: required, but optional for the sender"));
        }
    }
    for name in sender.properties() {
        let at = format!("{at}/{name}");
        match (sender.property(&name), receiver.property(&name)) {
            (Some(sent), Some(expected)) => mismatches(sent, expected, &at, found),
            (Some(_), None) if receiver.refuses_unknown() => found.push(format!("{at}: sent, but unknown")),
            _ => {}
        }
    }
}

fn content(part: &Value) -> Option<&Value> {
    part["content"].get("application/json").map(|content| &content["schema"])
}

#[test]
fn every_call_matches_the_documents() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi");
    let types = contract::components();
    let mut found = Vec::new();
    for call in contract::calls() {
        let name = format!("{} {} {}", call.service, call.method, call.path);
        let text = std::fs::read_to_string(folder.join(format!("{}.json", call.service))).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let operation = &document["paths"][call.path][call.method];
        if operation.is_null() {
            found.push(format!("{name}: no such operation"));
            continue;
        }
        if let Some(request) = &call.request {
            match content(&operation["requestBody"]) {
                Some(schema) => mismatches(
                    Side { document: &types, schema: request },
                    Side { document: &document, schema },
                    &format!("{name} request"),
                    &mut found,
                ),
                None => found.push(format!("{name}: takes no body")),
            }
        }
        let responses = operation["responses"].as_object().unwrap();
        let success: Vec<_> = responses.iter().filter(|(status, _)| status.starts_with('2')).collect();
        assert!(!success.is_empty(), "{name}: no 2xx response documented");
        for (status, documented) in success {
            match (&call.response, content(documented)) {
                (Some(response), Some(schema)) => mismatches(
                    Side { document: &document, schema },
                    Side { document: &types, schema: response },
                    &format!("{name} {status}"),
                    &mut found,
                ),
                (Some(_), None) => found.push(format!("{name} {status}: no body")),
                (None, _) => {}
            }
        }
    }
    assert!(found.is_empty(), "the clients and the committed documents disagree:\n{}", found.join("\n"));
}
