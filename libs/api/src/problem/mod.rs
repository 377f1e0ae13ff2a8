//! RFC 9457 problem details: the one shape of every error response.
//!
//! The public message (`title`, `detail`, `next`) and the internal cause (`cause`) are separate. The cause is logged
//! once, when the problem becomes a response, and never leaves the process. Problem types are declared in the registry;
//! a type that is not in it does not compile.

mod details;

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use sqlx::error::ErrorKind;

use crate::error_chain::ErrorChain;

pub use ::problem::{FieldError, Invalid, Member, ProblemDetails, ProblemType, TYPE_BASE, reference};

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// An error response (RFC 9457, `application/problem+json`). Serializes as [`ProblemDetails`].
#[derive(Debug, Clone)]
pub struct Problem {
    /// The type, which sets the title.
    pub kind: ProblemType,
    /// The HTTP status: that of the type, unless [`Problem::status`] changed it.
    pub status: StatusCode,
    /// What happened this time, in a sentence for a person.
    pub detail: String,
    /// What the caller can do next.
    pub next: String,
    /// The fields that were not accepted.
    pub errors: Vec<FieldError>,
    /// Further members of the type.
    pub extra: Map<String, Value>,
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

impl Problem {
    /// Returns a problem of this type, with the type's status and advice.
    pub fn new(kind: ProblemType, detail: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            detail: detail.into(),
            next: kind.next().to_owned(),
            errors: Vec::new(),
            extra: Map::new(),
            cause: None,
        }
    }

    /// 400: the request cannot be parsed.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::BadRequest, detail)
    }

    /// 422: the request was parsed, and some fields are not valid.
    #[must_use]
    pub fn invalid(errors: Vec<FieldError>) -> Self {
        let detail = errors
            .first()
            .map_or_else(|| "A field is not valid.".to_owned(), |e| format!("{}: {}", e.pointer, e.detail));
        Self { errors, ..Self::new(ProblemType::InvalidField, detail) }
    }

    /// 422 for one field.
    pub fn invalid_field(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError { pointer: pointer.into(), detail: detail.into() }])
    }

    /// 401: the request has no valid token.
    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Unauthenticated, detail)
    }

    /// 403: the caller is known, and may not do this.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(ProblemType::Forbidden, detail)
    }

    /// 404: the resource does not exist, or belongs to another tenant. Both give the same response.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(ProblemType::NotFound, "Nothing with this id exists here.")
    }

    /// 500: an internal error. The cause is logged and not shown to the caller.
    pub fn internal(cause: impl Into<Cause>) -> Self {
        Self::new(ProblemType::Internal, "The request was not carried out.").caused_by(cause)
    }

    /// 503: a dependency does not answer. `what` starts with a capital letter: "The database".
    pub fn unavailable(what: &str, cause: impl Into<Cause>) -> Self {
        Self::new(ProblemType::Unavailable, format!("{what} does not answer at the moment.")).caused_by(cause)
    }

    /// Changes the HTTP status, for the few occurrences that differ from their type's.
    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// Replaces the type's advice.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = next.into();
        self
    }

    /// Adds a member of the type. A value that does not serialize is left out.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Serialize) -> Self {
        let known = self.kind.members().iter().any(|member| member.name == name);
        debug_assert!(known, "the problem type {} has no member {name}", self.kind);
        if let Ok(value) = serde_json::to_value(value) {
            self.extra.insert(name.to_owned(), value);
        }
        self
    }

    /// Adds the internal cause, for the log only.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Cause>) -> Self {
        self.cause = Some(cause.into().into());
        self
    }

    /// Maps a database error: a violated constraint of this kind becomes `meaning`.
    pub fn violated(kind: ErrorKind, meaning: fn() -> Self) -> impl FnOnce(sqlx::Error) -> Self {
        move |error| match &error {
            sqlx::Error::Database(cause) if cause.kind() == kind => meaning(),
            _ => error.into(),
        }
    }

    /// Returns whether this is a problem of the type.
    #[must_use]
    pub fn is(&self, kind: ProblemType) -> bool {
        self.kind == kind
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ProblemDetails::from(self).serialize(serializer)
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}): {}", self.kind.title(), self.status.as_u16(), self.detail)
    }
}

