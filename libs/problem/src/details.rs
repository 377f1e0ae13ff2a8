//! A problem as JSON: as it is sent, received from another service, or stored with an operation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::registry::ProblemType;

/// One field of a request that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer into the body (`/gpu_count`), or the name of a query parameter or header.
    pub pointer: String,
    /// What is wrong with the field.
    pub detail: String,
}

/// An error response (RFC 9457, `application/problem+json`).
///
/// `type` is text here, not a [`ProblemType`]: a newer service may answer a type that this version does not
/// know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Problem)]
pub struct ProblemDetails {
    /// Stable URI of the problem type.
    #[serde(rename = "type")]
    #[schema(value_type = ProblemType)]
    pub kind: String,
    /// The kind of problem in a few words, the same for each occurrence.
    pub title: String,
    /// The HTTP status, repeated.
    #[schema(minimum = 400, maximum = 599, example = 409)]
    pub status: u16,
    /// What happened this time, in a sentence for a person.
    pub detail: String,
    /// What the caller can do next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The fields that were not accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Further members of the type.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl ProblemDetails {
    /// Returns a problem of this type, with the type's status and advice.
    pub fn new(kind: ProblemType, detail: impl Into<String>) -> Self {
        Self {
            kind: kind.uri(),
            title: kind.title().to_owned(),
            status: kind.status().as_u16(),
            detail: detail.into(),
            next: Some(kind.next().to_owned()),
            errors: Vec::new(),
            extra: Map::new(),
        }
    }

    /// Returns whether this is a problem of the type.
    #[must_use]
    pub fn is(&self, kind: ProblemType) -> bool {
        ProblemType::from_uri(&self.kind) == Some(kind)
    }
}
