//! Access to a running instance: its log as a stream, a terminal over a WebSocket.

pub(crate) mod limit;
mod log;
mod terminal;

use std::sync::Arc;

use api::Problem;
use ids::{InstanceId, TenantId};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    cluster::{Cluster, PodRef},
    error::Error,
    instance,
    state::AppState,
};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(log::get_instance_log))
        .routes(routes!(terminal::open_instance_terminal))
}

/// The pod of an instance, and the cluster that it is in.
struct Container {
    cluster: Arc<Cluster>,
    pod: PodRef,
}

/// Finds the container of a tenant's running instance.
async fn container(app: &AppState, tenant: TenantId, id: InstanceId) -> Result<Container, Problem> {
    let mut tx = app.db.tenant(tenant).await?;
    let found = instance::store::find(&mut tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    let unit = found.state.unit().ok_or(Error::NotRunning)?;
    let cluster = app.clusters.get(&unit.cluster).ok_or(Error::NotRunning)?;
    let pod = cluster.pod(&unit.name, id).ok_or(Error::NotRunning)?;
    Ok(Container { cluster: Arc::clone(cluster), pod })
}
