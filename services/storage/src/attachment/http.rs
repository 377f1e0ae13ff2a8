//! Attachments over HTTP, for the gpu service. Both calls may be repeated: they say what shall be, and
//! need no Idempotency-Key.

use api::{Json, Path, Problem, ProblemType};
use auth::Caller;
use axum::{extract::State, http::StatusCode};
use ids::{InstanceId, StorageId};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{AttachRequest, Attachment},
    store,
};
use crate::{app::App, storage};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(put_attachment, delete_attachment))
}

/// Keeps a storage for an instance: it cannot be deleted meanwhile.
#[utoipa::path(
    put, path = "/internal/v1/storages/{id}/attachments/{instance_id}", operation_id = "put_attachment",
    tag = "internal",
    params(
        ("id" = StorageId, Path, description = "The storage"),
        ("instance_id" = InstanceId, Path, description = "The instance"),
    ),
    request_body = AttachRequest,
    responses(
        (status = 200, description = "Where the storage is", body = Attachment),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn put_attachment(
    State(app): State<App>,
    _caller: Caller,
    Path((id, instance)): Path<(StorageId, InstanceId)>,
    Json(request): Json<AttachRequest>,
) -> Result<Json<Attachment>, Problem> {
    let mut tx = app.db.tenant(request.tenant_id).await?;
    let found = storage::lock(&mut tx, request.tenant_id, id).await?.ok_or_else(Problem::not_found)?;
    if !found.attachable() {
        return Err(Problem::new(
            ProblemType::StorageNotAvailable,
            format!("The storage is {}.", found.phase.state().as_str()),
        ));
    }
    store::put(&mut tx, request.tenant_id, id, instance, request.mode).await?;
    tx.commit().await?;
    Ok(Json(Attachment { kind: found.kind, object_name: found.object_name(), cluster: found.cluster }))
}

/// Lets go of a storage.
#[utoipa::path(
    delete, path = "/internal/v1/storages/{id}/attachments/{instance_id}",
    operation_id = "delete_attachment", tag = "internal",
    params(
        ("id" = StorageId, Path, description = "The storage"),
        ("instance_id" = InstanceId, Path, description = "The instance"),
    ),
    responses(
        (status = 204, description = "The instance has no hold on it (any more)"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn delete_attachment(
    State(app): State<App>,
    _caller: Caller,
    Path((id, instance)): Path<(StorageId, InstanceId)>,
) -> Result<StatusCode, Problem> {
    // the call names no tenant, and the caller is a service
    let mut tx = app.db.worker().await?;
    store::remove(&mut tx, id, instance).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
