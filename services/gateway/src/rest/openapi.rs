//! One OpenAPI document of what the gateway forwards and answers, merged from the services' committed documents and its own.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use api::problem::ProblemType;
use serde_json::{Map, Value, json};

use crate::own;

/// Services and their documents.
const DOCUMENTS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/documents.rs"));

/// Returns the merged document.
///
/// # Errors
/// If a document is not valid JSON, or two services have the same path.
pub(crate) fn merged() -> anyhow::Result<Value> {
    let own = ("gateway", serde_json::to_value(own::openapi())?);
    let mut documents = DOCUMENTS
        .iter()
        .map(|(service, text)| {
            let document = serde_json::from_str(text).with_context(|| format!("openapi/{service}.json"))?;
            Ok((*service, document))
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    documents.push(own);
    merge(documents)
}

fn merge(documents: Vec<(&str, Value)>) -> anyhow::Result<Value> {
    let (mut paths, mut schemas, mut tags) = (Map::new(), Map::new(), Vec::new());
    // these are the same in every document: see api::openapi
    let mut shared: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for (service, mut document) in documents {
        if let Some(paths) = document["paths"].as_object_mut() {
            paths.retain(|path, _| !path.starts_with("/internal"));
        }
        keep_reachable(&mut document);
        // if two schemas have the same name, the later one is prefixed with its service; this changes the schemas
        // that refer to it and may cause further clashes
        loop {
            let clashing = object(&document["components"]["schemas"])
                .find(|(name, schema)| schemas.get(*name).is_some_and(|there| there != *schema))
                .map(|(name, _)| name.clone());
            let Some(name) = clashing else { break };
            rename(&mut document, &name, &format!("{}{name}", capitalized(service)));
        }
        schemas.extend(taken(&mut document["components"]["schemas"]));
        for kind in SHARED {
            shared.entry(kind).or_default().extend(taken(&mut document["components"][kind]));
        }
        for tag in document["tags"].as_array().into_iter().flatten() {
            if !tags.contains(tag) && is_used(tag, &document["paths"]) {
                tags.push(tag.clone());
            }
        }
        for (path, item) in taken(&mut document["paths"]) {
            anyhow::ensure!(paths.insert(path.clone(), item).is_none(), "two services have {path}");
        }
    }
    let mut components = json!({ "schemas": schemas });
    for (kind, members) in shared.into_iter().filter(|(_, members)| !members.is_empty()) {
        components[kind] = members.into();
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Atelier",
            "description": "A GPU cloud: the public API. Errors are RFC 9457 problems.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" }
        },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }],
        "tags": tags,
        "paths": paths,
        "components": components,
    });
    add_rate_limit_headers(&mut document);
    add_problem_types(&mut document);
    keep_used_schemes(&mut document);
    Ok(document)
}

/// Kinds of components that are the same in every document.
const SHARED: [&str; 5] = ["examples", "headers", "parameters", "responses", "securitySchemes"];

/// The gateway adds `RateLimit` and `RateLimit-Policy` to each response that it forwards.
fn add_rate_limit_headers(document: &mut Value) {
    let text = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    document["components"]["headers"]["RateLimit"] = text("Requests left in the current window.");
    document["components"]["headers"]["RateLimitPolicy"] = text("The limit and its window.");
    let add = |response: &mut Value| {
        if response["$ref"].is_null() {
            response["headers"]["RateLimit"] = json!({ "$ref": "#/components/headers/RateLimit" });
            response["headers"]["RateLimit-Policy"] =
                json!({ "$ref": "#/components/headers/RateLimitPolicy" });
        }
    };
    for (_, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            operation["responses"]
                .as_object_mut()
                .into_iter()
                .flatten()
                .for_each(|(_, response)| add(response));
        }
    }
    document["components"]["responses"].as_object_mut().into_iter().flatten().for_each(|(_, one)| add(one));
}

/// Adds the registered description of each type of problem, for generators of clients.
fn add_problem_types(document: &mut Value) {
    let described = |known: &ProblemType| {
        let members: Map<String, Value> = known
            .members()
            .iter()
            .map(|one| {
                let value = json!({ "type": one.json_type, "description": one.description });
                (one.name.to_owned(), value)
            })
            .collect();
        json!({
            "slug": known.slug(),
            "status": known.status().as_u16(),
            "title": known.title(),
            "next": known.next(),
            "members": members,
        })
    };
    let schema = document["components"]["schemas"].get_mut("ProblemType");
    if let Some(schema) = schema.and_then(Value::as_object_mut) {
        schema.insert("x-problem-types".to_owned(), ProblemType::ALL.iter().map(described).collect());
    }
}

