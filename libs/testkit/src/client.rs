//! An HTTP client that follows the API's conventions, and its responses with assertions.

use reqwest::{
    Method,
    header::{HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;

/// The response to a request.
#[derive(Debug)]
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: HeaderMap,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
    /// The body as text.
    pub text: String,
}

impl Response {
    /// Asserts the status; the failure shows the body.
    #[track_caller]
    #[must_use]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Asserts an RFC 9457 problem of the type `slug` with this status.
    #[track_caller]
    pub fn expect_problem(self, status: u16, slug: &str) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{}", self.text);
        let kind = api::ProblemType::from_slug(slug).unwrap_or_else(|| panic!("{slug} is not registered"));
        assert_eq!(self.body["type"], kind.uri(), "{}", self.text);
        assert_eq!(self.body["status"], status, "{}", self.text);
        self
    }

    /// Returns the value of a header, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the member `name` of the body, which must be a string.
    #[track_caller]
    #[must_use]
    pub fn str(&self, name: &str) -> &str {
        self.body[name].as_str().unwrap_or_else(|| panic!("no text {name:?} in {}", self.text))
    }
}

/// Calls one service as one caller. Writes carry a new `Idempotency-Key` each, unless one is set.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    headers: HeaderMap,
}

impl Client {
    /// The base URL of the service.
    #[must_use]
    pub fn base(&self) -> &str {
        &self.base
    }

    /// A client without a token for the service at `base` (no trailing slash).
    #[must_use]
    pub fn new(base: &str) -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { http, base: base.to_owned(), token: None, headers: HeaderMap::new() }
    }

    /// Returns the client with a bearer token.
    #[must_use]
    pub fn token(&self, token: &str) -> Self {
        Self { token: Some(token.to_owned()), ..self.clone() }
    }

    /// Returns the client with one more header.
    #[must_use]
    pub fn header(&self, name: &'static str, value: &str) -> Self {
        let mut client = self.clone();
        client.headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        client
    }

    /// Returns the client of a service of the platform.
    #[must_use]
    pub fn service(&self, name: &str) -> Self {
        self.token(&crate::service_token(name))
    }

    /// Returns the client of a service in the request of the user with this access token.
    #[must_use]
    pub fn on_behalf(&self, subject: &str) -> Self {
        self.header("x-atelier-subject", subject)
    }

    /// Returns the client with a fixed `Idempotency-Key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    /// Sends a request; `body` is sent as JSON unless it is null.
    pub async fn send(&self, method: Method, path: &str, body: &Value) -> Response {
        let mut request = self.http.request(method.clone(), format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if method != Method::GET && !self.headers.contains_key("idempotency-key") {
            request = request.header("idempotency-key", uuid::Uuid::new_v4().to_string());
        }
        request = request.headers(self.headers.clone());
        if !body.is_null() {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let text = response.text().await.unwrap();
        let body = serde_json::from_str(&text).unwrap_or(Value::Null);
        Response { status, headers, body, text }
    }

    /// Sends a GET request.
    pub async fn get(&self, path: &str) -> Response {
        self.send(Method::GET, path, &Value::Null).await
    }

    /// Sends a POST request.
    pub async fn post(&self, path: &str, body: Value) -> Response {
        self.send(Method::POST, path, &body).await
    }

    /// Sends a PUT request.
    pub async fn put(&self, path: &str, body: Value) -> Response {
        self.send(Method::PUT, path, &body).await
    }

    /// Sends a PATCH request with `etag` as `If-Match`.
    pub async fn patch(&self, path: &str, etag: &str, body: Value) -> Response {
        self.header("if-match", etag).send(Method::PATCH, path, &body).await
    }

    /// Sends a DELETE request without a body.
    pub async fn delete(&self, path: &str) -> Response {
        self.send(Method::DELETE, path, &Value::Null).await
    }
}
