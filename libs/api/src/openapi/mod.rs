//! One dialect for every service's OpenAPI document.
//!
//! A handler declares what is specific to it: parameters, success responses, and the problems that callers act on:
//!
//! ```ignore
//! #[utoipa::path(
//!     patch, path = "/v1/things/{id}", operation_id = "update_thing", tag = "things",
//!     params(("id" = ThingId, Path, description = "Thing id"), IfMatch, IdempotencyKey),
//!     request_body = ThingChange,
//!     responses((status = 200, description = "The changed thing", body = Thing)),
//!     extensions(("x-problems" = json!([ProblemType::NameTaken]))),
//! )]
//! ```
//!
//! [`finish`] adds the rest: a response for the status of each declared problem and of those that every operation of
//! this shape has (token, body, idempotency key, failures of the platform), the shared `4XX` and `5XX` responses, headers,
//! security, examples of bodies and problems, `$ref`s instead of inlined copies.
//!
//! Response types may not skip fields (`skip_serializing_if`): in schemas that only responses use, every
//! property is required, and null if it has no value. Problems are the exception.

mod crate_routes;
mod examples;
mod responses;
mod router;
mod schemas;

use serde_json::{Map, Value, json};
use utoipa::{
    IntoParams, PartialSchema as _,
    openapi::{
        OpenApi, RefOr, Required, Schema,
        path::{Parameter, ParameterBuilder, ParameterIn},
    },
};

use crate::{
    etag::IfMatch,
    idempotency::IdempotencyKey,
    last_event_id::LastEventId,
    problem::{FieldError, ProblemDetails, ProblemType},
};

pub use crate_routes::{CrateRoutes, documented, served};
pub use router::{OpenApiRouter, merge};

/// The service's part of the document's `info`.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Title of the document.
    pub title: &'static str,
    /// The purpose of the service, in a sentence.
    pub description: &'static str,
}

/// Completes a service's document.
///
/// Operations need an access token, those under `/internal` a service token. A document that declares security, or an
/// operation with `security(…)`, keeps it; `security(())` opens an operation.
///
/// # Panics
/// If an operation declares a problem that is not registered, or two types have one name.
#[must_use]
pub fn finish(document: OpenApi, info: Info) -> OpenApi {
    let mut document = serde_json::to_value(document).expect("a document serializes");
    let clashes = document.as_object_mut().and_then(|members| members.remove(router::CLASHES));
    assert!(clashes.is_none(), "several types have one name; give each its own with `as`: {clashes:?}");
    document["info"] = json!({
        "title": info.title,
        "description": info.description,
        "version": env!("CARGO_PKG_VERSION"),
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    document["servers"] = json!([{ "url": "/" }]);
    add_problem_schemas(&mut document);
    schemas::free_maps(&mut document);
    schemas::share(&mut document);
    secure(&mut document);
    share_parameters(&mut document);
    responses::complete(&mut document);
    schemas::complete(&mut document);
    examples::complete(&mut document);
    serde_json::from_value(document).expect("the finished document is an OpenAPI document")
}

/// Calls `change` with the path, the method and the operation of each operation.
fn each_operation(document: &mut Value, mut change: impl FnMut(&str, &str, &mut Value)) {
    for (path, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            if ["get", "put", "post", "delete", "patch"].contains(&method.as_str()) {
                change(path, method, operation);
            }
        }
    }
}

/// Returns the components of this kind.
fn components<'a>(document: &'a mut Value, kind: &str) -> &'a mut Map<String, Value> {
    let components = &mut document["components"][kind];
    if !components.is_object() {
        *components = json!({});
    }
    components.as_object_mut().expect("components are an object")
}

fn add_problem_schemas(document: &mut Value) {
    let schemas: [(&str, RefOr<Schema>); 3] = [
        ("Problem", ProblemDetails::schema()),
        ("ProblemType", ProblemType::schema()),
        ("FieldError", FieldError::schema()),
    ];
    for (name, schema) in schemas {
        components(document, "schemas").insert(name.to_owned(), json!(schema));
    }
}

fn secure(document: &mut Value) {
    let default = match document.as_object_mut().and_then(|members| members.remove("security")) {
        Some(security) => security,
        None => json!([{ "bearer": [] }]),
    };
    let mut used = Vec::new();
    each_operation(document, |path, _, operation| {
        if operation["security"].is_null() {
            let internal = path.starts_with("/internal");
            operation["security"] = if internal { json!([{ "service_token": [] }]) } else { default.clone() };
        }
        let requirements = operation["security"].as_array().into_iter().flatten();
        used.extend(requirements.filter_map(Value::as_object).flat_map(|one| one.keys().cloned()));
    });
    let schemes = [
        (
            "bearer",
            json!({ "type": "http", "scheme": "bearer", "bearerFormat": "JWT",
            "description": "Access token of a person, from POST /v1/sessions." }),
        ),
        (
            "service_token",
            json!({ "type": "http", "scheme": "bearer",
            "description": "Configured token of another service of the platform." }),
        ),
    ];
    for (name, scheme) in schemes {
        if used.iter().any(|used| used == name) {
            components(document, "securitySchemes").insert(name.to_owned(), scheme);
        }
    }
}

fn share_parameters(document: &mut Value) {
    let shared = [
        ("IdempotencyKey", IdempotencyKey::parameter()),
        ("IfMatch", IfMatch::parameter()),
        ("LastEventId", LastEventId::parameter()),
    ];
    for (component, parameter) in shared {
        let mut used = false;
        each_operation(document, |_, _, operation| {
            for declared in operation["parameters"].as_array_mut().into_iter().flatten() {
                if declared["name"] == parameter.name && declared["in"] == "header" {
                    *declared = json!({ "$ref": format!("#/components/parameters/{component}") });
                    used = true;
                }
            }
        });
        if used {
            components(document, "parameters").insert(component.to_owned(), json!(parameter));
        }
    }
}

fn header_parameter(name: &str, description: &str, schema: Value) -> Parameter {
    let schema: RefOr<Schema> = serde_json::from_value(schema).expect("a schema");
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(description))
        .schema(Some(schema))
        .build()
}

impl IdempotencyKey {
    fn parameter() -> Parameter {
        header_parameter(
            "Idempotency-Key",
            "A new value for each write, for example a UUID. A repeated request with the same value has no \
             further effect and gets the first response.",
            json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" }),
        )
    }
}

impl IntoParams for IdempotencyKey {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![Self::parameter()]
    }
}

impl IfMatch {
    fn parameter() -> Parameter {
        header_parameter(
            "If-Match",
            "ETag of the version that the change applies to, or `*` to overwrite any version.",
            json!({ "type": "string" }),
        )
    }
}

impl IntoParams for IfMatch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![Self::parameter()]
    }
}

impl LastEventId {
    fn parameter() -> Parameter {
        let description = "`id` of the last event of an earlier stream: the stream continues after it.";
        let mut parameter = header_parameter("Last-Event-ID", description, json!({ "type": "string" }));
        parameter.required = Required::False;
        parameter
    }
}

impl IntoParams for LastEventId {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![Self::parameter()]
    }
}

#[cfg(test)]
mod tests;
