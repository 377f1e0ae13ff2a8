use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::*;
use crate::{Page, PageParams};

#[derive(Serialize, ToSchema)]
struct Thing {
    /// Thing id.
    id: String,
    /// Where it is.
    place: Option<String>,
    /// State.
    state: State,
    /// Its phases.
    phases: Vec<Option<Phase>>,
    /// Whatever the cluster reports.
    labels: serde_json::Map<String, Value>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its shape matters")]
enum State {
    /// Active.
    Active,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its shape matters")]
enum Phase {
    /// Starting.
    Starting,
}

#[derive(Deserialize, ToSchema)]
#[expect(dead_code, reason = "only its shape matters")]
struct ThingChange {
    /// New place.
    #[schema(example = "shelf")]
    place: Option<String>,
}

#[utoipa::path(get, path = "/v1/things", operation_id = "list_things", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Thing>)))]
#[expect(dead_code, reason = "only its description matters")]
fn list() {}

#[utoipa::path(post, path = "/v1/things", operation_id = "create_thing", params(IdempotencyKey),
    request_body = ThingChange, responses((status = 201, description = "Created", body = Thing)),
    extensions(("x-problems" = json!([ProblemType::StockExhausted, ProblemType::NameTaken,
                                      ProblemType::TooManyRequests, ProblemType::InstanceBrokeOff]))))]
#[expect(dead_code, reason = "only its description matters")]
fn create() {}

#[utoipa::path(patch, path = "/v1/things/{id}", operation_id = "update_thing",
    params(("id" = String, Path, description = "Thing id"), IfMatch, IdempotencyKey),
    request_body = ThingChange,
    responses((status = 200, description = "Changed", body = Thing),
              (status = "default", description = "Problem", body = ProblemDetails)))]
#[expect(dead_code, reason = "only its description matters")]
fn update() {}

#[utoipa::path(get, path = "/internal/v1/things", operation_id = "find_thing",
    responses((status = 200, description = "Found", body = Thing)))]
#[expect(dead_code, reason = "only its description matters")]
fn internal() {}

#[utoipa::path(get, path = "/open", operation_id = "get_open", security(()),
    responses((status = 204, description = "Nothing")))]
#[expect(dead_code, reason = "only its description matters")]
fn open() {}

#[utoipa::path(put, path = "/v1/places/{id}", operation_id = "put_place",
    params(("id" = String, Path, description = "Place id"), IfMatch),
    responses((status = 200, description = "Replaced", body = Thing)))]
#[expect(dead_code, reason = "only its description matters")]
fn put() {}

#[utoipa::path(patch, path = "/v1/notes/{id}", operation_id = "update_note",
    params(("id" = String, Path, description = "Note id"), IdempotencyKey),
    responses((status = 200, description = "Changed", body = Thing, example = json!({ "id": "note" }))))]
#[expect(dead_code, reason = "only its description matters")]
fn update_unconditionally() {}

#[derive(utoipa::OpenApi)]
#[openapi(paths(list, create, update, internal, open, put, update_unconditionally))]
struct Document;

#[derive(utoipa::OpenApi)]
#[openapi(paths(internal, open))]
struct InternalDocument;

fn finished_as<D: utoipa::OpenApi>() -> Value {
    json!(finish(D::openapi(), Info { title: "Things", description: "Things." }))
}

fn finished() -> Value {
    finished_as::<Document>()
}

#[test]
fn problems_are_one_shared_response_and_the_declared_statuses() {
    let document = finished();
    let responses = &document["paths"]["/v1/things"]["post"]["responses"];
    assert_eq!(responses["4XX"]["$ref"], "#/components/responses/ClientError");
    assert_eq!(responses["5XX"]["$ref"], "#/components/responses/ServerError");
    let schema = &responses["409"]["content"]["application/problem+json"]["schema"];
    assert_eq!(
        *schema,
        json!({ "anyOf": [{ "$ref": "#/components/schemas/Problem" },
                          { "$ref": "#/components/schemas/StockExhaustedProblem" }] })
    );
    assert!(document["components"]["schemas"]["StockExhaustedProblem"].is_object());
    let update = &document["paths"]["/v1/things/{id}"]["patch"]["responses"];
    assert!(update["default"].is_null() && update["4XX"].is_object());
}

