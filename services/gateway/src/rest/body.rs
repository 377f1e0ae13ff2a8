//! Bodies of requests to the API. They are small, and read before they are forwarded: a body that is malformed, slow or
//! too large is the fault of its sender alone, and never breaks a connection to a service that others share.

use std::time::Duration;

use axum::{
    body::{Body, Bytes, to_bytes},
    http::{header, request::Parts},
};
use http_body_util::LengthLimitError;
use tokio::time::timeout;

use crate::{config::Limits, error::Error};

/// Returns the whole body.
///
/// # Errors
/// If it is too large, too slow, or cannot be read.
pub(super) async fn read(parts: &Parts, body: Body, limits: &Limits) -> Result<Bytes, Error> {
    let limit = limits.body_bytes;
    let declared =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_some_and(|declared: usize| declared > limit) {
        return Err(Error::BodyTooLarge { limit });
    }
    let read = timeout(Duration::from_secs(limits.body_seconds.into()), to_bytes(body, limit));
    match read.await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if is_too_large(&error) => Err(Error::BodyTooLarge { limit }),
        Ok(Err(error)) => Err(Error::BodyMalformed(error)),
        Err(_) => Err(Error::BodyTooSlow),
    }
}

fn is_too_large(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return true;
        }
        cause = error.source();
    }
    false
}
