//! Problem responses and response headers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{components, each_operation, examples};
use crate::problem::ProblemType;

const PROBLEM_JSON: &str = "application/problem+json";
const PROBLEM: &str = "#/components/schemas/Problem";

/// Adds the responses of declared problems, the shared ones, and the headers.
pub(super) fn complete(document: &mut Value) {
    let mutable = mutable_paths(document);
    let mut declared = BTreeSet::new();
    each_operation(document, |path, method, operation| {
        declare_problems(path, operation, &mut declared);
        add_headers(path, method, operation, &mutable);
    });
    for kind in declared {
        components(document, "examples").insert(format!("{kind:?}"), examples::of_problem(kind));
        if !kind.members().is_empty() {
            components(document, "schemas").insert(schema_name(kind), schema_of(kind));
        }
    }
    for (name, description, header_names) in [
        ("ClientError", "The request was refused. `type` says why.", &["XRequestId"][..]),
        ("ServerError", "The platform failed. The request can be repeated.", &["XRequestId", "RetryAfter"]),
    ] {
        let response = json!({
            "description": description,
            "headers": header_names.iter().map(|name| (wire_name(name).to_owned(), header(name))).collect::<BTreeMap<_, _>>(),
            "content": { PROBLEM_JSON: { "schema": { "$ref": PROBLEM } } },
        });
        components(document, "responses").insert(name.to_owned(), response);
    }
    for (name, _, description, kind) in HEADERS {
        let shared = json!({ "description": description, "schema": { "type": kind } });
        components(document, "headers").insert((*name).to_owned(), shared);
    }
}

/// Component, header name, description, JSON type.
const HEADERS: &[(&str, &str, &str, &str)] = &[
    ("XRequestId", "x-request-id", "Id of the request, in the logs of every service.", "string"),
    ("RetryAfter", "Retry-After", "Seconds to wait before the next attempt.", "integer"),
    ("Location", "Location", "Path of the new resource or operation.", "string"),
    ("ETag", "ETag", "Version of the resource, for `If-Match`.", "string"),
    (
        "IdempotencyReplayed",
        "Idempotency-Replayed",
        "`true` if this is the stored response of an earlier request with the same key.",
        "string",
    ),
];

fn wire_name(component: &str) -> &'static str {
    HEADERS.iter().find(|(name, ..)| *name == component).map_or("", |(_, wire, ..)| *wire)
}

fn header(component: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{component}") })
}

/// Paths of resources with an ETag, and the collections above them.
fn mutable_paths(document: &mut Value) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    each_operation(document, |path, method, operation| {
        let conditional = operation["parameters"]
            .as_array()
            .is_some_and(|all| all.iter().any(|one| one["$ref"] == "#/components/parameters/IfMatch"));
        if method == "patch" && conditional {
            paths.insert(path.to_owned());
            if let Some((parent, _)) = path.rsplit_once("/{") {
                paths.insert(parent.to_owned());
            }
        }
    });
    paths
}

/// Returns the problems that every operation of this shape has.
fn common_problems(path: &str, operation: &Value) -> Vec<ProblemType> {
    use ProblemType as P;
    let parameters = operation["parameters"].as_array().map(Vec::as_slice).unwrap_or_default();
    let has = |name: &str| {
        let reference = format!("#/components/parameters/{name}");
        parameters.iter().any(|one| one["$ref"] == reference.as_str())
    };
    let security = operation["security"].as_array().map(Vec::as_slice).unwrap_or_default();
    let needs = |scheme: &str| security.iter().any(|one| !one[scheme].is_null());
    let body = !operation["requestBody"].is_null();
    let groups: [(bool, &[P]); 9] = [
        (true, &[P::BadRequest, P::Internal, P::Unreadable, P::Unavailable]),
        // problems of the gateway itself
        (!needs("service_token"), &[P::TooManyRequests, P::Overloaded, P::NoAnswer]),
        (
            needs("bearer"),
            &[
                P::Unauthenticated,
                P::ApiKeyInvalid,
                P::SessionEnded,
                P::Forbidden,
                P::InsufficientScope,
                P::CrossOrigin,
                P::TenantSuspended,
            ],
        ),
        (needs("service_token"), &[P::Unauthenticated]),
        (path.contains('{'), &[P::NotFound]),
        (body || !parameters.is_empty(), &[P::InvalidField]),
        (body, &[P::BodyTooSlow, P::BodyTooLarge, P::UnsupportedMediaType]),
        (
            has("IdempotencyKey"),
            &[
                P::IdempotencyKeyRequired,
                P::IdempotencyKeyInvalid,
                P::IdempotencyKeyInUse,
                P::IdempotencyKeyReused,
            ],
        ),
        (has("IfMatch"), &[P::IfMatchRequired, P::ChangedMeanwhile]),
    ];
    groups.into_iter().filter(|(applies, _)| *applies).flat_map(|(_, kinds)| kinds).copied().collect()
}

