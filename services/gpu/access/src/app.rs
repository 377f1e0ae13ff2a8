//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;

use crate::{ssh, terminal};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// What terminals need.
    pub terminal: terminal::Parts,
    /// What SSH needs.
    pub ssh: ssh::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of terminals and of the SSH endpoint.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().merge(terminal::routes()).merge(ssh::routes())
}
