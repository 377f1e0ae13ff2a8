//! Axum's extractors with problems as their rejections.

use std::error::Error;

use axum::{
    extract::{
        FromRequest, FromRequestParts, OptionalFromRequest, Request,
        rejection::{BytesRejection, FailedToBufferBody, QueryRejection},
    },
    http::{header, request::Parts},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_path_to_error::Segment;

use crate::{
    checks::pointer_to,
    lossless,
    problem::{Problem, ProblemType},
};

/// A JSON body of a request or response.
///
/// Rejects another content type with 415, too many bytes with 413, text that is not JSON with 400, and JSON
/// of another shape with 422 and a pointer to the field (unknown fields included, where the type denies
/// them; numbers that would be rounded, and duplicate members).
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let content_type =
            request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(ProblemType::UnsupportedMediaType, "The request needs a JSON body."));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(body_rejected)?;
        from_slice(&bytes).map(Self)
    }
}

/// A body that may be absent: a request without a content type has none.
impl<S: Send + Sync, T: DeserializeOwned> OptionalFromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Option<Self>, Problem> {
        if !request.headers().contains_key(header::CONTENT_TYPE) {
            return Ok(None);
        }
        <Self as FromRequest<S>>::from_request(request, state).await.map(Some)
    }
}

fn body_rejected(rejection: BytesRejection) -> Problem {
    match rejection {
        BytesRejection::FailedToBufferBody(FailedToBufferBody::LengthLimitError(_)) => {
            Problem::new(ProblemType::BodyTooLarge, "The request body is larger than this operation accepts.")
        }
        other => Problem::bad_request("The request body is incomplete.").caused_by(other),
    }
}

fn from_slice<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let pointer = pointer(error.path());
        let inner = error.into_inner();
        // an error in the data may be a value that the field cannot have: null for an enum, a number that no
        // type holds, half of a surrogate pair
        if inner.is_data() || serde_json::from_slice::<IgnoredAny>(bytes).is_ok() {
            let text = inner.to_string();
            let detail = match text.split(" at line ").next().unwrap_or_default() {
                "expected value" => "must be one of the values of this field",
                detail => detail,
            };
            Problem::invalid_field(pointer, detail)
        } else {
            Problem::bad_request(format!("The body is not valid JSON: {inner}."))
        }
    })?;
    deserializer.end().map_err(|e| Problem::bad_request(format!("The body is not valid JSON: {e}.")))?;
    lossless::check(bytes)?;
    Ok(value)
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    path.iter().fold(String::new(), |parent, segment| match segment {
        Segment::Map { key } | Segment::Enum { variant: key } => pointer_to(&parent, key),
        Segment::Seq { index } => pointer_to(&parent, index),
        Segment::Unknown => parent,
    })
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

/// Path parameters. An id that does not parse is 404, the same as an id that does not exist.
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

/// Query parameters. Rejects invalid ones with 422 and the name of the parameter.
#[derive(Debug, Clone, Copy)]
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        axum::extract::Query::from_request_parts(parts, state)
            .await
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| match misread(&rejection) {
                Some(error) if error.path().iter().next().is_some() => {
                    Problem::invalid_field(error.path().to_string(), error.inner().to_string())
                }
                _ => {
                    let text = rejection.body_text();
                    Problem::invalid_field(
                        "query",
                        text.trim_start_matches("Failed to deserialize query string: "),
                    )
                }
            })
    }
}

/// Returns the invalid parameter and its error.
fn misread(rejection: &QueryRejection) -> Option<&serde_path_to_error::Error<serde::de::value::Error>> {
    let mut cause = rejection.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
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

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Small,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Values {
        kinds: Vec<Kind>,
        #[serde(default)]
        kind: Option<Kind>,
        #[serde(default)]
        share: f64,
        #[serde(default)]
        name: String,
    }

    /// The body is JSON, but the value of a field is not valid.
    #[test]
    fn a_value_that_no_field_of_its_type_can_have_is_named_by_its_pointer() {
        for (text, pointer) in [
            (r#"{"kinds":[null]}"#, "/kinds/0"),
            (r#"{"kinds":[7]}"#, "/kinds/0"),
            (r#"{"kinds":["small",true]}"#, "/kinds/1"),
            (r#"{"kinds":[[]]}"#, "/kinds/0"),
            (r#"{"kinds":["large"]}"#, "/kinds/0"),
            (r#"{"kinds":[],"kind":7}"#, "/kind"),
            (r#"{"kinds":[],"share":1e999}"#, "/share"),
            (r#"{"kinds":[],"name":"\ud800"}"#, "/name"),
        ] {
            let problem = from_slice::<Values>(text.as_bytes()).unwrap_err();
            assert_eq!(problem.status.as_u16(), 422, "{text}");
            assert_eq!(problem.errors[0].pointer, pointer, "{text}");
            assert!(!problem.errors[0].detail.is_empty(), "{text}");
        }
        assert!(from_slice::<Values>(br#"{"kinds":["small"],"kind":null}"#).is_ok());
        for text in [r#"{"kinds":[nul]}"#, r#"{"kinds":[7"#, r#"{"kinds":[],"share":1e}"#] {
            assert_eq!(from_slice::<Values>(text.as_bytes()).unwrap_err().status.as_u16(), 400, "{text}");
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only its shape matters")]
    struct Parameters {
        kind: Option<Kind>,
        kinds: Option<crate::Several<Kind>>,
        count: Option<u8>,
    }

    #[tokio::test]
    async fn an_invalid_parameter_is_named() {
        for (query, pointer, detail) in [
            ("kind=large", "kind", "unknown variant `large`"),
            ("kinds=small,large", "kinds", "unknown variant `large`"),
            ("kinds=small&kinds=small", "query", "duplicate field"),
            ("count=300", "count", "number too large"),
            ("other=1", "other", "unknown field `other`"),
        ] {
            let request =
                Request::builder().uri(format!("/?{query}")).body(axum::body::Body::empty()).unwrap();
            let (mut parts, _) = request.into_parts();
            let refused = Query::<Parameters>::from_request_parts(&mut parts, &()).await.unwrap_err();
            assert_eq!(refused.status.as_u16(), 422, "{query}");
            let error = &refused.errors[0];
            assert!(error.pointer == pointer && error.detail.contains(detail), "{query}: {error:?}");
        }
    }

    #[test]
    fn an_invalid_field_is_named_by_its_pointer() {
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
