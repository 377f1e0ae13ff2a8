//! Response headers that tell browsers what they may do with the platform's own responses. Instances set their own.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use url::Url;

/// For responses that are not pages.
const NO_CONTENT: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";

const PERMISSIONS: &str = "camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=(), \
                           serial=(), midi=(), browsing-topics=()";

/// Adds the headers, except those that the response has set itself.
pub(crate) fn add(headers: &mut HeaderMap) {
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

/// `Strict-Transport-Security` for all responses, those of instances included, with `https`: browsers use nothing else for
/// this time.
///
/// # Errors
/// If the value is not one of a header.
pub(crate) fn hsts(public_url: &Url, seconds: u32) -> anyhow::Result<Option<HeaderValue>> {
    let secure = public_url.scheme() == "https";
    Ok(secure.then(|| HeaderValue::from_str(&format!("max-age={seconds}"))).transpose()?)
}
