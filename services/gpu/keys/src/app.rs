//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use db::Db;

use crate::{instance_keys, user_keys};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// The database.
    pub db: Db,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of keys.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().merge(user_keys::routes()).merge(instance_keys::routes())
}
