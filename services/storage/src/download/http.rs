//! `/internal/v1/storages/{id}/downloads`, for the jobs service. Both calls state the desired result, so they can be repeated
//! without an Idempotency-Key.

use api::{Json, Path, Problem, ProblemType, Query, audit, openapi::OpenApiRouter};
use auth::{Caller, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{DeploymentId, StorageId, TenantId};
use serde::Deserialize;
use storage_api::{DownloadRequest, StorageKind};
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    store,
    view::{DownloadView, check},
};
use crate::storage::{self, Phase};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(put_download, delete_download))
}

/// Downloads a file of a bucket to a volume, and returns the progress. Repeat the call to follow it. An id cannot be
/// used again for another file or path.
#[utoipa::path(
    put, path = "/internal/v1/storages/{id}/downloads/{download_id}", operation_id = "put_download",
    tag = "internal",
    params(
        ("id" = StorageId, Path, description = "Storage id of the volume"),
        ("download_id" = DeploymentId, Path, description = "Id chosen by the caller"),
    ),
    request_body = DownloadRequest,
    responses((status = 200, description = "The progress", body = DownloadView)),
    extensions(("x-problems" = json!([
        ProblemType::StorageNotAvailable, ProblemType::StorageDeleting, ProblemType::TenantSuspended,
    ])))
)]
async fn put_download(
    State(db): State<Db>,
    caller: Caller,
    audit: audit::Request,
    Path((id, download)): Path<(StorageId, DeploymentId)>,
    Json(request): Json<DownloadRequest>,
) -> Result<Json<DownloadView>, Problem> {
    let sha256 = check(&request)?;
    let tenant = request.tenant_id;
    caller.acts_for(tenant)?;
    let mut tx = db.tenant(tenant).await?;
    let storage = storage::lock(&mut tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
    if let Some(known) = store::find(&mut tx, tenant, id, download, &request, &sha256).await? {
        return Ok(Json(known));
    }
    tenants::check_active(&mut tx, tenant).await?;
    if storage.kind != StorageKind::Volume {
        return Err(Problem::invalid_field("/path", "a bucket has no files; it is read over S3"));
    }
    storage.check_changeable()?;
    if matches!(storage.phase, Phase::Failed(_)) {
        storage.check_usable()?;
    }
    if !store::insert(&mut tx, tenant, id, download, &request, &sha256).await? {
        return Err(Problem::invalid_field("", "the download was asked for with other content"));
    }
    storage::QUEUE.enqueue(&mut tx, &[id]).await?;
    let made = store::find(&mut tx, tenant, id, download, &request, &sha256)
        .await?
        .ok_or_else(Problem::not_found)?;
    audit.record(&mut tx, StatusCode::OK, None, &request).await?;
    tx.commit().await?;
    Ok(Json(made))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Owner {
    /// Owner of the volume. A download of another tenant is not found.
    tenant_id: TenantId,
}

/// Deletes a download. An unfinished one is cancelled; a file that is already on the volume stays.
#[utoipa::path(
    delete, path = "/internal/v1/storages/{id}/downloads/{download_id}", operation_id = "delete_download",
    tag = "internal",
    params(
        ("id" = StorageId, Path, description = "Storage id of the volume"),
        ("download_id" = DeploymentId, Path, description = "Id chosen by the caller"),
        Owner,
    ),
    responses((status = 204, description = "The download does not exist, or is being deleted")),
)]
async fn delete_download(
    State(db): State<Db>,
    caller: Caller,
    audit: audit::Request,
    Path((id, download)): Path<(StorageId, DeploymentId)>,
    Query(owner): Query<Owner>,
) -> Result<StatusCode, Problem> {
    caller.acts_for(owner.tenant_id)?;
    let mut tx = db.tenant(owner.tenant_id).await?;
    if store::mark_removing(&mut tx, owner.tenant_id, id, download).await? {
        storage::QUEUE.enqueue(&mut tx, &[id]).await?;
        audit.record(&mut tx, StatusCode::NO_CONTENT, None, &()).await?;
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
