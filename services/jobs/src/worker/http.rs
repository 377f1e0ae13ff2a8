//! `/v1/platform-pools/{id}/workers`, for administrators.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::Admin;
use axum::{extract::State, http::StatusCode};
use ids::{PoolId, WorkerId};
use secrecy::ExposeSecret as _;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    model::{NewWorker, Worker, hash, token},
    store,
};
use crate::{error::Error, fleet, pool, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_platform_workers, create_platform_worker))
        .routes(routes!(get_platform_worker, delete_platform_worker))
}

/// A worker that was created, with its token.
#[derive(Debug, Serialize, ToSchema)]
struct CreatedWorker {
    #[serde(flatten)]
    worker: Worker,
    /// The token of its process. Sent once: null in the response to a replayed request.
    #[schema(example = "awt_5f0c")]
    token: Option<String>,
}

/// Lists the workers of a pool, oldest first. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-pools/{id}/workers", operation_id = "list_platform_workers", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id"), PageParams),
    responses((status = 200, description = "A page", body = Page<Worker>))
)]
async fn list_platform_workers(
    State(state): State<AppState>,
    _: Admin,
    Path(id): Path<PoolId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<Worker>>, Problem> {
    let page = params.request()?;
    let mut tx = state.db.admin().await?;
    pool::find(&mut tx, id).await?.ok_or(Error::NotFound)?;
    let workers = store::list(&mut tx, id, page.after, page.rows()).await?;
    Ok(Json(page.page(workers, |worker| worker.id)))
}

/// Creates a worker, whose process registers with the token of the answer. For administrators.
#[utoipa::path(
    post, path = "/v1/platform-pools/{id}/workers", operation_id = "create_platform_worker", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id"), IdempotencyKey),
    request_body = NewWorker,
    responses((status = 201, description = "The new worker", body = CreatedWorker)),
    extensions(("x-problems" = json!([ProblemType::NameTaken])))
)]
async fn create_platform_worker(
    State(state): State<AppState>,
    _: Admin,
    Path(id): Path<PoolId>,
    key: IdempotencyKey,
    Json(new): Json<NewWorker>,
) -> Result<Reply, Problem> {
    key.once(state.db.admin().await?, "admin", &new, async |tx| {
        let pool = pool::find(tx, id).await?.ok_or(Error::NotFound)?;
        let mut checks = Checks::default();
        new.check(&pool.gpu_specs, &mut checks);
        checks.finish()?;
        let (worker, token) = (WorkerId::new(), token());
        if !store::insert(tx, id, worker, &new, &hash(token.expose_secret())).await? {
            return Err(Error::NameTaken("worker").into());
        }
        let made = store::find(tx, id, worker).await?.ok_or(Error::NotFound)?;
        let reply = Reply::json(StatusCode::CREATED, &CreatedWorker { worker: made, token: None })?;
        let reply = reply.once_only(json!({ "token": token.expose_secret() }));
        Ok(reply.location(format!("/v1/platform-pools/{id}/workers/{worker}")))
    })
    .await
}

/// Returns a worker. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-pools/{id}/workers/{worker_id}", operation_id = "get_platform_worker", tag = "pools",
    params(
        ("id" = PoolId, Path, description = "Pool id"),
        ("worker_id" = WorkerId, Path, description = "Worker id"),
    ),
    responses((status = 200, description = "The worker", body = Worker))
)]
async fn get_platform_worker(
    State(state): State<AppState>,
    _: Admin,
    Path((id, worker)): Path<(PoolId, WorkerId)>,
) -> Result<Json<Worker>, Problem> {
    let mut tx = state.db.admin().await?;
    Ok(Json(store::find(&mut tx, id, worker).await?.ok_or(Error::NotFound)?))
}

/// Deletes a worker. Its token is refused from then on. One that runs a job is not deleted; but one that the platform runs is
/// drained, and deleted with its instance when its job has ended. For administrators.
#[utoipa::path(
    delete, path = "/v1/platform-pools/{id}/workers/{worker_id}", operation_id = "delete_platform_worker",
    tag = "pools",
    params(
        ("id" = PoolId, Path, description = "Pool id"),
        ("worker_id" = WorkerId, Path, description = "Worker id"),
        IdempotencyKey,
    ),
    responses((status = 204, description = "Deleted, or drained")),
    extensions(("x-problems" = json!([ProblemType::WorkerBusy])))
)]
async fn delete_platform_worker(
    State(state): State<AppState>,
    _: Admin,
    Path((id, worker)): Path<(PoolId, WorkerId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(state.db.admin().await?, "admin", &(), async |tx| {
        store::find(tx, id, worker).await?.ok_or(Error::NotFound)?;
        if fleet::drain(tx, worker).await? {
            return Ok(Reply::no_content());
        }
        if !store::delete(tx, id, worker).await? {
            return Err(Error::WorkerBusy.into());
        }
        Ok(Reply::no_content())
    })
    .await
}
