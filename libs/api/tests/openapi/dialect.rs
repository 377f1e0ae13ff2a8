//! The committed OpenAPI documents follow the same conventions (see `api::openapi`), and `docs/PROBLEMS.md` is current.

use std::collections::BTreeSet;

use atelier_api::problem::{ProblemType, reference};
use serde_json::Value;

use crate::documents::{documents, object, resolved, root};

/// First words of operation ids.
const VERBS: [&str; 44] = [
    "accept",
    "add",
    "attach",
    "cancel",
    "change",
    "check",
    "claim",
    "create",
    "decline",
    "delete",
    "deliver",
    "detach",
    "end",
    "find",
    "follow",
    "get",
    "list",
    "open",
    "postpone",
    "put",
    "quote",
    "reconcile",
    "redeem",
    "refresh",
    "release",
    "remove",
    "replace",
    "replay",
    "report",
    "reset",
    "resize",
    "restart",
    "rotate",
    "scan",
    "set",
    "start",
    "stop",
    "stream",
    "take",
    "test",
    "transfer",
    "update",
    "watch",
    "withdraw",
];

/// Returns the violations of the conventions.
fn departures(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if document["servers"][0]["url"] != "/" || document["info"]["version"] != env!("CARGO_PKG_VERSION") {
        found.push("info or servers".to_owned());
    }
    let mut ids = BTreeSet::new();
    for (path, item) in object(&document["paths"]) {
        for (method, operation) in object(item) {
            let at = format!("{method} {path}");
            check_operation(document, &at, operation, &mut found);
            if !ids.insert(operation["operationId"].to_string()) {
                found.push(format!("{at}: duplicate operation id"));
            }
        }
    }
    let named: Vec<_> = object(&document["components"]["schemas"])
        .filter(|(_, schema)| !schema["properties"].is_null() || !schema["enum"].is_null())
        .collect();
    for (name, schema) in object(&document["components"]["schemas"]) {
        for (_, member) in object(schema) {
            find_copies(member, &named, name, &mut found);
        }
        if schema["description"].is_null() {
            found.push(format!("schema {name}: no description"));
        }
    }
    find_copies(&document["paths"], &named, "paths", &mut found);
    for name in only_in_responses(document) {
        let schema = &document["components"]["schemas"][&name];
        for (property, _) in object(&schema["properties"]) {
            if !schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == property)) {
                found.push(format!("schema {name}: {property} is optional in a response"));
            }
        }
    }
    found
}

