//! A problem as JSON: as it is sent, received from another service, or stored with an operation.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Problem, ProblemType};

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
    /// Returns whether this is a problem of the type.
    #[must_use]
    pub fn is(&self, kind: ProblemType) -> bool {
        ProblemType::from_uri(&self.kind) == Some(kind)
    }
}

impl From<&Problem> for ProblemDetails {
    fn from(problem: &Problem) -> Self {
        Self {
            kind: problem.kind.uri(),
            title: problem.kind.title().to_owned(),
            status: problem.status.as_u16(),
            detail: problem.detail.clone(),
            next: Some(problem.next.clone()),
            errors: problem.errors.clone(),
            extra: problem.extra.clone(),
        }
    }
}

impl From<Problem> for ProblemDetails {
    fn from(problem: Problem) -> Self {
        Self::from(&problem)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_survives_storing() {
        let problem = Problem::new(ProblemType::StockInUse, "2 units are free.").with("free", 2);
        let sent = serde_json::to_value(&problem).unwrap();
        let stored: ProblemDetails = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(stored, ProblemDetails::from(problem));
        assert!(stored.is(ProblemType::StockInUse) && !stored.is(ProblemType::StockExhausted));
        assert_eq!(stored.extra["free"], 2);
        assert_eq!(serde_json::to_value(&stored).unwrap(), sent);
    }

    #[test]
    fn an_unknown_type_is_kept() {
        let sent = json!({ "type": "https://atelier.dev/problems/from-the-future", "title": "T", "status": 418,
                           "detail": "D", "more": [1] });
        let received: ProblemDetails = serde_json::from_value(sent.clone()).unwrap();
        assert!(ProblemType::ALL.iter().all(|known| !received.is(*known)));
        assert_eq!(serde_json::to_value(&received).unwrap(), sent);
    }
}
