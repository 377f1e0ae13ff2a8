//! `/internal/v1/instances`, for the service that manages them.

use api::{Json, Path, Problem, ProblemType, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::extract::{FromRef, State};
use gpu_api::ManagedChange;
use gpu_core::{catalogue::Author, event::By, instance::Instance};
use http::StatusCode;
use ids::InstanceId;
use instances::instance::{Error, end, store as instance_store};
use sqlx::PgConnection;
use stock_api::ClaimPatch;
use utoipa_axum::routes;

use super::{
    super::{
        create::NewInstance,
        references::{References, find_datacenter_for_service, find_gpu_spec},
    },
    model::{ManagedOrder, ManagedView},
    store,
};
use crate::{isolation, order::Parts};

pub(in crate::order) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(
        put_managed_instance,
        get_managed_instance,
        update_managed_instance,
        delete_managed_instance
    ))
}

/// Creates an instance and starts it, within the limits of its tenant. Repeatable: the same order with the same id returns the
/// instance that it created, until that is deleted.
#[utoipa::path(
    put, path = "/internal/v1/instances/{id}", operation_id = "put_managed_instance", tag = "internal",
    params(("id" = InstanceId, Path, description = "Instance id, chosen by the caller")),
    request_body = ManagedOrder,
    responses(
        (status = 201, description = "Created", body = ManagedView),
        (status = 200, description = "The same order created this instance before", body = ManagedView),
    ),
    extensions(("x-problems" = json!([
        ProblemType::InvalidField, ProblemType::InstanceExists, ProblemType::NotFound, ProblemType::TenantSuspended,
        ProblemType::QuotaExceeded, ProblemType::CostLimitExceeded, ProblemType::BudgetExhausted,
        ProblemType::AllowanceExpired
    ]))),
)]
async fn put_managed_instance(
    State(app): State<Parts>,
    caller: Caller,
    audit: audit::Request,
    Path(id): Path<InstanceId>,
    Json(order): Json<ManagedOrder>,
) -> Result<(StatusCode, Json<ManagedView>), Problem> {
    let hash = order.hash(&app.cipher)?;
    // of any tenant
    let mut tx = app.db.worker().await?;
    if let Some(created) = find_created(&mut tx, id, &hash).await? {
        return Ok((StatusCode::OK, Json(created)));
    }
    drop(tx);
    order.check()?;
    let owner = order.owner(id, &caller.name);
    let new = order.into_new_instance();
    new.check(app.config.idle, Author::Platform)?;
    let references = find_references(&app, &new).await?;
    let mut tx = app.db.tenant(owner.tenant).await?;
    store::lock_order(&mut tx, id).await?;
    if let Some(created) = find_created(&mut tx, id, &hash).await? {
        return Ok((StatusCode::OK, Json(created)));
    }
    let by = By::service(&caller.name, None);
    let instance = new.insert(&mut tx, (&owner, &by), &references, (app.admission(), &app.cipher)).await?;
    store::set_request_hash(&mut tx, id, &hash).await?;
    let created = ManagedView::from(&instance);
    audit.record(&mut tx, StatusCode::CREATED, None, &new).await?;
    tx.commit().await?;
    Ok((StatusCode::CREATED, Json(created)))
}

/// Returns the instance that this order created, if it did.
async fn find_created(
    tx: &mut PgConnection,
    id: InstanceId,
    hash: &[u8],
) -> Result<Option<ManagedView>, Problem> {
    let Some(found) = instance_store::read(tx, id).await? else { return Ok(None) };
    if store::request_hash(tx, id).await?.as_deref() != Some(hash) {
        return Err(Error::Exists.into());
    }
    if found.is_deleted() {
        return Err(Problem::not_found());
    }
    Ok(Some(ManagedView::from(&found)))
}

/// Returns what the order refers to in the stock service.
async fn find_references(app: &Parts, new: &NewInstance) -> Result<References, Problem> {
    let spec = find_gpu_spec(app, None, &new.gpu_spec).await?;
    let datacenter = match &new.datacenter {
        Some(datacenter) => Some(find_datacenter_for_service(app, datacenter).await?),
        None => None,
    };
    let not_isolated =
        isolation::check(&app.clusters, datacenter.as_ref().map(|one| one.name.as_str())).err();
    Ok(References { spec, datacenter, new_storage: None, not_isolated })
}

/// Returns an instance that the caller manages, until it is deleted.
#[utoipa::path(
    get, path = "/internal/v1/instances/{id}", operation_id = "get_managed_instance", tag = "internal",
    params(("id" = InstanceId, Path, description = "Instance id")),
    responses((status = 200, description = "The instance", body = ManagedView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_managed_instance(
    State(app): State<Parts>,
    caller: Caller,
    Path(id): Path<InstanceId>,
) -> Result<Json<ManagedView>, Problem> {
    Ok(Json(ManagedView::from(&find_managed(&app, &caller, id).await?)))
}

async fn find_managed(app: &Parts, caller: &Caller, id: InstanceId) -> Result<Instance, Problem> {
    let mut tx = app.db.worker().await?;
    let found = instance_store::read(&mut tx, id).await?;
    let found = found.filter(|instance| !instance.is_deleted());
    found.filter(|instance| instance.managed_by.as_ref() == Some(&caller.name)).ok_or_else(Problem::not_found)
}

/// Changes the recall rank of an interruptible instance that has a unit.
#[utoipa::path(
    patch, path = "/internal/v1/instances/{id}", operation_id = "update_managed_instance", tag = "internal",
    params(("id" = InstanceId, Path, description = "Instance id")),
    request_body = ManagedChange,
    responses((status = 204, description = "Changed")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn update_managed_instance(
    State(app): State<Parts>,
    caller: Caller,
    Path(id): Path<InstanceId>,
    Json(change): Json<ManagedChange>,
) -> Result<StatusCode, Problem> {
    let found = find_managed(&app, &caller, id).await?;
    let claimed_at = found.state.claim().map(|claim| claim.claimed_at).ok_or_else(Problem::not_found)?;
    let patch = ClaimPatch { claimed_at, recall_rank: change.recall_rank };
    match app.stock.update_claim(id, &patch).await {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(error) if error.is_not_found() => Err(Problem::not_found()),
        Err(cause) => Err(cause.into_problem("The stock service")),
    }
}

/// Requests the deletion of an instance that the caller manages; it is stopped first. Repeatable; succeeds if it does not exist.
#[utoipa::path(
    delete, path = "/internal/v1/instances/{id}", operation_id = "delete_managed_instance", tag = "internal",
    params(("id" = InstanceId, Path, description = "Instance id")),
    responses((status = 204, description = "The instance is being deleted, or does not exist")),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn delete_managed_instance(
    State(app): State<Parts>,
    caller: Caller,
    audit: audit::Request,
    Path(id): Path<InstanceId>,
) -> Result<StatusCode, Problem> {
    let mut tx = app.db.worker().await?;
    let found = instance_store::lock_any(&mut tx, id).await?;
    let Some(mut instance) = found.filter(|instance| !instance.is_deleted()) else {
        return Ok(StatusCode::NO_CONTENT);
    };
    if instance.managed_by.as_ref() != Some(&caller.name) {
        return Err(Problem::not_found());
    }
    let before = instance.generation;
    end::delete(&mut tx, &mut instance, &By::service(&caller.name, None), (app.clock)()).await?;
    if instance.generation != before {
        audit.record_for(&mut tx, instance.tenant, StatusCode::NO_CONTENT, &()).await?;
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
