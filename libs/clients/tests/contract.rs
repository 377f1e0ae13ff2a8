//! Each call of the typed clients against the callee's committed OpenAPI document.

use std::path::Path;

use atelier_clients::contract;
use serde_json::Value;

/// A schema with the document in which its references resolve.
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
            let schema = self.document.pointer(pointer).unwrap_or_else(|| panic!("{reference} is not there"));
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

    fn required(self) -> Vec<String> {
        let required = self.resolved().schema["required"].as_array();
        required.map(|r| r.iter().filter_map(Value::as_str).map(str::to_owned).collect()).unwrap_or_default()
    }
}

/// What is wrong when the giver's value is taken by the taker: `giver` makes it, `taker` demands.
fn mismatches(giver: Side<'_>, taker: Side<'_>, unknown_refused: bool, at: &str, found: &mut Vec<String>) {
    let (gives, takes) = (giver.types(), taker.types());
    if gives != takes {
        found.push(format!("{at}: {gives:?} is given, {takes:?} is taken"));
        return;
    }
    for name in taker.required() {
        if !giver.required().contains(&name) {
            found.push(format!("{at}/{name}: needed, and not always given"));
        }
    }
    for name in giver.properties() {
        let at = format!("{at}/{name}");
        match (giver.property(&name), taker.property(&name)) {
            (Some(given), Some(taken)) => mismatches(given, taken, unknown_refused, &at, found),
            (Some(_), None) if unknown_refused => found.push(format!("{at}: given, and not known")),
            _ => {}
        }
    }
}

fn content(part: &Value) -> Option<&Value> {
    part["content"].get("application/json").map(|content| &content["schema"])
}

#[test]
fn every_call_is_one_that_the_callee_documents() {
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
                    true,
                    &format!("{name} request"),
                    &mut found,
                ),
                None => found.push(format!("{name}: takes no body")),
            }
        }
        let answers = operation["responses"].as_object().unwrap();
        let success: Vec<_> = answers.iter().filter(|(status, _)| status.starts_with('2')).collect();
        assert!(!success.is_empty(), "{name}: documents no success");
        for (status, answer) in success {
            match (&call.response, content(answer)) {
                (Some(response), Some(schema)) => mismatches(
                    Side { document: &document, schema },
                    Side { document: &types, schema: response },
                    false,
                    &format!("{name} {status}"),
                    &mut found,
                ),
                (Some(_), None) => found.push(format!("{name} {status}: answers no body")),
                (None, _) => {}
            }
        }
    }
    assert!(found.is_empty(), "the clients and the committed documents disagree:\n{}", found.join("\n"));
}
