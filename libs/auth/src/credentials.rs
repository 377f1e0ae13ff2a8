//! The credentials that a request carries: an access token or a service token, and the access token of its subject.

use std::collections::HashMap;

use api::{Problem, subject};
use axum::http::{HeaderValue, header, request::Parts};
use secrecy::{ExposeSecret, SecretString};
use subtle::ConstantTimeEq;

/// Services that may call internal operations: name → token.
pub type Callers = HashMap<String, SecretString>;

/// Returns the token in `Authorization`.
pub(crate) fn bearer(parts: &Parts) -> Result<&str, Problem> {
    parts
        .headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        })
        .filter(|token| !token.is_empty())
        .ok_or_else(|| Problem::unauthenticated("The request carries no access token."))
}

/// Returns the name of the service that sends the request.
pub(crate) fn service_of(parts: &Parts, callers: &Callers) -> Result<String, Problem> {
    let token = bearer(parts)?;
    let mut found = None;
    // compares every configured token, so that the duration reveals nothing
    for (name, expected) in callers {
        if bool::from(expected.expose_secret().as_bytes().ct_eq(token.as_bytes())) {
            found = Some(name.clone());
        }
    }
    found.ok_or_else(|| Problem::unauthenticated("The service token is unknown."))
}

/// Returns the access token of the subject; none if the request has none.
pub(crate) fn subject_token(parts: &Parts) -> Result<Option<&str>, Problem> {
    let mut values = parts.headers.get_all(subject::HEADER).iter();
    match (values.next().map(HeaderValue::to_str), values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(token)), None) if !token.is_empty() => Ok(Some(token)),
        _ => Err(Problem::unauthenticated("The request names its user in an invalid way.")),
    }
}
