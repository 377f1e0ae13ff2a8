//! `/internal/v1/storages/{id}/downloads`, for the jobs service. Both calls state the desired result, so they can be repeated
//! without an Idempotency-Key.

use api::{Checks, Json, Path, Problem, ProblemType, Query, audit, openapi::OpenApiRouter};
use auth::Caller;
use axum::{extract::State, http::StatusCode};
use ids::{DeploymentId, StorageId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::routes;

use super::{
    model::{DownloadReason, DownloadState},
    store,
};
use crate::{
    error::Error,
    object::check_name,
    state::AppState,
    storage::{self, Phase},
    storage_spec::Kind,
    tenant,
};

/// Longest path.
const MAX_PATH: usize = 512;
/// Longest name of a file or folder: `atelier-fetch` adds to it while it downloads.
const MAX_SEGMENT: usize = 200;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(put_download, delete_download))
}

/// A file of a bucket that is to be on a volume.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct DownloadRequest {
    /// Owner of both storages. A storage of another tenant is not found.
    pub(super) tenant_id: TenantId,
    /// Storage id of the bucket.
    pub(super) bucket_id: StorageId,
    /// Name of the object, below `jobs/`.
    #[schema(example = "jobs/job_0195b0c2/1/model.safetensors")]
    pub(super) object: String,
    /// Path of the file below the root of the volume. A file that is there is replaced.
    #[schema(example = "models/Lora/dog.safetensors")]
    pub(super) path: String,
    /// Size of the object.
    #[schema(minimum = 0)]
    pub(super) bytes: i64,
    /// SHA-256 of the object, in hexadecimal.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    pub(super) sha256: String,
}

/// How far a download is.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Download)]
pub(super) struct DownloadView {
    /// State.
    pub(super) state: DownloadState,
    /// Why it is pending or failed; null if there is nothing to say.
    pub(super) reason: Option<DownloadReason>,
    /// The reason in words.
    pub(super) message: Option<String>,
    /// When it was done or failed.
    pub(super) finished_at: Option<Timestamp>,
}

impl DownloadRequest {
    /// Returns the SHA-256, if all is valid.
    fn check(&self) -> Result<[u8; 32], Problem> {
        let mut checks = Checks::default();
        check_name(&mut checks, "/object", &self.object);
        let is_name =
            |name: &str| !name.is_empty() && name != "." && name != ".." && name.len() <= MAX_SEGMENT;
        let is_path = self.path.len() <= MAX_PATH
            && self.path.split('/').all(is_name)
            && !self.path.chars().any(char::is_control);
        checks.require(is_path, "/path", "must be a path below the root of the volume");
        checks.within("/bytes", self.bytes, 0, i64::MAX);
        let mut sha256 = [0; 32];
        let decoded = hex::decode_to_slice(&self.sha256, &mut sha256);
        checks.require(decoded.is_ok(), "/sha256", "must be 64 hexadecimal digits");
        checks.finish()?;
        Ok(sha256)
    }
}

/// Has a file of a bucket laid onto a volume, and returns how far that is. The id belongs to this content of the request.
#[utoipa::path(
    put, path = "/internal/v1/storages/{id}/downloads/{download_id}", operation_id = "put_download",
    tag = "internal",
    params(
        ("id" = StorageId, Path, description = "Storage id of the volume"),
        ("download_id" = DeploymentId, Path, description = "Id that the caller has chosen"),
    ),
    request_body = DownloadRequest,
    responses((status = 200, description = "How far it is", body = DownloadView)),
    extensions(("x-problems" = json!([
        ProblemType::StorageNotAvailable, ProblemType::StorageDeleting, ProblemType::TenantSuspended,
    ])))
)]
async fn put_download(
    State(state): State<AppState>,
    caller: Caller,
    audit: audit::Request,
    Path((id, download)): Path<(StorageId, DeploymentId)>,
    Json(request): Json<DownloadRequest>,
) -> Result<Json<DownloadView>, Problem> {
    let sha256 = request.check()?;
    let tenant = request.tenant_id;
    caller.acts_for(tenant)?;
    let mut tx = state.db.tenant(tenant).await?;
    let storage = storage::lock(&mut tx, tenant, id).await?.ok_or(Error::NotFound)?;
    if let Some(known) = store::find(&mut tx, tenant, id, download, &request, &sha256).await? {
        return Ok(Json(known));
    }
    tenant::check_active(&mut tx, tenant).await?;
    if storage.kind != Kind::Volume {
        return Err(Error::invalid_field("/path", "a bucket has no files; it is read over S3").into());
    }
    storage.check_changeable()?;
    if matches!(storage.phase, Phase::Failed(_)) {
        storage.check_usable()?;
    }
    if !store::insert(&mut tx, tenant, id, download, &request, &sha256).await? {
        return Err(Error::invalid_field("", "the download was asked for with other content").into());
    }
    storage::QUEUE.enqueue(&mut tx, &[id]).await?;
    let made = store::find(&mut tx, tenant, id, download, &request, &sha256).await?.ok_or(Error::NotFound)?;
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

/// Forgets a download. One that is not done is ended; a file that is there stays.
#[utoipa::path(
    delete, path = "/internal/v1/storages/{id}/downloads/{download_id}", operation_id = "delete_download",
    tag = "internal",
    params(
        ("id" = StorageId, Path, description = "Storage id of the volume"),
        ("download_id" = DeploymentId, Path, description = "Id that the caller has chosen"),
        Owner,
    ),
    responses((status = 204, description = "There is no such download, or soon no more")),
)]
async fn delete_download(
    State(state): State<AppState>,
    caller: Caller,
    audit: audit::Request,
    Path((id, download)): Path<(StorageId, DeploymentId)>,
    Query(owner): Query<Owner>,
) -> Result<StatusCode, Problem> {
    caller.acts_for(owner.tenant_id)?;
    let mut tx = state.db.tenant(owner.tenant_id).await?;
    if store::mark_removing(&mut tx, owner.tenant_id, id, download).await? {
        storage::QUEUE.enqueue(&mut tx, &[id]).await?;
        audit.record(&mut tx, StatusCode::NO_CONTENT, None, &()).await?;
    }
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
