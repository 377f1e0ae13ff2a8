//! Uploads over HTTP.

use api::{Checks, IdempotencyKey, Json, Path, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{TenantId, UploadId};
use serde_json::json;
use storage_api::{BucketObject, UrlKind, UrlRequest};
use utoipa_axum::routes;

use super::{
    model::{CreatedUpload, NewUpload, UploadView},
    store::{self, Insertion, StoredUpload, folder},
};
use crate::artifact;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    artifact::Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_upload)).routes(routes!(get_upload))
}

/// Creates an upload: a URL to upload one file, which jobs of the tenant can then name. The tenant's first result or
/// upload creates its bucket `job-outputs`; until the bucket is ready, the response is 503.
#[utoipa::path(
    post, path = "/v1/uploads", operation_id = "create_upload", tag = "jobs",
    params(IdempotencyKey),
    request_body = NewUpload,
    responses((status = 201, description = "The new upload", body = CreatedUpload)),
    extensions(("x-problems" = json!([
        ProblemType::TenantSuspended, ProblemType::QuotaExceeded, ProblemType::StorageNotAvailable,
        ProblemType::BudgetExhausted,
    ])))
)]
async fn create_upload(
    State(parts): State<artifact::Parts>,
    member: Member,
    key: IdempotencyKey,
    Json(new): Json<NewUpload>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let mut checks = Checks::default();
    let sha256 = new.check(&mut checks);
    checks.finish()?;
    let (tenant, id) = (member.tenant, UploadId::new());
    let storage = artifact::bucket(&parts, tenant).await?;
    let object = format!("{}{}", folder(id), new.name);
    let request = UrlRequest {
        tenant_id: tenant,
        kind: UrlKind::Upload,
        object: object.clone(),
        content_type: new.content_type.clone(),
        bytes: new.bytes,
    };
    let signed = parts.storage.sign_url(storage, &request).await.map_err(artifact::Error::Storage)?;
    key.once(parts.db.tenant(tenant).await?, tenant, &new, async |tx| {
        tenants::check_active(tx, tenant).await?;
        let insertion = Insertion {
            id,
            storage,
            name: &new.name,
            content_type: &new.content_type,
            bytes: new.bytes,
            sha256: sha256.as_deref(),
        };
        store::insert(tx, tenant, &insertion).await?;
        let upload = find(store::find_all(tx, tenant, &[id]).await?)?.view();
        let reply = Reply::json(StatusCode::CREATED, &CreatedUpload { upload, put_url: None })?;
        Ok(reply.once_only(json!({ "put_url": signed.url })).location(format!("/v1/uploads/{id}")))
    })
    .await
}

fn find(found: Vec<StoredUpload>) -> Result<StoredUpload, Problem> {
    found.into_iter().next().ok_or_else(Problem::not_found)
}

/// Returns an upload. Its state is `ready` when its content is there.
#[utoipa::path(
    get, path = "/v1/uploads/{id}", operation_id = "get_upload", tag = "jobs",
    params(("id" = UploadId, Path, description = "Upload id")),
    responses((status = 200, description = "The upload", body = UploadView)),
    extensions(("x-problems" = json!([ProblemType::StorageNotAvailable, ProblemType::TenantSuspended])))
)]
async fn get_upload(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path(id): Path<UploadId>,
) -> Result<Json<UploadView>, Problem> {
    confirm(&parts, member.tenant, &[id]).await?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    Ok(Json(find(store::find_all(&mut tx, member.tenant, &[id]).await?)?.view()))
}

/// Records which of these uploads of the tenant have their contents in the bucket. Called before a
/// transaction that takes them.
pub async fn confirm(
    parts: &artifact::Parts,
    owner: TenantId,
    ids: &[UploadId],
) -> Result<(), artifact::Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut tx = parts.db.tenant(owner).await?;
    let uploads = store::find_all(&mut tx, owner, ids).await?;
    tx.commit().await?;
    let mut there = Vec::new();
    for upload in uploads.iter().filter(|upload| !upload.is_uploaded) {
        if let Some(content) = content(parts, owner, upload).await? {
            there.push((upload.id, content.etag));
        }
    }
    if !there.is_empty() {
        let mut tx = parts.db.tenant(owner).await?;
        store::confirm(&mut tx, owner, &there).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// Returns the content of an upload, if it is in the bucket.
async fn content(
    parts: &artifact::Parts,
    owner: TenantId,
    upload: &StoredUpload,
) -> Result<Option<BucketObject>, artifact::Error> {
    let found = match parts.storage.objects(upload.storage, owner, &folder(upload.id)).await {
        // the bucket was deleted
        Err(error) if error.is_not_found() => return Ok(None),
        found => found.map_err(artifact::Error::Storage)?,
    };
    let object = upload.object();
    Ok(found.items.into_iter().find(|one| one.name == object && one.bytes == upload.bytes))
}

/// Whether the content of an upload is still the one that was found when it became ready. If its hash was
/// announced, the worker checks it.
pub async fn is_unchanged(
    parts: &artifact::Parts,
    owner: TenantId,
    upload: &StoredUpload,
) -> Result<bool, artifact::Error> {
    if upload.sha256.is_some() || upload.etag.is_none() {
        return Ok(true);
    }
    let content = content(parts, owner, upload).await?;
    Ok(content.is_some_and(|content| content.etag.is_none() || content.etag == upload.etag))
}
