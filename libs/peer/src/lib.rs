//! Calls from one service to another: each carries the tokens of the calling service and of the user, the
//! request id, the position in the trace and the idempotency key. Nothing is retried here; the caller decides
//! that.
//!
//! The types and the client of a service are in a crate of the service (`services/<service>/api`). Paths and
//! types of services may not enter here.

use std::{sync::Arc, time::Duration};

use api::{Problem, ProblemDetails, ProblemType};
use reqwest::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Limit of one call. Longer than any call inside the platform takes.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Address of a service and the caller's token for it; part of the caller's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// `http://host:port`.
    pub url: url::Url,
    /// The caller's service token.
    pub token: SecretString,
}

/// Errors of calls.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The service answered with a problem.
    #[error("{} ({}): {}", .0.title, .0.status, .0.detail)]
    Problem(Box<ProblemDetails>),
    /// The service did not answer in time. It may have carried out the call.
    #[error("the service did not answer")]
    Unreachable(#[source] reqwest::Error),
    /// The client cannot parse the response.
    #[error("unexpected response, status {status}")]
    Unexpected {
        /// The HTTP status.
        status: u16,
    },
}

impl Error {
    /// Returns the problem, if the service answered one of this type.
    #[must_use]
    pub fn problem(&self, kind: ProblemType) -> Option<&ProblemDetails> {
        match self {
            Self::Problem(problem) if problem.is(kind) => Some(problem),
            _ => None,
        }
    }

    /// Returns the problem of a request that needed the service; `service` is its display name: "The stock
    /// service". A scope that the caller's API key lacks there is named.
    #[must_use]
    pub fn into_problem(self, service: &str) -> Problem {
        match self {
            // the call was made as the caller, whose API key lacks the scope
            Self::Problem(problem) if problem.is(ProblemType::InsufficientScope) => {
                let scope = problem.extra.get("scope").cloned();
                Problem::new(ProblemType::InsufficientScope, problem.detail).with("scope", scope)
            }
            cause => Problem::unavailable(service, cause),
        }
    }

    /// Returns whether the service answered `not-found`.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.problem(ProblemType::NotFound).is_some()
    }
}

/// A service of the platform, as another one calls it. Clones share it.
#[derive(Debug, Clone)]
pub struct Peer(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    http: reqwest::Client,
    endpoint: Endpoint,
}

impl Peer {
    /// The service at `endpoint`.
    #[must_use]
    pub fn new(http: reqwest::Client, endpoint: Endpoint) -> Self {
        Self(Arc::new(Inner { http, endpoint }))
    }

    /// Sends a request and returns the body of the response, null if it is empty. `key` is the idempotency key.
    ///
    /// # Errors
    /// If the service does not answer, refuses, or returns an unexpected response.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&impl Serialize>,
    ) -> Result<T, Error> {
        self.call_for(None, method, path, key, body).await
    }

    /// As [`Self::call`], in the request of a user, whose access token is `subject`.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub async fn call_for<T: DeserializeOwned>(
        &self,
        subject: Option<&SecretString>,
        method: Method,
        path: &str,
        key: Option<&str>,
        body: Option<&impl Serialize>,
    ) -> Result<T, Error> {
        let url = format!("{}{path}", self.0.endpoint.url.as_str().trim_end_matches('/'));
        let own = self.0.endpoint.token.expose_secret();
        let host = self.0.endpoint.url.host_str().unwrap_or_default();
        let mut request = self.0.http.request(method.clone(), url).timeout(TIMEOUT).bearer_auth(own);
        if let Some(subject) = subject {
            request = request.header(api::subject::HEADER, subject.expose_secret());
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        if let Some(id) = api::request_id::current() {
            request = request.header(api::request_id::HEADER, id);
        }
        let mut span = traces::http::call(&method, host, self.0.endpoint.url.port_or_known_default());
        if let Some(position) = span.header() {
            request = request.header(traces::HEADER, position);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let sent = request.send().await;
        let response = sent.inspect_err(|_| span.fail("unreachable")).map_err(Error::Unreachable)?;
        let status = response.status();
        traces::http::received(&mut span, status);
        let bytes = response.bytes().await.map_err(Error::Unreachable)?;
        let unexpected = Error::Unexpected { status: status.as_u16() };
        if status.is_success() {
            let text: &[u8] = if status == StatusCode::NO_CONTENT { b"null" } else { &bytes };
            return serde_json::from_slice(text).map_err(|_| unexpected);
        }
        match serde_json::from_slice::<ProblemDetails>(&bytes) {
            Ok(problem) => Err(Error::Problem(Box::new(problem))),
            Err(_) => Err(unexpected),
        }
    }
}

/// Returns a new idempotency key for each call. The operations called here are idempotent without one, and their
/// responses change with time (a unit is claimed, released and claimed again), so none may be replayed.
#[must_use]
pub fn new_key() -> String {
    ids::OperationId::new().to_string()
}

/// The body of a call without one.
pub const NO_BODY: Option<&()> = None;

/// Encodes text from a caller as one segment of a path. URLs cannot contain the segments `.` and `..` in any
/// encoding: they, and empty text, become a blank, which matches nothing.
#[must_use]
pub fn segment(text: &str) -> String {
    let text = if matches!(text, "" | "." | "..") { " " } else { text };
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20")
}

/// Encodes text as the value of a query parameter.
#[must_use]
pub fn query_value(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_that_another_service_misses_is_named() {
        let refused = Problem::new(ProblemType::InsufficientScope, "This needs the scope `storages:read`.")
            .with("scope", "storages:read");
        let cause = Error::Problem(Box::new(ProblemDetails::from(refused)));
        let problem = cause.into_problem("The storage service");
        assert_eq!((problem.status.as_u16(), &problem.extra["scope"]), (403, &"storages:read".into()));
    }

    #[test]
    fn a_segment_cannot_change_the_path() {
        let base: url::Url = "http://stock/internal/v1/gpu-specs/".parse().unwrap();
        for text in
            ["a", "", "a/b", "..", ".", "%2e%2e", "../claims", "a?b", "a#b", "ü ~+*", "\\..\\x", "a;b"]
        {
            let url: url::Url = format!("{base}{}", segment(text)).parse().unwrap();
            let segments: Vec<_> = url.path_segments().unwrap().collect();
            assert_eq!(segments.len(), 4, "{text}: {url}");
            assert!(url.path().starts_with(base.path()) && !segments[3].is_empty(), "{text}: {url}");
            assert_eq!((url.query(), url.fragment()), (None, None), "{text}: {url}");
        }
    }
}
