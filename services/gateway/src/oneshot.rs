//! Requests to a router that is called as a function.

use std::convert::Infallible;

use axum::{Router, extract::Request, response::Response};
use tower::ServiceExt;

/// Answers a request by a router.
pub(crate) async fn oneshot(routes: Router, request: Request) -> Response {
    let response: Result<Response, Infallible> = Box::pin(routes.oneshot(request)).await;
    response.unwrap_or_else(|never| match never {})
}