fn check_operation(document: &Value, at: &str, operation: &Value, found: &mut Vec<String>) {
    let mut refuse = |wrong: bool, what: &str| {
        if wrong {
            found.push(format!("{at}: {what}"));
        }
    };
    let id = operation["operationId"].as_str().unwrap_or_default();
    refuse(
        !id.split_once('_').is_some_and(|(verb, _)| VERBS.contains(&verb)),
        "operation id is not verb_resource",
    );
    refuse(operation["summary"].as_str().is_none_or(str::is_empty), "no summary");
    refuse(!operation["security"].is_array(), "no security");
    let internal = at.contains(" /internal");
    let token = operation["security"].to_string().contains("service_token");
    refuse(internal && !token, "an internal operation without service_token");
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let shared = parameter["$ref"].is_string();
        let parameter = resolved(document, parameter);
        let name = parameter["name"].as_str().unwrap_or_default();
        refuse(
            parameter["description"].as_str().is_none_or(str::is_empty),
            &format!("parameter {name} is not documented"),
        );
        refuse(parameter["in"] == "header" && !shared, &format!("header {name} is not a reference"));
        if name == "limit" {
            let schema = &parameter["schema"];
            let bounded = ["minimum", "maximum", "default"].iter().all(|bound| schema[bound].is_number());
            refuse(!bounded || schema["minimum"] != 1, "limit without minimum, maximum and default");
        }
    }
    for status in ["4XX", "5XX"] {
        refuse(operation["responses"][status]["$ref"].is_null(), &format!("no shared {status}"));
    }
    let secured = operation["security"].to_string();
    for (status, expected) in [
        ("400", true),
        ("401", secured.contains("bearer") || secured.contains("service_token")),
        ("403", secured.contains("bearer")),
        ("404", at.contains('{')),
        ("415", !operation["requestBody"].is_null()),
        ("422", !operation["requestBody"].is_null()),
        ("429", !secured.contains("service_token")),
        ("500", true),
        ("503", true),
        ("504", !secured.contains("service_token")),
    ] {
        let content = &operation["responses"][status]["content"]["application/problem+json"];
        refuse(expected && content.is_null(), &format!("{status} is not documented as a problem"));
    }
    for (status, response) in object(&operation["responses"]) {
        let response = resolved(document, response);
        refuse(
            response["description"].as_str().is_none_or(str::is_empty),
            &format!("{status} has no description"),
        );
        refuse(response["headers"]["x-request-id"].is_null(), &format!("{status} without x-request-id"));
        let error = status.starts_with(['4', '5']);
        let slow_down = status == "429" || status.starts_with('5');
        refuse(
            slow_down && response["headers"]["Retry-After"].is_null(),
            &format!("{status} without Retry-After"),
        );
        for (media_type, _) in object(&response["content"]) {
            refuse(error && media_type != "application/problem+json", &format!("{status} is {media_type}"));
        }
        for (name, header) in object(&response["headers"]) {
            refuse(resolved(document, header)["description"].is_null(), &format!("{status}: header {name}"));
        }
    }
    for uri in operation["x-problems"].as_array().into_iter().flatten() {
        let kind = uri.as_str().and_then(ProblemType::from_uri);
        refuse(kind.is_none(), &format!("{uri} is not registered"));
        let Some(kind) = kind else { continue };
        refuse(
            operation["responses"][kind.status().as_str()].is_null(),
            &format!("{kind} without its status"),
        );
    }
}

fn find_copies(value: &Value, named: &[(&String, &Value)], at: &str, found: &mut Vec<String>) {
    if let Some((name, _)) = named.iter().find(|(_, schema)| *schema == value) {
        found.push(format!("{at}: copy of {name}"));
        return;
    }
    match value {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(key, member)| find_copies(member, named, &format!("{at}/{key}"), found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_copies(item, named, at, found)),
        _ => {}
    }
}

fn only_in_responses(document: &Value) -> BTreeSet<String> {
    let requests = reachable(document, &["requestBody", "parameters"]);
    let responses = reachable(document, &["responses"]);
    responses.difference(&requests).filter(|name| !name.ends_with("Problem")).cloned().collect()
}

fn reachable(document: &Value, parts: &[&str]) -> BTreeSet<String> {
    let mut next = Vec::new();
    for (_, item) in object(&document["paths"]) {
        for (_, operation) in object(item) {
            parts.iter().for_each(|part| references(&operation[part], &mut next));
        }
    }
    let mut reached = BTreeSet::new();
    while let Some(name) = next.pop() {
        references(&document["components"]["schemas"][&name], &mut next);
        if !reached.insert(name) {
            next.retain(|name| !reached.contains(name));
        }
    }
    reached
}

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str);
            found.extend(target.and_then(|to| to.strip_prefix("#/components/schemas/")).map(str::to_owned));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_document_speaks_the_dialect() {
    let mut found = Vec::new();
    for (service, document) in documents() {
        found.extend(departures(&document).into_iter().map(|one| format!("{service}: {one}")));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_reference_of_problem_types_is_current() {
    let committed = std::fs::read_to_string(root().join("docs/PROBLEMS.md")).unwrap_or_default();
    assert!(committed == reference(), "run `cargo run -p atelier-api --example problems > docs/PROBLEMS.md`");
}
