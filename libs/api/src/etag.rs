//! Entity tags of mutable resources, and the precondition that a writer has seen the newest one.

use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponseParts, ResponseParts},
};

use crate::problem::Problem;

/// The version of a resource: its row's generation, which grows by one with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ETag(pub i64);

impl ETag {
    /// As it stands in the header.
    #[must_use]
    pub fn header_value(self) -> HeaderValue {
        HeaderValue::from_str(&format!("\"{}\"", self.0)).unwrap_or(HeaderValue::from_static("\"0\""))
    }
}

impl IntoResponseParts for ETag {
    type Error = std::convert::Infallible;
    fn into_response_parts(self, mut res: ResponseParts) -> Result<ResponseParts, Self::Error> {
        res.headers_mut().insert(header::ETAG, self.header_value());
        Ok(res)
    }
}

/// The generation that the caller saw (`If-Match: "7"`), or any (`If-Match: *`).
///
/// Missing: 428. Not an entity tag of ours: 412, since it cannot match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub Option<i64>);

impl IfMatch {
    /// Refuses with 412 unless the resource is still as the caller saw it.
    ///
    /// # Errors
    /// The 412 problem.
    pub fn check(self, current: i64) -> Result<(), Problem> {
        match self.0 {
            Some(seen) if seen != current => Err(changed()),
            _ => Ok(()),
        }
    }
}

fn changed() -> Problem {
    Problem::new(
        StatusCode::PRECONDITION_FAILED,
        "changed-meanwhile",
        "It has changed since you read it",
        "The entity tag in If-Match is not the current one.",
    )
    .next("Read it again, apply your change to what you read, and send its new ETag as If-Match.")
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else {
            return Err(Problem::new(
                StatusCode::PRECONDITION_REQUIRED,
                "if-match-required",
                "If-Match is missing",
                "A change to this resource needs the ETag of the version it is meant for.",
            )
            .next("Read the resource and send its ETag as `If-Match`, or `If-Match: *` to overwrite."));
        };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(Self(None));
        }
        text.strip_prefix('"')
            .and_then(|t| t.strip_suffix('"'))
            .and_then(|t| t.parse().ok())
            .map(|generation| Self(Some(generation)))
            .ok_or_else(changed)
    }
}
