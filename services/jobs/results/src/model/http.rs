//! Models over HTTP.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Member};
use axum::{
    extract::{FromRef, State},
    http::{StatusCode, header},
    response::IntoResponse,
};
use ids::ModelId;
use utoipa_axum::routes;

use super::{
    store,
    view::{ModelChange, ModelView},
};
use crate::artifact;

/// Media type of the files.
const CONTENT_TYPE: &str = "application/octet-stream";

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    artifact::Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_models))
        .routes(routes!(get_model, update_model, delete_model))
        .routes(routes!(get_model_content))
}

/// Lists the models of the tenant, newest first.
#[utoipa::path(
    get, path = "/v1/models", operation_id = "list_models", tag = "models", params(PageParams),
    responses((status = 200, description = "A page", body = Page<ModelView>))
)]
async fn list_models(
    State(parts): State<artifact::Parts>,
    member: Member,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<ModelView>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let models = store::list(&mut tx, member.tenant, page.after, page.rows()).await?;
    Ok(Json(page.page(models, |model| model.id)))
}

/// Returns a model.
#[utoipa::path(
    get, path = "/v1/models/{id}", operation_id = "get_model", tag = "models",
    params(("id" = ModelId, Path, description = "Model id")),
    responses((status = 200, description = "The model", body = ModelView))
)]
async fn get_model(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path(id): Path<ModelId>,
) -> Result<(ETag, Json<ModelView>), Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let model = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(model.generation), Json(model)))
}

/// Changes the name of a model.
#[utoipa::path(
    patch, path = "/v1/models/{id}", operation_id = "update_model", tag = "models",
    params(("id" = ModelId, Path, description = "Model id"), IfMatch, IdempotencyKey),
    request_body = ModelChange,
    responses((status = 200, description = "The changed model", body = ModelView))
)]
async fn update_model(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path(id): Path<ModelId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<ModelChange>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &change, async |tx| {
        let model = store::lock(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(model.generation)?;
        let mut checks = Checks::default();
        change.check(&mut checks);
        checks.finish()?;
        store::rename(tx, tenant, id, &change.name).await?;
        let model = store::find(tx, tenant, id).await?.ok_or_else(Problem::not_found)?;
        Ok(Reply::json(StatusCode::OK, &model)?.etag(model.generation))
    })
    .await
}

/// Deletes a model with all results of its training and its deployments. Jobs that name it and have not started fail.
/// Files on volumes stay.
#[utoipa::path(
    delete, path = "/v1/models/{id}", operation_id = "delete_model", tag = "models",
    params(("id" = ModelId, Path, description = "Model id"), IdempotencyKey),
    responses((status = 204, description = "Deleted"))
)]
async fn delete_model(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path(id): Path<ModelId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        if !store::delete(tx, tenant, id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}

/// Redirects to the file of a model, safetensors. The address needs no token, and can be used for 15 minutes.
#[utoipa::path(
    get, path = "/v1/models/{id}/content", operation_id = "get_model_content", tag = "models",
    params(("id" = ModelId, Path, description = "Model id")),
    responses((
        status = 307, description = "`Location` is the file",
        headers(("Location" = String, description = "A signed URL in the object store")),
    )),
    extensions(("x-problems" = json!([
        ProblemType::ArtifactGone, ProblemType::StorageNotAvailable, ProblemType::TenantSuspended,
    ])))
)]
async fn get_model_content(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path(id): Path<ModelId>,
) -> Result<impl IntoResponse, Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    let found = store::find_all(&mut tx, member.tenant, &[id]).await?;
    drop(tx);
    let model = found.into_iter().next().ok_or_else(Problem::not_found)?;
    let object = artifact::object(model.job, model.attempt, &model.file);
    let file =
        artifact::File { storage: model.storage, object, content_type: CONTENT_TYPE, bytes: model.bytes };
    let signed = artifact::download(&parts, member.tenant, &file).await?;
    let headers = [(header::LOCATION, signed.url), (header::CACHE_CONTROL, "no-store".to_owned())];
    Ok((StatusCode::TEMPORARY_REDIRECT, headers))
}
