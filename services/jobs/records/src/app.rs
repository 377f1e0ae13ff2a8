//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use db::Db;

use crate::{base_model, cost, event, pool, share, worker};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    /// The verifiers of tokens.
    pub auth: AuthState,
    /// The database.
    pub db: Db,
    /// What reports of costs and their feed need.
    pub cost: cost::Parts,
    /// What lists and streams of events need.
    pub event: event::Parts,
    /// What requests of pools need.
    pub pool: pool::Parts,
    /// What requests of shares need.
    pub share: share::Parts,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of costs, pools, workers, base models, shares and events.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .merge(event::routes())
        .merge(event::feed_routes())
        .merge(cost::routes())
        .merge(base_model::routes())
        .merge(pool::routes())
        .merge(share::routes())
        .merge(worker::routes())
}
