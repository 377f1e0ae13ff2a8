//! Streams of server-sent events: where a client continues.

use std::convert::Infallible;

use axum::{extract::FromRequestParts, http::request::Parts};

/// `id` of the last event that the client got from an earlier stream (`Last-Event-ID`); none if it got none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LastEventId(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let value = parts.headers.get("last-event-id");
        // a value that is not text is not an id: the service refuses it
        let id = value.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        Ok(Self(id.filter(|id| !id.is_empty())))
    }
}
