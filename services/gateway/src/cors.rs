//! Cross-origin requests to the platform's API. They carry their access token in a header: cookies are never allowed.

use std::time::Duration;

use axum::{
    Router,
    http::{HeaderName, HeaderValue, Method, header},
};
use serde::Deserialize;
use tower_http::cors::{AllowOrigin, CorsLayer};
use url::Url;

/// How long browsers cache the answer to a preflight request.
const MAX_AGE: Duration = Duration::from_secs(600);

/// Pages of other origins that may call the API.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cors {
    /// Origins such as `https://tools.example`, or `*` for all; none by default.
    pub allowed_origins: Vec<String>,
}

impl Cors {
    /// Answers preflight requests, and adds the headers to the responses of `routes`. Returns none if no origin is
    /// allowed.
    ///
    /// # Errors
    /// If an origin is not valid.
    pub(crate) fn add(&self, routes: Router) -> anyhow::Result<Option<Router>> {
        if self.allowed_origins.is_empty() {
            return Ok(None);
        }
        let origins =
            self.allowed_origins.iter().map(|text| origin(text)).collect::<anyhow::Result<Vec<_>>>()?;
        let allowed = if origins.iter().any(|origin| origin == "*") {
            AllowOrigin::any()
        } else {
            AllowOrigin::list(origins)
        };
        let layer = CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([
                Method::GET,
                Method::HEAD,
                Method::POST,
                Method::PUT,
                Method::PATCH,
                Method::DELETE,
            ])
            .allow_headers([
                header::ACCEPT,
                header::AUTHORIZATION,
                header::CONTENT_TYPE,
                header::IF_MATCH,
                header::IF_NONE_MATCH,
                HeaderName::from_static("idempotency-key"),
                HeaderName::from_static("last-event-id"),
                HeaderName::from_static("traceparent"),
                HeaderName::from_static("tracestate"),
                HeaderName::from_static("x-request-id"),
            ])
            .expose_headers([
                header::ETAG,
                header::LOCATION,
                header::RETRY_AFTER,
                HeaderName::from_static("idempotency-replayed"),
                HeaderName::from_static("ratelimit"),
                HeaderName::from_static("ratelimit-policy"),
                HeaderName::from_static("x-request-id"),
            ])
            .max_age(MAX_AGE);
        Ok(Some(routes.layer(layer)))
    }
}

/// Browsers compare origins byte by byte: an origin in another notation would never be allowed.
fn origin(text: &str) -> anyhow::Result<HeaderValue> {
    let is_origin = Url::parse(text).is_ok_and(|url| url.origin().ascii_serialization() == text);
    anyhow::ensure!(
        is_origin || text == "*",
        "cors: {text:?} is not an origin such as https://tools.example"
    );
    Ok(HeaderValue::from_str(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_are_accepted() {
        for good in ["https://tools.example", "http://localhost:3000", "*"] {
            assert!(origin(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "tools.example",
            "https://tools.example/",
            "https://Tools.example",
            "https://*.example/x",
            "null",
            "https://tools.example:443",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }
}
