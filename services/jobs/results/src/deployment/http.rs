//! Deployments over HTTP.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, Member, SubjectToken};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{DeploymentId, ModelId};
use storage_api::StorageKind;
use utoipa_axum::routes;

use super::{
    model::{DeploymentView, NewDeployment, default_path},
    store::{self, Insertion},
};
use crate::{artifact, model};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    artifact::Parts: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(create_deployment, list_deployments))
        .routes(routes!(get_deployment, delete_deployment))
}

/// Deploys a model to a volume of the tenant, for instances that mount the volume. An existing file at the path is
/// replaced in one step, when the new one is complete and verified.
#[utoipa::path(
    post, path = "/v1/models/{id}/deployments", operation_id = "create_deployment", tag = "models",
    params(("id" = ModelId, Path, description = "Model id"), IdempotencyKey),
    request_body = NewDeployment,
    responses((status = 202, description = "The new deployment", body = DeploymentView)),
    extensions(("x-problems" = json!([ProblemType::DeploymentInProgress, ProblemType::TenantSuspended])))
)]
async fn create_deployment(
    State(parts): State<artifact::Parts>,
    member: Member,
    SubjectToken(subject): SubjectToken,
    Path(model): Path<ModelId>,
    key: IdempotencyKey,
    Json(new): Json<NewDeployment>,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    let mut checks = Checks::default();
    new.check(&mut checks);
    checks.finish()?;
    let storage =
        parts.storage.find(new.storage_id, &subject).await.map_err(|error| match error.is_not_found() {
            true => Problem::invalid_field("/storage_id", "storage not found"),
            false => artifact::Error::Storage(error).into(),
        })?;
    if storage.kind == StorageKind::Bucket {
        let detail = "a bucket has no files that instances mount: choose a volume";
        return Err(Problem::invalid_field("/storage_id", detail));
    }
    key.once(parts.db.tenant(tenant).await?, tenant, &new, async |tx| {
        tenants::check_active(tx, tenant).await?;
        let name = model::lock_name(tx, tenant, model).await?.ok_or_else(Problem::not_found)?;
        let path = new.path.clone().unwrap_or_else(|| default_path(model, &name));
        let id = DeploymentId::new();
        if !store::insert(tx, &Insertion { id, tenant, model, storage: storage.id, path: &path }).await? {
            return Err(Problem::new(
                ProblemType::DeploymentInProgress,
                "Another model is being deployed to this path of the volume.",
            ));
        }
        let deployment = store::find(tx, tenant, model, id).await?.ok_or_else(Problem::not_found)?;
        let reply = Reply::json(StatusCode::ACCEPTED, &deployment)?;
        Ok(reply.location(format!("/v1/models/{model}/deployments/{id}")))
    })
    .await
}

/// Lists the deployments of a model, newest first.
#[utoipa::path(
    get, path = "/v1/models/{id}/deployments", operation_id = "list_deployments", tag = "models",
    params(("id" = ModelId, Path, description = "Model id"), PageParams),
    responses((status = 200, description = "A page", body = Page<DeploymentView>))
)]
async fn list_deployments(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path(model): Path<ModelId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<DeploymentView>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    if !model::exists(&mut tx, member.tenant, model).await? {
        return Err(Problem::not_found());
    }
    let found = store::list(&mut tx, member.tenant, model, page.after, page.rows()).await?;
    Ok(Json(page.page(found, |deployment| deployment.id)))
}

/// Returns a deployment.
#[utoipa::path(
    get, path = "/v1/models/{id}/deployments/{deployment_id}", operation_id = "get_deployment", tag = "models",
    params(
        ("id" = ModelId, Path, description = "Model id"),
        ("deployment_id" = DeploymentId, Path, description = "Deployment id"),
    ),
    responses((status = 200, description = "The deployment", body = DeploymentView))
)]
async fn get_deployment(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path((model, id)): Path<(ModelId, DeploymentId)>,
) -> Result<Json<DeploymentView>, Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    Ok(Json(store::find(&mut tx, member.tenant, model, id).await?.ok_or_else(Problem::not_found)?))
}

/// Deletes the record of a deployment. A pending deployment is cancelled; a file that is already on the volume stays.
#[utoipa::path(
    delete, path = "/v1/models/{id}/deployments/{deployment_id}", operation_id = "delete_deployment",
    tag = "models",
    params(
        ("id" = ModelId, Path, description = "Model id"),
        ("deployment_id" = DeploymentId, Path, description = "Deployment id"),
        IdempotencyKey,
    ),
    responses((status = 204, description = "Deleted"))
)]
async fn delete_deployment(
    State(parts): State<artifact::Parts>,
    member: Member,
    Path((model, id)): Path<(ModelId, DeploymentId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    member.writer()?;
    let tenant = member.tenant;
    key.once(parts.db.tenant(tenant).await?, tenant, &(), async |tx| {
        if !store::mark_deleting(tx, tenant, model, id).await? {
            return Err(Problem::not_found());
        }
        Ok(Reply::no_content())
    })
    .await
}
