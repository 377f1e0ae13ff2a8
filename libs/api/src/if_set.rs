//! Settings that may be absent, for example the limits of one tenant.

use axum::{
    http::StatusCode,
    response::{IntoResponse, Response},
};

/// A setting, or 204 if it is not set. Not 404, which browsers log as an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IfSet<T>(pub Option<T>);

impl<T: IntoResponse> IntoResponse for IfSet<T> {
    fn into_response(self) -> Response {
        self.0.map_or_else(|| StatusCode::NO_CONTENT.into_response(), IntoResponse::into_response)
    }
}
