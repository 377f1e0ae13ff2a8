//! `x-request-id`: one id for a request on every hop, in every log line and response.

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use uuid::Uuid;

/// The header.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

tokio::task_local! {
    static CURRENT: HeaderValue;
}

/// The id of the request that the running task serves, for calls to other services made on its behalf.
#[must_use]
pub fn current() -> Option<HeaderValue> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Middleware: keeps the caller's id if it is valid, otherwise generates one, and sets it on the request, the task and
/// the response.
pub async fn layer(request: Request, next: Next) -> Response {
    with_id(request, |request| next.run(request)).await
}

/// Carries out [`layer`] around `answer`.
pub async fn with_id<F>(mut request: Request, answer: impl FnOnce(Request) -> F) -> Response
where
    F: Future<Output = Response>,
{
    let given = request.headers().get(&HEADER).filter(|value| {
        let bytes = value.as_bytes();
        (8..=64).contains(&bytes.len())
            && bytes.iter().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(b))
    });
    let id = given.cloned().unwrap_or_else(|| {
        let mut buffer = Uuid::encode_buffer();
        let text: &str = Uuid::now_v7().simple().encode_lower(&mut buffer);
        HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("unknown"))
    });
    request.headers_mut().insert(HEADER, id.clone());
    let mut response = CURRENT.scope(id.clone(), answer(request)).await;
    response.headers_mut().insert(HEADER, id);
    response
}
