//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::{Router, extract::FromRef};

use crate::{Parts, authorize, credential, dead};

/// What the routes need.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// What requests need.
    pub mq: Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of tenants and administrators.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().merge(credential::routes()).merge(dead::routes())
}

/// Returns the routes that the message broker calls.
pub fn broker_routes() -> Router<State> {
    authorize::routes()
}
