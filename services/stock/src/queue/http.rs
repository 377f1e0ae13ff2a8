//! `/internal/v1/queue`, `/internal/v1/queue-grants` and `/internal/v1/quotes`, for the gpu service. Instances enter
//! and leave the queue with their claims ([`crate::claim`]).

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, OnBehalf, Role};
use axum::extract::State;
use feed::{Changes, FeedQuery};
use ids::{DatacenterId, GpuSpecId, InstanceId};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    model::{Grant, QueueEntry, Quote},
    report_store,
};
use crate::AppState;

/// Instances in a request, at most: a page of the gpu service.
const MAX_INSTANCES: usize = 200;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_queue_entries))
        .routes(routes!(list_queue_grants))
        .routes(routes!(get_quote))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EntriesQuery {
    /// Ids of instances, at most 200, with commas between them.
    instance_ids: String,
}

/// The entries of instances that wait.
#[derive(Debug, Serialize, ToSchema)]
struct QueueEntries {
    /// Instances that do not wait are missing.
    items: Vec<QueueEntry>,
}

/// Returns what instances wait for, with their places in the queue. In the request of a user, only those of the user's
/// tenant; of all tenants for administrators.
#[utoipa::path(get, path = "/internal/v1/queue", operation_id = "list_queue_entries", tag = "internal",
    params(EntriesQuery),
    responses((status = 200, description = "The entries", body = QueueEntries)))]
async fn list_queue_entries(
    State(state): State<AppState>,
    caller: Caller,
    Query(query): Query<EntriesQuery>,
) -> Result<Json<QueueEntries>, Problem> {
    let ids: Result<Vec<InstanceId>, _> = query.instance_ids.split(',').map(str::parse).collect();
    let ids = ids
        .ok()
        .filter(|ids| ids.len() <= MAX_INSTANCES)
        .ok_or_else(|| Problem::invalid_field("instance_ids", "must be 1 to 200 ids of instances"))?;
    let tenant = match &caller.subject {
        Some(user) if !user.admin => Some(user.tenant_as(Role::Viewer)?),
        _ => None,
    };
    let mut tx = state.db.worker().await?;
    Ok(Json(QueueEntries { items: report_store::entries(&mut tx, &ids, tenant).await? }))
}

/// Returns the grants of the last day after a cursor, and waits for the next if there are none.
#[utoipa::path(get, path = "/internal/v1/queue-grants", operation_id = "list_queue_grants", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The grants", body = Changes<Grant>)))]
async fn list_queue_grants(
    State(state): State<AppState>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<Changes<Grant>>, Problem> {
    let (after, wait) = query.read(state.shutdown.clone())?;
    Ok(Json(state.grants.changes(&after, &wait).await?))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct QuoteQuery {
    /// Specification of the unit.
    gpu_spec_id: GpuSpecId,
    /// Only units in this datacenter; in any if absent.
    datacenter_id: Option<DatacenterId>,
}

/// Returns what a claim of the user would get now. Nothing is reserved.
#[utoipa::path(get, path = "/internal/v1/quotes", operation_id = "get_quote", tag = "internal",
    params(QuoteQuery),
    responses((status = 200, description = "The quote", body = Quote)))]
async fn get_quote(
    State(state): State<AppState>,
    _: OnBehalf,
    Query(query): Query<QuoteQuery>,
) -> Result<Json<Quote>, Problem> {
    let mut tx = state.db.worker().await?;
    Ok(Json(report_store::quote(&mut tx, (query.gpu_spec_id, query.datacenter_id)).await?))
}
