//! Terminals over WebSockets: a command with a terminal in the container of a running instance.
//!
//! - `http`: the request; `session`: a terminal, also while its client is disconnected; `replay`: its output
//!   for a client that reconnects.

mod config;
mod http;
mod replay;
mod session;

use std::sync::Arc;

use activity::Tracker;
use api::{Problem, openapi::OpenApiRouter};
use auth::HasAuth;
use axum::extract::FromRef;
use clusters::Clusters;
use db::Db;
use gpu_core::instance::Refusal;
use ids::{InstanceId, TenantId};
use jiff::Timestamp;
use utoipa_axum::routes;

use instances::{
    instance::{self, Container, container_of},
    streams::TenantStreams,
};

pub use config::TerminalConfig;
pub use session::Sessions;

/// What requests need.
#[derive(Clone)]
pub struct Parts {
    pub db: Db,
    pub clusters: Clusters,
    pub config: Arc<TerminalConfig>,
    pub streams: TenantStreams,
    pub activity: Tracker,
    pub sessions: Sessions,
    pub clock: fn() -> Timestamp,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(http::open_instance_terminal))
}

/// Finds the container of a tenant's running instance. One that a service manages has secrets of the service.
async fn container(app: &Parts, tenant: TenantId, id: InstanceId) -> Result<Container, Problem> {
    let mut tx = app.db.tenant(tenant).await?;
    let found = instance::store::find(&mut tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    if let Some(service) = found.managed_by {
        return Err(instance::Error::Refused(Refusal::Managed(service)).into());
    }
    Ok(container_of(&app.clusters, &found).ok_or(instance::Error::NotRunning)?)
}
