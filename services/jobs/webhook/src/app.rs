//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;

use crate::{Parts, http};

/// What the routes need.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// What requests need.
    pub webhook: Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of webhooks.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    http::routes()
}