#[test]
fn every_operation_has_the_problems_of_its_shape() {
    let document = finished();
    let statuses = |path: &str, method: &str| {
        let responses = document["paths"][path][method]["responses"].as_object().unwrap();
        responses.keys().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(statuses("/open", "get"), "204 400 429 4XX 500 503 504 5XX");
    assert_eq!(statuses("/internal/v1/things", "get"), "200 400 401 4XX 500 503 5XX");
    assert_eq!(statuses("/v1/things", "get"), "200 400 401 403 422 429 4XX 500 503 504 5XX");
    assert_eq!(
        statuses("/v1/things/{id}", "patch"),
        "200 400 401 403 404 408 409 412 413 415 422 428 429 4XX 500 503 504 5XX"
    );
    let refused = &document["paths"]["/v1/things/{id}"]["patch"]["responses"]["422"];
    let description = refused["description"].as_str().unwrap();
    assert!(description.contains("`invalid-field`") && description.contains("`idempotency-key-reused`"));
}

#[test]
fn headers_are_declared_by_reference() {
    let document = finished();
    let headers = |path: &str, method: &str, status: &str| {
        let headers = &document["paths"][path][method]["responses"][status]["headers"];
        headers.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!(headers("/v1/things", "get", "200"), ["x-request-id"]);
    assert_eq!(
        headers("/v1/things", "post", "201"),
        ["ETag", "Idempotency-Replayed", "Location", "x-request-id"]
    );
    assert_eq!(headers("/v1/things/{id}", "patch", "200"), ["ETag", "Idempotency-Replayed", "x-request-id"]);
    assert_eq!(headers("/v1/things", "post", "409"), ["x-request-id"]);
    for slow_down in ["429", "502"] {
        assert_eq!(headers("/v1/things", "post", slow_down), ["Retry-After", "x-request-id"]);
    }
    // only resources that are patched with `If-Match` have an `ETag`
    assert_eq!(headers("/v1/notes/{id}", "patch", "200"), ["Idempotency-Replayed", "x-request-id"]);
    assert_eq!(headers("/v1/places/{id}", "put", "200"), ["x-request-id"]);
    let parameters = &document["paths"]["/v1/things"]["post"]["parameters"];
    assert_eq!(*parameters, json!([{ "$ref": "#/components/parameters/IdempotencyKey" }]));
}

#[test]
fn every_operation_says_who_may_call_it() {
    let document = finished();
    let security = |path: &str| document["paths"][path]["get"]["security"].clone();
    assert_eq!(security("/v1/things"), json!([{ "bearer": [] }]));
    assert_eq!(security("/internal/v1/things"), json!([{ "service_token": [] }]));
    assert_eq!(security("/open"), json!([{}]));
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    assert_eq!(schemes.len(), 2);
    let internal = finished_as::<InternalDocument>();
    let schemes = internal["components"]["securitySchemes"].as_object().unwrap();
    assert_eq!(schemes.keys().collect::<Vec<_>>(), ["service_token"]);
    assert_eq!(internal["components"]["parameters"], Value::Null);
}

#[test]
fn response_schemas_are_shared_complete_and_open() {
    let document = finished();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Page_Thing"]["properties"]["items"]["items"]["$ref"], "#/components/schemas/Thing");
    assert_eq!(schemas["Page_Thing"]["required"], json!(["items", "next_cursor", "unreadable"]));
    assert_eq!(schemas["Thing"]["required"], json!(["id", "place", "state", "phases", "labels"]));
    assert_eq!(schemas["Thing"]["properties"]["labels"]["additionalProperties"], true);
    assert_eq!(schemas["State"]["x-extensible-enum"], json!(["active"]));
    assert_eq!(schemas["Phase"]["x-extensible-enum"], json!(["starting"]));
    assert!(schemas["ThingChange"]["required"].is_null());
    let required = schemas["Problem"]["required"].as_array().unwrap();
    assert!(!required.contains(&json!("next")) && required.contains(&json!("type")));
}

#[test]
fn examples_are_composed_of_those_of_the_members() {
    let document = finished();
    let create = &document["paths"]["/v1/things"]["post"];
    let of = |body: &Value| body["content"]["application/json"]["example"].clone();
    // the first member, as none is required
    assert_eq!(of(&create["requestBody"]), json!({ "place": "shelf" }));
    let thing = json!({ "id": "corp", "place": null, "state": "active", "phases": [], "labels": {} });
    assert_eq!(of(&create["responses"]["201"]), thing);
    let page = json!({ "items": [thing], "next_cursor": null, "unreadable": [] });
    assert_eq!(of(&document["paths"]["/v1/things"]["get"]["responses"]["200"]), page);
    // what an operation declares itself is not replaced
    assert_eq!(
        of(&document["paths"]["/v1/notes/{id}"]["patch"]["responses"]["200"]),
        json!({ "id": "note" })
    );
    let examples = &create["responses"]["409"]["content"]["application/problem+json"]["examples"];
    assert_eq!(examples["name-taken"]["$ref"], "#/components/examples/NameTaken");
    assert_eq!(document["components"]["examples"]["NameTaken"]["value"]["status"], 409);
}

/// Types and handlers with schemas of the same name.
mod other {
    use super::*;

    #[derive(Serialize, ToSchema)]
    pub(super) struct Shelf {
        /// How many things are on it.
        things: u8,
    }

    #[derive(Serialize, ToSchema)]
    pub(super) struct Cupboard {
        /// Its only shelf.
        shelf: Shelf,
    }

    #[utoipa::path(get, path = "/v1/cupboards", operation_id = "list_cupboards",
        responses((status = 200, description = "All", body = Cupboard)))]
    pub(super) async fn list_cupboards() {}
}

