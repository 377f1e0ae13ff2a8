//! The wiring: what the routes of this crate need.

use api::openapi::OpenApiRouter;
use auth::{AuthState, HasAuth};
use axum::extract::FromRef;
use db::Db;
use feed::Feed;
use tokio_util::sync::CancellationToken;

use crate::{access, clock::Clock, membership, revocation, session, tenant};

/// What the routes need; each slice takes its part.
#[derive(Clone, FromRef)]
pub struct State {
    pub auth: AuthState,
    pub clock: Clock,
    pub db: Db,
    pub revocations: Feed,
    pub sessions: session::Sessions,
    /// Cancelled when shutdown begins; ends waiting requests.
    pub stop: CancellationToken,
}

impl HasAuth for State {
    fn auth(&self) -> &AuthState {
        &self.auth
    }
}

/// Returns the routes of sessions, rights, tenants, members and revocations.
#[must_use]
pub fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new()
        .merge(session::routes())
        .merge(access::routes())
        .merge(tenant::routes())
        .merge(membership::routes())
        .merge(revocation::routes())
}
