//! Response headers that tell browsers what they may do with the platform's own responses. Instances set their own.

use axum::{
    Router,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware,
    response::Response,
};

use crate::config::Config;

/// For responses that are not pages.
const NO_CONTENT: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=(), \
                           serial=(), midi=(), browsing-topics=()";

/// Adds the headers to all responses of `routes`. What a response has set itself stays.
pub(crate) fn add(routes: Router) -> Router {
    routes.layer(middleware::map_response(async |mut response: Response| {
        add_to(response.headers_mut());
        response
    }))
}

fn add_to(headers: &mut HeaderMap) {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, NO_CONTENT),
        (HeaderName::from_static("permissions-policy"), PERMISSIONS),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

/// With `https`, adds `Strict-Transport-Security` to all responses, those of instances included.
///
/// # Errors
/// If the value is not one of a header.
pub(crate) fn add_hsts(routes: Router, config: &Config) -> anyhow::Result<Router> {
    if config.public_url.scheme() != "https" {
        return Ok(routes);
    }
    let value = HeaderValue::from_str(&format!("max-age={}", config.hsts_seconds))?;
    Ok(routes.layer(middleware::map_response(move |mut response: Response| {
        response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, value.clone());
        std::future::ready(response)
    })))
}