#[derive(Serialize, ToSchema)]
struct Shelf {
    /// Where it is.
    place: String,
}

#[utoipa::path(get, path = "/v1/shelves", operation_id = "list_shelves",
    responses((status = 200, description = "All", body = Shelf)))]
async fn list_shelves() {}

#[utoipa::path(post, path = "/v1/shelves", operation_id = "create_shelf",
    responses((status = 200, description = "The new one", body = Shelf)))]
async fn create_shelf() {}

#[test]
fn two_types_of_one_name_are_refused_wherever_they_meet() {
    let router = || OpenApiRouter::<()>::new();
    let shelves = || router().routes(routes!(list_shelves));
    let cupboards = || router().routes(routes!(other::list_cupboards));
    let refused = |document: OpenApi| {
        let finished =
            std::panic::catch_unwind(|| finish(document, Info { title: "Things", description: "" }));
        finished.err().map(|panic| *panic.downcast::<String>().unwrap())
    };
    let mut merged = shelves().into_openapi();
    merge(&mut merged, cupboards().into_openapi());
    for (document, how) in [
        (shelves().routes(routes!(other::list_cupboards)).into_openapi(), "in one router"),
        (cupboards().merge(shelves()).into_openapi(), "in two"),
        (router().merge(shelves().merge(cupboards())).into_openapi(), "further inside"),
        (merged, "in two documents"),
    ] {
        let message = refused(document).unwrap_or_else(|| panic!("{how}: it passes"));
        assert!(
            message.contains(r#"["Shelf"]"#) || message.contains(r#"String("Shelf")"#),
            "{how}: {message}"
        );
    }
    let fine = shelves().merge(router().routes(routes!(create_shelf)));
    assert_eq!(refused(fine.into_openapi()), None, "one type in two places");
}
