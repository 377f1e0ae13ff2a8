//! `/internal/v1/tenants`, for the identity service.

use api::{Json, Path, Problem, audit, openapi::OpenApiRouter};
use auth::Caller;
use axum::extract::State;
use http::StatusCode;
use ids::TenantId;
use utoipa_axum::routes;

use super::{
    erase,
    model::{TenantFate, TenantOrder, TenantProgress},
    store,
};
use crate::{event::By, instance, state::AppState};

/// Instances that one call stops or deletes, at most.
const BATCH: i64 = 200;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(put_tenant))
}

/// Carries out the state of a tenant: while it is suspended, nothing is started; when it is deleted, so are its
/// instances, and with its storages all that the service has of it, except the audit log and the records of usage, in which
/// instances have no names any more. Repeat the call until it is done.
#[utoipa::path(
    put, path = "/internal/v1/tenants/{id}", operation_id = "put_tenant", tag = "internal",
    params(("id" = TenantId, Path, description = "Tenant id")),
    request_body = TenantOrder,
    responses((status = 200, description = "How far this service is", body = TenantProgress)),
)]
async fn put_tenant(
    State(app): State<AppState>,
    caller: Caller,
    audit: audit::Request,
    Path(id): Path<TenantId>,
    Json(order): Json<TenantOrder>,
) -> Result<Json<TenantProgress>, Problem> {
    // the call comes from a service
    let mut tx = app.db.worker().await?;
    let (order, is_new) = store::record(&mut tx, id, &order).await?;
    let is_deleted = order.state == TenantFate::Deleting;
    let now = (app.clock)();
    let mut ending = instance::store::lock_in(&mut tx, id, order.ends(), BATCH).await?;
    let ends_holds = order.state == TenantFate::Suspended;
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
    let remaining = held_remain + instance::store::count_in(&mut tx, id, order.unfinished()).await?;
    if is_new {
        audit.record_for(&mut tx, id, StatusCode::OK, &order).await?;
    }
    tx.commit().await?;
    let erases = is_deleted && order.delete_storages && remaining == 0;
    let logs = if erases { erase_all(&app, id).await? } else { 0 };
    Ok(Json(TenantProgress::of(remaining, logs)))
}

/// Deletes all that is left of a tenant without instances. Returns how many logs are left.
async fn erase_all(app: &AppState, tenant: TenantId) -> Result<i64, Problem> {
    if let Some(archive) = &app.log_archive {
        let deleted = archive.delete_of_tenant(tenant, BATCH).await;
        deleted.map_err(|error| Problem::unavailable("The object store", error))?;
    }
    let mut tx = app.db.worker().await?;
    // objects that cannot be reached any more are named by nothing
    let logs = erase::erase(&mut tx, tenant, app.log_archive.is_none()).await?;
    tx.commit().await?;
    Ok(logs)
}
