//! Why the gateway answers a request itself, and the one mapping to a response.

use api::{Problem, ProblemType};
use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

use crate::{admission::Shed, limits::Exceeded, proxy};

/// Methods that are forwarded.
const SERVED: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// A request that is not forwarded, or not answered by what it was forwarded to.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("the request names no host")]
    NoHost,
    #[error("CONNECT and TRACE are not served")]
    MethodNotServed,
    #[error("the method is not allowed for this path")]
    MethodNotAllowed { allow: &'static str },
    #[error("the path is ambiguous")]
    AmbiguousPath,
    #[error("no route has this path")]
    NoSuchRoute,
    /// The problem that libs/auth returned.
    #[error(transparent)]
    Unauthenticated(#[from] Problem),
    #[error("rate limit exceeded")]
    RateLimited(#[from] Exceeded),
    #[error("the tenant has too many requests at a time")]
    TooManyAtATime,
    #[error("the {service} service has too much to do")]
    Overloaded { service: &'static str, source: Shed },
    #[error("the request comes from a page of another origin")]
    CrossOrigin,
    #[error("the body is larger than {limit} bytes")]
    BodyTooLarge { limit: usize },
    #[error("the body did not arrive in time")]
    BodyTooSlow,
    #[error("the body cannot be read")]
    BodyMalformed(#[source] axum::Error),
    /// The request cannot be written as one to the upstream.
    #[error("the request cannot be forwarded")]
    NotForwardable,
    #[error("the {service} service cannot be reached")]
    ServiceUnavailable { service: &'static str, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the {service} service did not respond in time")]
    ServiceTimeout { service: &'static str },
    #[error("internal error")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// A request that `service` did not answer.
    pub(crate) fn upstream(service: &'static str, error: proxy::Error) -> Self {
        match error {
            proxy::Error::Connect(_) | proxy::Error::Interrupted(_) => {
                Self::ServiceUnavailable { service, source: error.into() }
            }
            proxy::Error::TimedOut => Self::ServiceTimeout { service },
            proxy::Error::NotForwardable => Self::NotForwardable,
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::NoHost => Self::bad_request("The request has no valid Host."),
            Error::MethodNotServed => {
                Self::new(ProblemType::MethodNotAllowed, "CONNECT and TRACE are not served.")
            }
            Error::MethodNotAllowed { .. } => {
                Self::new(ProblemType::MethodNotAllowed, "The path exists, with other methods.")
            }
            Error::AmbiguousPath => Self::bad_request(
                "The path is ambiguous: it has dot segments, empty segments or encoded separators.",
            ),
            Error::NoSuchRoute => {
                Self::new(ProblemType::NoSuchRoute, "No operation of this API has this path.")
            }
            Error::Unauthenticated(problem) => problem,
            Error::RateLimited(_) => {
                Self::new(ProblemType::TooManyRequests, "You send requests faster than the platform allows.")
            }
            Error::TooManyAtATime => Self::new(
                ProblemType::TooManyRequests,
                "Your tenant has as many requests under way as it may have at a time.",
            ),
            Error::Overloaded { service, .. } => Self::new(
                ProblemType::Overloaded,
                format!("The {service} service has more to do than it can. The request was not sent to it."),
            ),
            Error::CrossOrigin => {
                Self::new(ProblemType::CrossOrigin, "A page of another origin may not use your session.")
            }
            Error::BodyTooLarge { limit } => Self::new(
                ProblemType::BodyTooLarge,
                format!("The request body is larger than {limit} bytes."),
            ),
            Error::BodyTooSlow => {
                Self::new(ProblemType::BodyTooSlow, "The request body did not arrive completely in time.")
            }
            Error::BodyMalformed(_) => Self::bad_request("The request body cannot be read."),
            Error::NotForwardable => Self::bad_request("The request cannot be forwarded."),
            Error::ServiceUnavailable { service, source } => {
                Self::unavailable(&format!("The {service} service"), source)
            }
            Error::ServiceTimeout { service } => Self::new(
                ProblemType::NoAnswer,
                format!("The {service} service did not respond in time. The request may have taken effect."),
            )
            .caused_by(error),
            Error::Internal(cause) => Self::internal(cause),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let allow = match &self {
            Self::MethodNotServed => Some(SERVED),
            Self::MethodNotAllowed { allow } => Some(*allow),
            _ => None,
        };
        let mut response = self.problem_response();
        if let Some(allow) = allow {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        response
    }
}

impl Error {
    fn problem_response(self) -> Response {
        match self {
            Self::RateLimited(exceeded) => {
                let headers = exceeded.clone();
                let mut response = Problem::from(Self::RateLimited(exceeded)).into_response();
                headers.add_headers(response.headers_mut());
                response
            }
            Self::TooManyAtATime => {
                let mut response = Problem::from(self).into_response();
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
                response
            }
            other => Problem::from(other).into_response(),
        }
    }
}
