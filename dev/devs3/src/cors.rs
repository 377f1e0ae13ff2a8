//! Requests of pages of other origins.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};

use crate::cors_rule::Rule;
use crate::store::Store;

/// A request of a page of another origin.
pub(crate) struct Asked {
    bucket: String,
    origin: HeaderValue,
    method: Method,
}

impl Asked {
    /// None if no page of another origin asks.
    pub(crate) fn of(request: &axum::extract::Request) -> Option<Self> {
        let bucket = request.uri().path().split('/').nth(1)?.to_owned();
        let origin = request.headers().get(header::ORIGIN)?.clone();
        Some(Self { bucket, origin, method: request.method().clone() })
    }

    /// Adds to an answer that the page may read it, if it may.
    pub(crate) fn allow(&self, store: &Store, answer: &mut Response) {
        let document = store.state.read();
        let rules = document.buckets.get(&self.bucket).map_or(&[][..], |bucket| &bucket.cors);
        let origin = self.origin.to_str().unwrap_or_default();
        if let Some(rule) = rules.iter().find(|rule| rule.allows(origin, self.method.as_str())) {
            rule.add_to(answer.headers_mut(), &self.origin, self.method.as_str());
        }
    }
}

/// Answers a browser that asks whether a page may send a request.
pub(crate) fn preflight(store: &Store, request: &axum::extract::Request) -> Response {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = match allowed(store, request, answer.headers_mut()) {
        Ok(()) => StatusCode::OK,
        Err(status) => status,
    };
    answer
}

fn allowed(store: &Store, request: &axum::extract::Request, added: &mut HeaderMap) -> Result<(), StatusCode> {
    let text = |name: HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let asked = Asked::of(request).ok_or(StatusCode::BAD_REQUEST)?;
    let method = text(header::ACCESS_CONTROL_REQUEST_METHOD).ok_or(StatusCode::BAD_REQUEST)?;
    let names = text(header::ACCESS_CONTROL_REQUEST_HEADERS);
    let origin = asked.origin.to_str().map_err(|_| StatusCode::FORBIDDEN)?;
    let document = store.state.read();
    let bucket = document.buckets.get(&asked.bucket).ok_or(StatusCode::NOT_FOUND)?;
    let fits =
        |rule: &&Rule| rule.allows(origin, method) && names.is_none_or(|names| rule.allows_headers(names));
    let rule = bucket.cors.iter().find(fits).ok_or(StatusCode::FORBIDDEN)?;
    rule.add_to(added, &asked.origin, method);
    if let Some(names) = names.and_then(|names| HeaderValue::from_str(names).ok()) {
        added.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, names);
    }
    Ok(())
}
