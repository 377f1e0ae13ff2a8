//! The query of a request.

use axum::http::request::Parts;

/// The value of a parameter of the query.
pub(super) fn parameter(request: &Parts, wanted: &str) -> Option<String> {
    url::form_urlencoded::parse(request.uri.query().unwrap_or_default().as_bytes())
        .find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
}
