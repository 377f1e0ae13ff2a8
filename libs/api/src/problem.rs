//! RFC 9457 problem details: the one shape of every error a caller sees.
//!
//! What the caller reads (`title`, `detail`, `next`) and what happened inside (`cause`) are two things.
//! The cause is logged once, when the problem becomes a response, and never leaves the process.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sqlx::error::ErrorKind;
use utoipa::ToSchema;

/// Where the documentation of each problem type lives; a type is this plus a slug.
pub const TYPE_BASE: &str = "https://atelier.dev/problems/";

/// One field of a request that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// JSON pointer into the body (`/gpu_count`), or the name of a query parameter or header.
    pub pointer: String,
    /// What is wrong with it, in a sentence.
    pub detail: String,
}

/// An error answer (RFC 9457, `application/problem+json`).
#[derive(Debug, Serialize, ToSchema)]
pub struct Problem {
    /// Stable identifier of the kind of problem.
    #[serde(rename = "type")]
    #[schema(example = "https://atelier.dev/problems/stock-exhausted")]
    pub kind: String,
    /// The kind of problem in a few words, the same for each occurrence.
    pub title: &'static str,
    /// The HTTP status, repeated.
    #[serde(serialize_with = "as_u16")]
    #[schema(value_type = u16)]
    pub status: StatusCode,
    /// What happened this time, in a sentence for a person.
    pub detail: String,
    /// What the caller can do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// The fields that were not accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Further members, specific to the type.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    #[serde(skip)]
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

fn as_u16<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

impl Problem {
    /// A problem of the type `slug`.
    pub fn new(
        status: StatusCode,
        slug: &'static str,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind: format!("{TYPE_BASE}{slug}"),
            title,
            status,
            detail: detail.into(),
            next: None,
            errors: Vec::new(),
            extra: Map::new(),
            cause: None,
        }
    }

    /// 400: the request could not be read.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request could not be read", detail)
    }

    /// 422: the request was read, and says something that cannot be.
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let detail = errors
            .first()
            .map_or_else(|| "A field is not valid.".to_owned(), |e| format!("{}: {}", e.pointer, e.detail));
        Self {
            errors,
            ..Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "invalid-field",
                "A field of the request is not valid",
                detail,
            )
        }
    }

    /// 422 for one field.
    pub fn invalid_field(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError { pointer: pointer.into(), detail: detail.into() }])
    }

    /// 401: no valid token came with the request.
    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", "You are not signed in", detail)
            .next("Sign in with POST /v1/sessions and send the access token as `Authorization: Bearer …`.")
    }

    /// 403: the caller is known, and may not do this.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "You may not do this", detail)
    }

    /// 404: there is none, or it is another tenant's. Both answer exactly alike.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "There is no such thing",
            "Nothing with this id exists here.",
        )
        .next("Check the id; list the collection to see what exists.")
    }

    /// 409: the state of things does not allow it now.
    pub fn conflict(slug: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, slug, title, detail)
    }

    /// 500: our fault. The cause is logged; the caller is told only that.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Something went wrong on our side",
            "The request was not carried out. It is safe to send it again with the same Idempotency-Key.",
        )
        .caused_by(cause)
    }

    /// 503: something we depend on is away for the moment.
    pub fn unavailable(what: &str, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "unavailable",
            "A part of the platform is away",
            format!("{what} does not answer at the moment."),
        )
        .next("Try again in a few seconds with the same Idempotency-Key.")
        .caused_by(cause)
    }

    /// Adds what the caller can do next.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Adds a member specific to the type. A value that does not serialize is left out.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.extra.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds the internal cause, for the log only.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// An error of the database, of which a violated constraint of this kind is `meaning`.
    pub fn violated(kind: ErrorKind, meaning: fn() -> Self) -> impl FnOnce(sqlx::Error) -> Self {
        move |error| match &error {
            sqlx::Error::Database(cause) if cause.kind() == kind => meaning(),
            _ => error.into(),
        }
    }

    /// Whether this is of the type `slug`.
    #[must_use]
    pub fn is(&self, slug: &str) -> bool {
        self.kind.strip_prefix(TYPE_BASE) == Some(slug)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.title, self.status.as_u16(), self.detail)
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        Arc::new(error).into()
    }
}

/// An error that several requests share.
impl From<Arc<sqlx::Error>> for Problem {
    fn from(error: Arc<sqlx::Error>) -> Self {
        let code = error.as_database_error().and_then(|cause| cause.code()).unwrap_or_default();
        match (&*error, code.as_ref()) {
            (sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::PoolClosed, _) => {
                Self::unavailable("The database", error)
            }
            // U+0000, which JSON and URLs can carry and Postgres cannot store, as text or in jsonb
            (_, "22021" | "22P05") => Self::bad_request("A text in the request holds the character U+0000.")
                .next("Send it without that character."),
            // a time of a cursor that no list gave, before or after all that Postgres knows
            (_, "22008") => Self::bad_request("A time in the request is out of range."),
            // by class: rolled back for the sake of another, short of something, shutting down
            (_, code) if ["40", "53", "57"].iter().any(|class| code.starts_with(class)) => {
                Self::unavailable("The database", error)
            }
            _ => Self::internal(error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if let Some(cause) = &self.cause {
            let mut chain = cause.to_string();
            let mut next = cause.source();
            while let Some(error) = next {
                chain.push_str(": ");
                chain.push_str(&error.to_string());
                next = error.source();
            }
            tracing::error!(problem = %self.kind, status = self.status.as_u16(), cause = %chain, "request failed");
        }
        let body = serde_json::to_vec(&self).unwrap_or_else(|_| b"{}".to_vec());
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        }
        response
    }
}

/// Answer for a path that no route knows.
pub async fn no_such_route() -> Problem {
    Problem::new(
        StatusCode::NOT_FOUND,
        "no-such-route",
        "There is no such address",
        "No operation of this API has this path.",
    )
    .next("See /openapi.json for the operations that exist.")
}

/// Answer for a known path and an unknown method.
pub async fn no_such_method() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "This method is not allowed here",
        "The path exists, with other methods.",
    )
    .next("See /openapi.json for the methods of this path.")
}