fn declare_problems(path: &str, operation: &mut Value, declared: &mut BTreeSet<ProblemType>) {
    let mut by_status: BTreeMap<u16, BTreeSet<ProblemType>> = BTreeMap::new();
    for kind in common_problems(path, operation) {
        by_status.entry(kind.status().as_u16()).or_default().insert(kind);
        declared.insert(kind);
    }
    for uri in operation["x-problems"].as_array().into_iter().flatten() {
        let kind = uri.as_str().and_then(ProblemType::from_uri);
        let kind = kind.unwrap_or_else(|| panic!("{uri} is not a registered problem type"));
        by_status.entry(kind.status().as_u16()).or_default().insert(kind);
        declared.insert(kind);
    }
    let Some(responses) = operation["responses"].as_object_mut() else { return };
    responses.retain(|status, _| !["default", "4XX", "5XX"].contains(&status.as_str()));
    for (_, response) in responses.iter_mut().filter(|(status, _)| status.starts_with(['4', '5'])) {
        response["content"] = json!({ PROBLEM_JSON: { "schema": { "$ref": PROBLEM } } });
    }
    for (status, kinds) in by_status {
        let text: Vec<_> = kinds.iter().map(|kind| format!("`{kind}`: {}.", kind.title())).collect();
        let references: BTreeSet<_> = kinds.iter().map(|kind| reference(*kind)).collect();
        let mut options: Vec<_> = references.into_iter().map(|to| json!({ "$ref": to })).collect();
        let schema = if options.len() == 1 { options.remove(0) } else { json!({ "anyOf": options }) };
        let reference = |kind: &ProblemType| json!({ "$ref": format!("#/components/examples/{kind:?}") });
        let examples: BTreeMap<_, _> = kinds.iter().map(|kind| (kind.slug(), reference(kind))).collect();
        let content = json!({ PROBLEM_JSON: { "schema": schema, "examples": examples } });
        responses.insert(status.to_string(), json!({ "description": text.join(" "), "content": content }));
    }
    responses.insert("4XX".to_owned(), json!({ "$ref": "#/components/responses/ClientError" }));
    responses.insert("5XX".to_owned(), json!({ "$ref": "#/components/responses/ServerError" }));
}

fn add_headers(path: &str, method: &str, operation: &mut Value, mutable: &BTreeSet<String>) {
    let keyed = operation["parameters"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["$ref"] == "#/components/parameters/IdempotencyKey"));
    for (status, response) in operation["responses"].as_object_mut().into_iter().flatten() {
        if response["$ref"].is_string() {
            continue;
        }
        let success = status.starts_with('2');
        let created = matches!(status.as_str(), "201" | "202");
        // a collection has no version, but objects created in it do
        let versioned =
            mutable.contains(path) && (path.ends_with('}') && method != "delete" || status == "201");
        let mut names = vec!["XRequestId"];
        names.extend((status == "429" || status.starts_with('5')).then_some("RetryAfter"));
        names.extend((created && keyed).then_some("Location"));
        names.extend((success && status != "204" && versioned).then_some("ETag"));
        names.extend((success && keyed).then_some("IdempotencyReplayed"));
        for name in names {
            response["headers"][wire_name(name)] = header(name);
        }
    }
}

fn reference(kind: ProblemType) -> String {
    if kind.members().is_empty() {
        PROBLEM.to_owned()
    } else {
        format!("#/components/schemas/{}", schema_name(kind))
    }
}

fn schema_name(kind: ProblemType) -> String {
    format!("{kind:?}Problem")
}

fn schema_of(kind: ProblemType) -> Value {
    let mut properties = json!({ "type": { "type": "string", "enum": [kind.uri()] } });
    for member in kind.members() {
        properties[member.name] = match member.json_type {
            "array" => json!({ "type": "array", "items": {}, "description": member.description }),
            json_type => json!({ "type": json_type, "description": member.description }),
        };
    }
    json!({
        "description": format!("{}.", kind.title()),
        "allOf": [{ "$ref": PROBLEM }, { "type": "object", "properties": properties }],
    })
}