impl std::error::Error for Problem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

/// Classes of SQLSTATE, and single codes, with which Postgres says that it does not carry out statements at present:
/// connection exceptions; a read-only server, as after a failover; sessions and transactions that lasted too long; roles and
/// databases that it does not have yet; transactions rolled back; insufficient resources; operator intervention, such as a
/// shutdown or a crash; errors of its operating system.
const UNAVAILABLE: [&str; 10] = ["08", "25006", "25P03", "25P04", "28", "3D", "40", "53", "57", "58"];

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self::invalid(invalid.into_errors())
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        Arc::new(error).into()
    }
}

/// A database error that several requests share. The only mapping of database errors to problems: errors of the
/// connection are 503, so that clients retry, and errors that a retry does not change are 500.
impl From<Arc<sqlx::Error>> for Problem {
    fn from(error: Arc<sqlx::Error>) -> Self {
        use sqlx::Error::{
            BeginFailed, ColumnDecode, Decode, Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed,
        };

        let code = error.as_database_error().and_then(|cause| cause.code()).unwrap_or_default();
        match (&*error, code.as_ref()) {
            // a server that ends in the middle of a message, or of the handshake, causes a protocol error
            (Io(_) | Tls(_) | Protocol(_) | PoolTimedOut | PoolClosed | BeginFailed | WorkerCrashed, _) => {
                Self::unavailable("The database", error)
            }
            // not 503: a retry does not help before an administrator has repaired the row
            (ColumnDecode { .. } | Decode(_), _) => {
                Self::new(ProblemType::Unreadable, "The stored record cannot be read.").caused_by(error)
            }
            // U+0000, which JSON and URLs can carry and Postgres cannot store, as text or in jsonb
            (_, "22021" | "22P05") => {
                Self::bad_request("A text in the request contains the character U+0000.")
                    .next("Remove the character and send the request again.")
            }
            // a time in a forged cursor, outside the range of Postgres
            (_, "22008") => Self::bad_request("A time in the request is out of range."),
            (_, code) if UNAVAILABLE.iter().any(|class| code.starts_with(class)) => {
                Self::unavailable("The database", error)
            }
            _ => Self::internal(error),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if let Some(cause) = &self.cause {
            let (problem, status, cause) = (self.kind, self.status.as_u16(), ErrorChain(&**cause));
            // a client that disconnects or sends an unreadable request is not an error of ours
            if self.status.is_server_error() {
                tracing::error!(%problem, status, %cause, "request failed");
            } else {
                tracing::debug!(%problem, status, %cause, "request refused");
            }
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
        if let Some(seconds) = self.extra.get("retry_after").and_then(Value::as_u64) {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// Answers a request for a path that no route has.
pub async fn no_such_route() -> Problem {
    Problem::new(ProblemType::NoSuchRoute, "No operation of this API has this path.")
}

/// Answers a request for a known path with an unknown method.
pub async fn no_such_method() -> Problem {
    Problem::new(ProblemType::MethodNotAllowed, "The path exists, with other methods.")
}

#[cfg(test)]
mod tests {
    use std::{
        io,
        sync::{Arc, Mutex},
    };

    use tracing::Level;

    use super::*;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Fields that are logged at the level of production.
    fn logged(problem: Problem) -> String {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(Level::INFO)
            .with_writer(move || writer.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || problem.into_response());
        let text = log.0.lock().unwrap().clone();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn callers_that_hang_up_are_not_logged_as_errors() {
        assert_eq!(logged(Problem::bad_request("The body ended early.").caused_by("connection reset")), "");
        let ours = logged(Problem::internal("disk full"));
        assert!(ours.contains("ERROR") && ours.contains("disk full"), "{ours}");
    }
}
