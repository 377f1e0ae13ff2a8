//! `/internal/v1/queue`, `/internal/v1/queue-grants` and `/internal/v1/quotes`, for the gpu service. Instances enter
//! and leave the queue with their claims (`claim/http.rs`).

use api::{Json, Problem, Query, openapi::OpenApiRouter};
use auth::{Caller, HasAuth, OnBehalf, Role};
use axum::extract::{FromRef, State};
use db::Db;
use feed::{Changes, Feed, FeedQuery};
use ids::{DatacenterId, GpuSpecId, InstanceId};
use serde::Deserialize;
use stock_api::{Grant, QueueEntries, Quote};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::report_store;

/// Maximum number of instances in a request: a page of the gpu service.
const MAX_INSTANCES: usize = 200;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    CancellationToken: FromRef<S>,
    Db: FromRef<S>,
    Feed: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_queue_entries))
        .routes(routes!(list_queue_grants))
        .routes(routes!(get_quote))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EntriesQuery {
    /// Ids of instances, at most 200, separated by commas.
    instance_ids: String,
}

/// Returns the queue entries of instances. For a user, only entries of the user's tenant; for administrators, of all
/// tenants.
#[utoipa::path(get, path = "/internal/v1/queue", operation_id = "list_queue_entries", tag = "internal",
    params(EntriesQuery),
    responses((status = 200, description = "The entries", body = QueueEntries)))]
async fn list_queue_entries(
    State(db): State<Db>,
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
    let mut tx = db.worker().await?;
    Ok(Json(QueueEntries { items: report_store::entries(&mut tx, &ids, tenant).await? }))
}

/// Returns the grants of the last day after a cursor, and waits for the next if there are none.
#[utoipa::path(get, path = "/internal/v1/queue-grants", operation_id = "list_queue_grants", tag = "internal",
    params(FeedQuery),
    responses((status = 200, description = "The grants", body = Changes<Grant>)))]
async fn list_queue_grants(
    State(grants): State<Feed>,
    State(stop): State<CancellationToken>,
    _: Caller,
    Query(query): Query<FeedQuery>,
) -> Result<Json<Changes<Grant>>, Problem> {
    let (after, wait) = query.read(stop)?;
    Ok(Json(grants.changes(&after, &wait).await?))
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
    State(db): State<Db>,
    _: OnBehalf,
    Query(query): Query<QuoteQuery>,
) -> Result<Json<Quote>, Problem> {
    let mut tx = db.worker().await?;
    Ok(Json(report_store::quote(&mut tx, (query.gpu_spec_id, query.datacenter_id)).await?))
}
