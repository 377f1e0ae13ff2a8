//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use db::Db;

use crate::{budget, quota, used};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// The database.
    pub db: Db,
    /// What budgets need.
    pub budget: budget::Parts,
    /// What the reports of usage need.
    pub used: used::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of usage, quotas and budgets.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().merge(budget::routes()).merge(quota::routes()).merge(used::routes())
}
