//! Looking into a running instance: its log as a stream, a terminal over a WebSocket.

mod log;
mod terminal;

use std::sync::Arc;

use api::Problem;
use ids::{InstanceId, TenantId};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::AppState,
    cluster::{Cluster, PodRef},
    error::Error,
    instance,
};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(log::get_instance_log))
        .routes(routes!(terminal::open_instance_terminal))
}

/// The pod of a tenant's instance, with its cluster.
async fn pod(app: &AppState, tenant: TenantId, id: InstanceId) -> Result<(Arc<Cluster>, PodRef), Problem> {
    let mut tx = app.db.tenant(tenant).await?;
    let found = instance::store::find(&mut tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    drop(tx);
    let claim = found.state.claim().ok_or(Error::NothingRuns)?;
    let cluster = app.clusters.get(&claim.cluster).ok_or(Error::NothingRuns)?;
    let pod = cluster.pod(&claim.unit_name, id).ok_or(Error::NothingRuns)?;
    Ok((Arc::clone(cluster), pod))
}
