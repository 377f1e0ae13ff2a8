//! Bodies of requests to the API. They are small, and read before they are forwarded: a malformed, slow or
//! too large body affects only its sender, and never breaks a connection to a service that others share.

use std::time::Duration;

use api::{Problem, ProblemType};
use axum::{
    body::{Body, Bytes, HttpBody, to_bytes},
    http::{header, request::Parts},
};
use futures::StreamExt;
use http_body_util::LengthLimitError;
use tokio::time::timeout;

use crate::limits::Limits;

/// Maximum number of bytes of a too large body that are read and discarded, so that its sender gets the
/// response instead of a broken connection; and how long that may take.
const MOST_DISCARDED: usize = 8 * 1024 * 1024;
const DISCARDING: Duration = Duration::from_secs(1);

/// Returns the whole body.
///
/// # Errors
/// If it is too large, too slow, or cannot be read.
pub(super) async fn read(parts: &Parts, body: Body, limits: &Limits) -> Result<Bytes, Problem> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    let limit = limits.body_bytes;
    let declared =
        parts.headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if declared.is_some_and(|declared: usize| declared > limit) {
        // a client with `Expect` does not send it yet
        if !parts.headers.contains_key(header::EXPECT) {
            discard(body).await;
        }
        return Err(too_large(limit));
    }
    let read = timeout(Duration::from_secs(limits.body_seconds.into()), to_bytes(body, limit));
    match read.await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) if is_too_large(&error) => Err(too_large(limit)),
        Ok(Err(_)) => Err(Problem::bad_request("The request body cannot be read.")),
        Err(_) => {
            Err(Problem::new(ProblemType::BodyTooSlow, "The request body did not arrive completely in time."))
        }
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(ProblemType::BodyTooLarge, format!("The request body is larger than {limit} bytes."))
}

async fn discard(body: Body) {
    let rest = async {
        let (mut parts, mut read) = (body.into_data_stream(), 0);
        while let Some(Ok(part)) = parts.next().await {
            read += part.len();
            if read > MOST_DISCARDED {
                break;
            }
        }
    };
    // a slower client loses its connection
    let _ = timeout(DISCARDING, rest).await;
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
