//! `/internal/v1/tenants`, for the identity service.

use api::{Json, Path, Problem, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use gpu_core::event::By;
use http::StatusCode;
use ids::TenantId;
use instances::instance;
use tenants::{TenantOrder, TenantProgress, TenantState};
use utoipa_axum::routes;

use super::{
    Parts, erase,
    model::{ends, unfinished},
};

/// Maximum number of instances that one call stops or deletes.
const BATCH: i64 = 200;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Applies the state of a tenant. While it is suspended, nothing is started. When it is deleted, its instances are
/// deleted, and together with its storages all its data in this service, except the audit log and the usage records,
/// which no longer contain names of instances. Repeat the call until `done`.
#[utoipa::path(
    put, path = "/internal/v1/tenants/{id}", operation_id = "put_tenant", tag = "internal",
    params(("id" = TenantId, Path, description = "Tenant id")),
    request_body = TenantOrder,
    responses((status = 200, description = "Progress of this service", body = TenantProgress)),
)]
async fn put_tenant(
    State(app): State<Parts>,
    caller: Caller,
    audit: audit::Request,
    Path(id): Path<TenantId>,
    Json(order): Json<TenantOrder>,
) -> Result<Json<TenantProgress>, Problem> {
    // the call comes from a service
    let mut tx = app.db.worker().await?;
    let (order, is_new) = tenants::record(&mut tx, id, &order).await?;
    let is_deleted = order.state == TenantState::Deleting;
    let now = (app.clock)();
    let mut ending = instance::store::lock_in(&mut tx, id, ends(&order), BATCH).await?;
    let ends_holds = order.state == TenantState::Suspended;
    let held = if ends_holds { instance::store::lock_held(&mut tx, id, BATCH).await? } else { Vec::new() };
    let held_remain = i64::from(held.len() == BATCH.unsigned_abs() as usize);
    ending.extend(held);
    for mut instance in ending {
        if is_deleted {
            let by = By::service(&caller.name, Some("The tenant is deleted."));
            instance::end::delete(&mut tx, &mut instance, &by, now).await?;
        } else {
            let by = By::service(&caller.name, None);
            instance::end::suspend(&mut tx, &mut instance, &by, now).await?;
        }
    }
    let remaining = held_remain + instance::store::count_in(&mut tx, id, unfinished(&order)).await?;
    if is_new {
        audit.record_for(&mut tx, id, StatusCode::OK, &order).await?;
    }
    tx.commit().await?;
    let erases = is_deleted && order.delete_storages && remaining == 0;
    let logs = if erases { erase_all(&app, id).await? } else { 0 };
    Ok(Json(TenantProgress::of([("instances", remaining), ("logs", logs)])))
}

/// Deletes all that is left of a tenant without instances. Returns how many logs are left.
async fn erase_all(app: &Parts, tenant: TenantId) -> Result<i64, Problem> {
    if let Some(archive) = &app.archive {
        let deleted = archive.delete_of_tenant(tenant, BATCH).await;
        deleted.map_err(|error| Problem::unavailable("The object store", error))?;
    }
    let mut tx = app.db.worker().await?;
    // objects that cannot be reached any more are not referenced
    let logs = erase::erase(&mut tx, tenant, app.archive.is_none()).await?;
    tx.commit().await?;
    Ok(logs)
}
