//! A response of the gateway itself: a problem, with additional headers. And the responses that several
//! slices return.

use api::{Problem, ProblemType};
use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};

/// Errors of forwarding a request.
#[derive(Debug)]
pub(crate) struct Refusal {
    problem: Problem,
    /// Boxed, as most refusals have no headers, and small results are cheaper.
    headers: Option<Box<HeaderMap>>,
}

impl Refusal {
    pub(crate) fn with_headers(problem: Problem, headers: HeaderMap) -> Self {
        Self { problem, headers: Some(Box::new(headers)) }
    }

    /// The request names no host.
    pub(crate) fn no_host() -> Self {
        Problem::bad_request("The request has no valid Host.").into()
    }

    pub(crate) fn no_such_route() -> Self {
        Problem::new(ProblemType::NoSuchRoute, "No operation of this API has this path.").into()
    }

    /// The path has only the methods of `allow`.
    pub(crate) fn method_not_allowed(allow: &'static str) -> Self {
        Self::not_allowed("The path exists, with other methods.", allow)
    }

    /// No path has the method. Those of `allow` are forwarded.
    pub(crate) fn method_not_served(allow: &'static str) -> Self {
        Self::not_allowed("CONNECT and TRACE are not served.", allow)
    }

    fn not_allowed(detail: &str, allow: &'static str) -> Self {
        let headers = HeaderMap::from_iter([(header::ALLOW, HeaderValue::from_static(allow))]);
        Self::with_headers(Problem::new(ProblemType::MethodNotAllowed, detail), headers)
    }

    /// The request comes from a page of another origin.
    pub(crate) fn cross_origin() -> Self {
        Problem::new(ProblemType::CrossOrigin, "A page of another origin may not use your session.").into()
    }

    /// The tenant has too many requests at a time.
    pub(crate) fn too_many_at_a_time() -> Self {
        let detail = "Your tenant has reached its limit of concurrent requests.";
        let headers = HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static("1"))]);
        Self::with_headers(Problem::new(ProblemType::TooManyRequests, detail), headers)
    }

    /// The service cannot be reached.
    pub(crate) fn unavailable(
        service: &str,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Problem::unavailable(&format!("The {service} service"), cause).into()
    }

    pub(crate) fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Problem::internal(cause).into()
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self { problem, headers: None }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let mut response = self.problem.into_response();
        if let Some(headers) = self.headers {
            response.headers_mut().extend(*headers);
        }
        response
    }
}
