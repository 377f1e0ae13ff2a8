//! Access to a running instance: a terminal over a WebSocket.

pub(crate) mod terminal;

use std::sync::Arc;

use api::{Problem, openapi::OpenApiRouter};
use ids::{InstanceId, TenantId};
use utoipa_axum::routes;

use crate::{
    cluster::{Cluster, PodRef},
    error::Error,
    instance::{self, Instance},
    state::AppState,
};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(terminal::open_instance_terminal))
}

/// The pod of an instance, and the cluster that it is in.
pub(crate) struct Container {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) pod: PodRef,
}

/// Finds the container of a tenant's running instance. One that a service manages has secrets of the service.
async fn container(app: &AppState, tenant: TenantId, id: InstanceId) -> Result<Container, Problem> {
    let mut tx = app.db.tenant(tenant).await?;
    let found = instance::store::find(&mut tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    if let Some(service) = found.managed_by {
        return Err(Error::Managed(service).into());
    }
    Ok(container_of(app, &found).ok_or(Error::NotRunning)?)
}

/// Returns the container that an instance has now.
pub(crate) fn container_of(app: &AppState, instance: &Instance) -> Option<Container> {
    let unit = instance.state.unit()?;
    let cluster = app.clusters.get(&unit.cluster)?;
    let pod = cluster.pod(&unit.name, instance.id)?;
    Some(Container { cluster: Arc::clone(cluster), pod })
}
