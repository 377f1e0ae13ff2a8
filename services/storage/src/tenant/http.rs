//! `/internal/v1/tenants`, for the identity service.

use std::collections::BTreeMap;

use api::{Json, Path, Problem, audit, openapi::OpenApiRouter};
use auth::Caller;
use axum::{extract::State, http::StatusCode};
use ids::TenantId;
use utoipa_axum::routes;

use super::{
    access, erase,
    model::{TenantFate, TenantOrder, TenantProgress},
    store,
};
use crate::{error::Error, state::AppState, storage};

/// Storages that one call marks for deletion, at most.
const BATCH: i64 = 200;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Carries out the state of a tenant: unless it is active, nothing is created and its access keys open nothing; when it
/// is deleted, so are its storages, once no instance uses them, and then what else the service has of it, except the audit log.
/// Repeat the call until it is done.
#[utoipa::path(
    put, path = "/internal/v1/tenants/{id}", operation_id = "put_tenant", tag = "internal",
    params(("id" = TenantId, Path, description = "Tenant id")),
    request_body = TenantOrder,
    responses((status = 200, description = "How far this service is", body = TenantProgress)),
)]
async fn put_tenant(
    State(state): State<AppState>,
    _: Caller,
    audit: audit::Request,
    Path(id): Path<TenantId>,
    Json(order): Json<TenantOrder>,
) -> Result<Json<TenantProgress>, Problem> {
    // the call comes from a service
    let mut tx = state.db.worker().await?;
    let (order, is_new) = store::record(&mut tx, id, &order).await?;
    let is_deleting = order.state == TenantFate::Deleting;
    if is_deleting && order.delete_storages {
        storage::delete_unused(&mut tx, id, BATCH).await?;
    }
    let storages = if is_deleting { storage::count(&mut tx, id).await? } else { 0 };
    if is_deleting && order.delete_storages && storages == 0 {
        erase::erase(&mut tx, id).await?;
    }
    if is_new {
        audit.record_for(&mut tx, id, StatusCode::OK, &order).await?;
    }
    tx.commit().await?;
    access::apply::<Error>(&state, id).await?;
    let remaining: BTreeMap<_, _> = (storages > 0).then_some(("storages", storages)).into_iter().collect();
    Ok(Json(TenantProgress { done: remaining.is_empty(), remaining }))
}
