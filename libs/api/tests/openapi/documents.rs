//! The committed OpenAPI documents.

use std::path::PathBuf;

use serde_json::Value;

/// The repository.
pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All documents, by service.
pub(crate) fn documents() -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(root().join("openapi")).unwrap() {
        let path = file.unwrap().path();
        let service = path.file_stem().unwrap().to_str().unwrap().to_owned();
        found.push((service, serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap()));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The members of an object.
pub(crate) fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// A parameter, response or schema. A reference is resolved.
pub(crate) fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(reference) => document.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null),
        None => value,
    }
}
