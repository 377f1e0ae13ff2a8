//! Attachments over HTTP, for the gpu service. Both calls state the desired result, so they can be repeated without
//! an Idempotency-Key.

use api::{Json, Path, Problem, ProblemType, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{InstanceId, StorageId};
use storage_api::{AttachRequest, Attachment};
use utoipa_axum::routes;

use super::store;
use crate::storage;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(put_attachment, delete_attachment))
}

/// Attaches a storage to an instance. An attached storage cannot be deleted.
#[utoipa::path(
    put, path = "/internal/v1/storages/{id}/attachments/{instance_id}", operation_id = "put_attachment",
    tag = "internal",
    params(
        ("id" = StorageId, Path, description = "Storage id"),
        ("instance_id" = InstanceId, Path, description = "Instance id"),
    ),
    request_body = AttachRequest,
    responses((status = 200, description = "The object behind the storage", body = Attachment)),
    extensions(("x-problems" = json!([ProblemType::StorageNotAvailable])))
)]
async fn put_attachment(
    State(db): State<Db>,
    caller: Caller,
    audit: audit::Request,
    Path((id, instance)): Path<(StorageId, InstanceId)>,
    Json(request): Json<AttachRequest>,
) -> Result<Json<Attachment>, Problem> {
    caller.acts_for(request.tenant_id)?;
    let mut tx = db.tenant(request.tenant_id).await?;
    let storage = storage::lock(&mut tx, request.tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    storage.check_attachable()?;
    if store::put(&mut tx, request.tenant_id, id, instance, request.mode).await? {
        audit.record(&mut tx, StatusCode::OK, None, &request).await?;
    }
    tx.commit().await?;
    let object_name = storage.object_name();
    let cluster = storage.place.map(|place| place.cluster);
    Ok(Json(Attachment { kind: storage.kind, cluster, object_name }))
}

/// Detaches a storage from an instance.
#[utoipa::path(
    delete, path = "/internal/v1/storages/{id}/attachments/{instance_id}",
    operation_id = "delete_attachment", tag = "internal",
    params(
        ("id" = StorageId, Path, description = "Storage id"),
        ("instance_id" = InstanceId, Path, description = "Instance id"),
    ),
    responses((status = 204, description = "The storage is not attached to the instance"))
)]
async fn delete_attachment(
    State(db): State<Db>,
    caller: Caller,
    audit: audit::Request,
    Path((id, instance)): Path<(StorageId, InstanceId)>,
) -> Result<StatusCode, Problem> {
    // the call names no tenant
    let mut tx = db.worker().await?;
    if let Some(tenant) = store::delete(&mut tx, id, instance).await?
        && caller.acts_for(tenant).is_ok()
    {
        audit.record_for(&mut tx, tenant, StatusCode::NO_CONTENT, &()).await?;
        tx.commit().await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
