//! `/internal/v1/tenants`, for the identity service.

use api::{Json, Path, Problem, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::TenantId;
use tenants::{TenantOrder, TenantProgress, TenantState};
use utoipa_axum::routes;

use super::{access, erase};
use crate::{object_store::OptionalObjectStore, storage};

/// Maximum number of storages that one call marks for deletion.
const BATCH: i64 = 200;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    OptionalObjectStore: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Applies the state of a tenant. Unless it is active, nothing is created and its access keys do not work. When it is
/// deleted, its storages are deleted once no instance uses them, and then all its other data in this service, except
/// the audit log. Repeat the call until `done`.
#[utoipa::path(
    put, path = "/internal/v1/tenants/{id}", operation_id = "put_tenant", tag = "internal",
    params(("id" = TenantId, Path, description = "Tenant id")),
    request_body = TenantOrder,
    responses((status = 200, description = "Progress of this service", body = TenantProgress)),
)]
async fn put_tenant(
    State(db): State<Db>,
    State(objects): State<OptionalObjectStore>,
    _: Caller,
    audit: audit::Request,
    Path(id): Path<TenantId>,
    Json(order): Json<TenantOrder>,
) -> Result<Json<TenantProgress>, Problem> {
    // the call comes from a service
    let mut tx = db.worker().await?;
    let (order, is_new) = tenants::record(&mut tx, id, &order).await?;
    let is_deleting = order.state == TenantState::Deleting;
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
    if let Ok(objects) = objects.get() {
        access::apply::<Problem>(&db, objects, id).await?;
    }
    Ok(Json(TenantProgress::of([("storages", storages)])))
}
