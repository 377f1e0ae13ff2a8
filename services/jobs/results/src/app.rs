//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::{Router, extract::FromRef};
use db::Db;

use crate::{artifact, deployment, model, upload};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// The database.
    pub db: Db,
    /// The files of tenants.
    pub artifact: artifact::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of results, uploads, models and deployments.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .merge(artifact::routes())
        .merge(upload::routes())
        .merge(model::routes())
        .merge(deployment::routes())
}

/// Returns the routes with which workers upload.
pub fn worker_routes() -> Router<State> {
    artifact::worker_routes()
}
