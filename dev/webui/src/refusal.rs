//! The bodies of errors.

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde_json::{Value, json};

use crate::log::say;

/// The error body of FastAPI.
pub(crate) fn fail(status: StatusCode, detail: impl Into<Value>) -> Response {
    (status, Json(json!({ "detail": detail.into() }))).into_response()
}

/// The error body of the WebUI's own exceptions.
pub(crate) fn exception(status: StatusCode, detail: &str) -> Response {
    let body = json!({ "error": "HTTPException", "detail": detail, "body": "", "errors": "" });
    (status, Json(body)).into_response()
}

pub(crate) fn invalid(field: &str, message: &str) -> Response {
    fail(
        StatusCode::UNPROCESSABLE_ENTITY,
        json!([{ "loc": ["body", field], "msg": message, "type": "value_error" }]),
    )
}

pub(crate) fn broken(error: &anyhow::Error) -> Response {
    say(&format!("*** API error: {error:#}"));
    let body = json!({ "error": "OSError", "detail": "", "body": "", "errors": format!("{error:#}") });
    (StatusCode::INTERNAL_SERVER_ERROR, Json(body)).into_response()
}