/// Removes the schemes of operations that the gateway does not forward.
fn keep_used_schemes(document: &mut Value) {
    if let Some(schemes) = document["components"]["securitySchemes"].as_object_mut() {
        schemes.retain(|name, _| name != "service_token");
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn taken(value: &mut Value) -> Map<String, Value> {
    match value.take() {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// Whether an operation has the tag.
fn is_used(tag: &Value, paths: &Value) -> bool {
    object(paths)
        .flat_map(|(_, item)| object(item))
        .filter_map(|(_, operation)| operation["tags"].as_array())
        .any(|tags| tags.contains(&tag["name"]))
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

const SCHEMAS: &str = "#/components/schemas/";

/// Removes the schemas that no path refers to.
fn keep_reachable(document: &mut Value) {
    let mut reached = BTreeSet::new();
    let mut next: Vec<String> = references(&document["paths"]);
    next.extend(references(&document["components"]["responses"]));
    while let Some(name) = next.pop() {
        if reached.insert(name.clone()) {
            next.extend(references(&document["components"]["schemas"][&name]));
        }
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| reached.contains(name));
    }
}

/// The names of the schemas that a part of a document refers to.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("$ref", Some(target)) => {
                    target.strip_prefix(SCHEMAS).map(str::to_owned).into_iter().collect()
                }
                _ => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}

fn rename(document: &mut Value, from: &str, to: &str) {
    if let Some(schemas) = document["components"]["schemas"].as_object_mut()
        && let Some(schema) = schemas.remove(from)
    {
        schemas.insert(to.to_owned(), schema);
    }
    redirect(document, &format!("{SCHEMAS}{from}"), &format!("{SCHEMAS}{to}"));
}

fn redirect(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if key == "$ref" && value.as_str() == Some(from) {
                    *value = to.into();
                } else {
                    redirect(value, from, to);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| redirect(item, from, to)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(path: &str, shape: &str) -> Value {
        json!({
            "paths": {
                path: { "get": { "x": { "$ref": "#/components/schemas/Thing" } } },
                "/internal/v1/x": { "get": { "x": { "$ref": "#/components/schemas/Hidden" } } },
            },
            "components": { "schemas": {
                "Thing": { "properties": { "inner": { "$ref": "#/components/schemas/Inner" } } },
                "Inner": { "type": shape },
                "Hidden": { "type": "string" },
            } },
        })
    }

    #[test]
    fn documents_merge_without_mixing_their_shapes() {
        let merged =
            merge(vec![("stock", document("/v1/a", "string")), ("gpu", document("/v1/b", "integer"))])
                .unwrap();
        let schemas = merged["components"]["schemas"].as_object().unwrap();
        let names: BTreeSet<_> = schemas.keys().map(String::as_str).collect();
        assert_eq!(names, BTreeSet::from(["GpuInner", "GpuThing", "Inner", "Thing"]));
        assert_eq!(schemas["Inner"]["type"], "string");
        assert_eq!(schemas["GpuInner"]["type"], "integer");
        assert!(!merged.to_string().contains("internal"));
        assert!(merge(vec![("a", document("/v1/a", "string")), ("b", document("/v1/a", "string"))]).is_err());
    }

    #[test]
    fn every_documented_address_leads_to_its_service() {
        for (service, text) in DOCUMENTS {
            let document: Value = serde_json::from_str(text).unwrap();
            for (path, _) in object(&document["paths"]).filter(|(path, _)| !path.starts_with("/internal")) {
                let concrete = path.replace(['{', '}'], "");
                assert!(super::super::path::is_unambiguous(&concrete), "{path}");
                let route = super::super::routes::find(&axum::http::Method::GET, &concrete);
                let found = route.map(|route| route.service.name());
                assert_eq!(found, Some(*service), "{path}: see the paths in platform.toml");
            }
        }
    }

    #[test]
    fn the_committed_documents_merge() {
        let merged = merged().unwrap();
        assert!(merged["paths"]["/v1/sessions"]["post"].is_object());
        let problems = merged["components"]["schemas"]["ProblemType"]["x-problem-types"].as_array().unwrap();
        assert_eq!(problems.len(), ProblemType::ALL.len());
        let known: BTreeSet<_> =
            object(&merged["components"]["schemas"]).map(|(name, _)| name.clone()).collect();
        let wanted: BTreeSet<_> = references(&merged).into_iter().collect();
        assert_eq!(wanted.difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
    }
}
