//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;

use crate::occupancy;

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// What requests about the occupancy of pools need.
    pub occupancy: occupancy::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of the capacity of pools and of shares.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    occupancy::routes()
}
