//! `/internal/v1/tenants`, for the identity service.

use std::collections::BTreeMap;

use api::{Json, Path, Problem, audit};
use auth::Caller;
use axum::{extract::State, http::StatusCode};
use ids::TenantId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{TenantFate, TenantOrder, TenantProgress},
    store,
};
use crate::{job, pool, share, state::AppState, webhook};

/// Jobs that one call cancels, at most.
const BATCH: i64 = 200;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Carries out the state of a tenant: unless it is active, no jobs are submitted, and those that there are wait; when it is deleted,
/// its open jobs are cancelled, and its webhooks and shares of pools are deleted with its storages. Repeat the call until it is done.
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
    let mut jobs = 0;
    if order.state == TenantFate::Deleting {
        job::cancel_open(&mut tx, id, BATCH).await?;
        jobs = job::count_open(&mut tx, id, u32::MAX).await?;
        // until then the deletion can be taken back
        if order.delete_storages {
            webhook::delete_of_tenant(&mut tx, id).await?;
            share::delete_of_tenant(&mut tx, id).await?;
        }
    }
    if is_new {
        pool::publish_to_all(&mut tx, &pool::Changed::Tenant(id)).await?;
        audit.record_for(&mut tx, id, StatusCode::OK, &order).await?;
    }
    tx.commit().await?;
    state.submitted.send_replace(());
    if order.state != TenantFate::Active {
        state.door.credentials_ended();
    }
    let remaining: BTreeMap<_, _> = (jobs > 0).then_some(("jobs", jobs.into())).into_iter().collect();
    Ok(Json(TenantProgress { done: remaining.is_empty(), remaining }))
}
