//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use clusters::Clusters;

use crate::{isolation, order, registry_credential};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// The clusters.
    pub clusters: Clusters,
    /// What orders need.
    pub order: order::Parts,
    /// What registry credentials need.
    pub registry_credential: registry_credential::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of orders, of isolation and of registry credentials.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .merge(order::routes())
        .merge(isolation::routes())
        .merge(registry_credential::routes())
}
