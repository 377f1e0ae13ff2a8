//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use db::Db;

use crate::{catalogue, event, operation};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// The database.
    pub db: Db,
    /// What the catalogue needs.
    pub catalogue: catalogue::Parts,
    /// What the log of events needs.
    pub event: event::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of the catalogue, of events and of operations.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().merge(catalogue::routes()).merge(event::routes()).merge(operation::routes())
}
