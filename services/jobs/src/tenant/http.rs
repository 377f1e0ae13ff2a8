//! `/internal/v1/tenants`, for the identity service.

use std::collections::BTreeMap;

use api::{Json, Path, Problem, audit, openapi::OpenApiRouter};
use auth::Caller;
use axum::{extract::State, http::StatusCode};
use ids::TenantId;
use utoipa_axum::routes;

use super::{
    erase::{self, Left},
    model::{TenantFate, TenantOrder, TenantProgress},
    store,
};
use crate::{job, pool, share, state::AppState, webhook};

/// Jobs that one call cancels, at most.
const BATCH: i64 = 200;
/// Jobs that one call deletes, at most, with what belongs to them.
const DELETED: i64 = 2_000;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Carries out the state of a tenant: unless it is active, no jobs are submitted, and those that there are wait; when it is deleted,
/// its open jobs are cancelled, and all that the service has of it is deleted with its storages, except the audit log and the
/// records of what was charged. Repeat the call until it is done.
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
    let mut left = Left::default();
    if order.state == TenantFate::Deleting {
        job::cancel_open(&mut tx, id, BATCH).await?;
        left.jobs = job::count_open(&mut tx, id, u32::MAX).await?.into();
        // until then the deletion can be taken back
        if order.delete_storages {
            webhook::delete_of_tenant(&mut tx, id).await?;
            share::delete_of_tenant(&mut tx, id).await?;
            erase::end_fleets(&mut tx, id).await?;
            let closes = state.config.mq.as_ref().is_some_and(|mq| mq.management_url.is_some());
            left = erase::erase(&mut tx, id, DELETED, closes).await?;
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
    let Left { jobs, outputs, uploads, mq_credentials } = left;
    let kinds =
        [("jobs", jobs), ("outputs", outputs), ("uploads", uploads), ("mq_credentials", mq_credentials)];
    let remaining: BTreeMap<_, _> = kinds.into_iter().filter(|(_, count)| *count > 0).collect();
    Ok(Json(TenantProgress { done: remaining.is_empty(), remaining }))
}
