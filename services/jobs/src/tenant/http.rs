//! `/internal/v1/tenants`, for the identity service.

use api::{Json, Path, Problem, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::TenantId;
use records::{job, pool, share};
use tenants::{TenantOrder, TenantProgress, TenantState};
use utoipa_axum::routes;

use super::{
    Parts,
    erase::{self, Left},
};

/// Maximum number of jobs that one call cancels.
const BATCH: i64 = 200;
/// Maximum number of jobs that one call deletes, with what belongs to them.
const DELETED: i64 = 2_000;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Applies the state of a tenant. Unless it is active, no jobs are accepted, and existing jobs wait. When it is
/// deleted, its open jobs are cancelled, and together with its storages all its data in this service is deleted, except
/// the audit log and the usage records. Repeat the call until `done`.
#[utoipa::path(
    put, path = "/internal/v1/tenants/{id}", operation_id = "put_tenant", tag = "internal",
    params(("id" = TenantId, Path, description = "Tenant id")),
    request_body = TenantOrder,
    responses((status = 200, description = "Progress of this service", body = TenantProgress)),
)]
async fn put_tenant(
    State(parts): State<Parts>,
    _: Caller,
    audit: audit::Request,
    Path(id): Path<TenantId>,
    Json(order): Json<TenantOrder>,
) -> Result<Json<TenantProgress>, Problem> {
    // the call comes from a service
    let mut tx = parts.db.worker().await?;
    let (order, is_new) = tenants::record(&mut tx, id, &order).await?;
    let mut left = Left::default();
    if order.state == TenantState::Deleting {
        submission::cancel_open(&mut tx, id, BATCH).await?;
        left.jobs = job::count_open(&mut tx, id, u32::MAX).await?.into();
        // until then the deletion can be cancelled
        if order.delete_storages {
            webhook::delete_of_tenant(&mut tx, id).await?;
            share::delete_of_tenant(&mut tx, id).await?;
            erase::end_fleets(&mut tx, id).await?;
            let closes = parts.closes_connections;
            left = erase::erase(&mut tx, id, DELETED, closes).await?;
        }
    }
    if is_new {
        pool::publish_to_all(&mut tx, &pool::Changed::Tenant(id)).await?;
        audit.record_for(&mut tx, id, StatusCode::OK, &order).await?;
    }
    tx.commit().await?;
    parts.submitted.send_replace(());
    if order.state != TenantState::Active {
        parts.broker.credentials_ended();
    }
    let Left { jobs, outputs, uploads, mq_credentials } = left;
    Ok(Json(TenantProgress::of([
        ("jobs", jobs),
        ("outputs", outputs),
        ("uploads", uploads),
        ("mq_credentials", mq_credentials),
    ])))
}
