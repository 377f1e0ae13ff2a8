//! Entity tags of mutable resources, and the precondition that a writer has read the current version.

use axum::{
    extract::FromRequestParts,
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponseParts, ResponseParts},
};

use crate::problem::{Problem, ProblemType};

/// The version of a resource: its generation, which grows by one with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ETag(pub i64);

impl ETag {
    /// Returns the header's value.
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

/// The generation that the caller read (`If-Match: "7"`), or any (`If-Match: *`).
///
/// Without the header: 428. With an entity tag of another form: 412, since it cannot match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfMatch(pub Option<i64>);

impl IfMatch {
    /// Compares the caller's generation with the current one.
    ///
    /// # Errors
    /// Returns 412 if they differ.
    pub fn check(self, current: i64) -> Result<(), Problem> {
        match self.0 {
            Some(seen) if seen != current => Err(changed()),
            _ => Ok(()),
        }
    }
}

fn changed() -> Problem {
    Problem::new(ProblemType::ChangedMeanwhile, "The entity tag in If-Match is not the current one.")
}

impl<S: Send + Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else {
            return Err(Problem::new(
                ProblemType::IfMatchRequired,
                "A change to this resource needs the ETag of the version that it changes.",
            ));
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
