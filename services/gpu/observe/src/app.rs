//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;

use crate::{idle, log, monitoring};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// What idle stops need.
    pub idle: idle::Parts,
    /// What logs need.
    pub log: log::Parts,
    /// What metrics need.
    pub monitoring: monitoring::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of logs, metrics and idle stops.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().merge(idle::routes()).merge(log::routes()).merge(monitoring::routes())
}
