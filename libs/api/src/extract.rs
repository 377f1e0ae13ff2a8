//! Axum's extractors with our errors: what cannot be read is a 4xx problem that names the place.

use axum::{
    extract::{
        FromRequest, FromRequestParts, Request,
        rejection::{BytesRejection, FailedToBufferBody},
    },
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_path_to_error::Segment;

use crate::problem::Problem;

/// A JSON body, in or out.
///
/// Reading it fails with 415 for another content type, 413 for too many bytes, 400 for text that is not
/// JSON, and 422, with a pointer to the field, for JSON of another shape (unknown fields included, where
/// the type denies them).
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let content_type =
            request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "The body is not JSON",
                "The request needs a JSON body.",
            )
            .next("Send it with the header `Content-Type: application/json`."));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(body_rejected)?;
        from_slice(&bytes).map(Self)
    }
}

fn body_rejected(rejection: BytesRejection) -> Problem {
    match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "body-too-large",
            "The body is too large",
            "The request's body is larger than this operation accepts.",
        )
        .next("Send less; files go to a storage, not through this API."),
        other => Problem::bad_request("The request's body did not arrive whole.").caused_by(other),
    }
}

fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let pointer = pointer(error.path());
        let inner = error.into_inner();
        if inner.is_data() {
            let text = inner.to_string();
            let detail = text.split(" at line ").next().unwrap_or_default();
            Problem::invalid_field(pointer, detail)
        } else {
            Problem::bad_request(format!("The body is not valid JSON: {inner}."))
        }
    })?;
    deserializer.end().map_err(|e| Problem::bad_request(format!("The body is not valid JSON: {e}.")))?;
    Ok(value)
}

/// A JSON pointer (RFC 6901).
fn pointer(path: &serde_path_to_error::Path) -> String {
    let token = |segment: &Segment| match segment {
        Segment::Map { key } | Segment::Enum { variant: key } => {
            format!("/{}", key.replace('~', "~0").replace('/', "~1"))
        }
        Segment::Seq { index } => format!("/{index}"),
        Segment::Unknown => String::new(),
    };
    path.iter().map(token).collect()
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// Path parameters. What does not parse cannot exist: the same 404 as a missing thing.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Path::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Path(value)| Self(value))
            .map_err(|_| Problem::not_found())
    }
}

/// Query parameters; 422 naming what is wrong.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Query::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| {
                let text = rejection.body_text();
                Problem::invalid_field(
                    "query",
                    text.trim_start_matches("Failed to deserialize query string: "),
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Body {
        name: String,
        items: Vec<Item>,
        #[serde(default)]
        labels: std::collections::BTreeMap<String, String>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Item {
        count: u32,
    }

    #[test]
    fn the_place_of_a_wrong_field_is_named() {
        for (text, status, pointer) in [
            (r#"{"name":"a","items":[{"count":-1}]}"#, 422, "/items/0/count"),
            (r#"{"name":7,"items":[]}"#, 422, "/name"),
            (r#"{"name":"a","items":[],"more":1}"#, 422, "/more"),
            (r#"{"name":"a"}"#, 422, ""),
            (
                r#"{"name":"a","items":[],"labels":{"atelier.dev/a[0]~":7}}"#,
                422,
                "/labels/atelier.dev~1a[0]~0",
            ),
        ] {
            let problem = from_slice::<Body>(text.as_bytes()).unwrap_err();
            assert_eq!(problem.status.as_u16(), status, "{text}");
            assert_eq!(problem.errors[0].pointer, pointer, "{text}");
        }
        for text in ["", "{", "{\"name\":\"a\",\"items\":[]} x", "nope"] {
            assert_eq!(from_slice::<Body>(text.as_bytes()).unwrap_err().status.as_u16(), 400, "{text:?}");
        }
    }
}
