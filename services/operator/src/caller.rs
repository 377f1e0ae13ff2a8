//! Who may call the Operator API: each service with a token. There are no users in a cluster, so nothing else is asked.

use api::Problem;
use auth::{Caller, Callers};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

/// A router state that holds the configured service tokens.
pub(crate) trait HasCallers: Clone + Send + Sync + 'static {
    /// Returns the service tokens.
    fn callers(&self) -> &Callers;
}

/// A caller with a service token.
pub(crate) struct ServiceCaller;

impl<S: HasCallers> FromRequestParts<S> for ServiceCaller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Caller::of(parts, state.callers()).map(|_| Self)
    }
}
