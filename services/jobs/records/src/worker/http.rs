//! `/v1/platform-pools/{id}/workers`, for administrators.

use api::{
    Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{PoolId, WorkerId};
use secrecy::ExposeSecret as _;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    model::{NewWorker, Worker},
    store,
    token::{hash, token},
};
use crate::pool;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
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
    State(db): State<Db>,
    _: Admin,
    Path(id): Path<PoolId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<Worker>>, Problem> {
    let page = params.request()?;
    let mut tx = db.admin().await?;
    pool::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let workers = store::list(&mut tx, id, page.after, page.rows()).await?;
    Ok(Json(page.page(workers, |worker| worker.id)))
}

/// Creates a worker. Its process registers with the token of the response. For administrators.
#[utoipa::path(
    post, path = "/v1/platform-pools/{id}/workers", operation_id = "create_platform_worker", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id"), IdempotencyKey),
    request_body = NewWorker,
    responses((status = 201, description = "The new worker", body = CreatedWorker)),
    extensions(("x-problems" = json!([ProblemType::NameTaken])))
)]
async fn create_platform_worker(
    State(db): State<Db>,
    _: Admin,
    Path(id): Path<PoolId>,
    key: IdempotencyKey,
    Json(new): Json<NewWorker>,
) -> Result<Reply, Problem> {
    key.once(db.admin().await?, "admin", &new, async |tx| {
        let pool = pool::find(tx, id).await?.ok_or_else(Problem::not_found)?;
        let mut checks = Checks::default();
        new.check(&pool.gpu_specs, &mut checks);
        checks.finish()?;
        let (worker, token) = (WorkerId::new(), token());
        if !store::insert(tx, id, worker, &new, &hash(token.expose_secret())).await? {
            return Err(Problem::new(ProblemType::NameTaken, "Another worker has this name."));
        }
        let made = store::find(tx, id, worker).await?.ok_or_else(Problem::not_found)?;
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
    State(db): State<Db>,
    _: Admin,
    Path((id, worker)): Path<(PoolId, WorkerId)>,
) -> Result<Json<Worker>, Problem> {
    let mut tx = db.admin().await?;
    Ok(Json(store::find(&mut tx, id, worker).await?.ok_or_else(Problem::not_found)?))
}

/// Deletes a worker, whose token becomes invalid. A worker that runs a job cannot be deleted, except if the platform
/// runs the worker: it is drained, and deleted with its instance when its job has ended. For administrators.
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
    State(db): State<Db>,
    _: Admin,
    Path((id, worker)): Path<(PoolId, WorkerId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.admin().await?, "admin", &(), async |tx| {
        store::find(tx, id, worker).await?.ok_or_else(Problem::not_found)?;
        if store::drain(tx, worker).await? {
            return Ok(Reply::no_content());
        }
        if !store::delete(tx, id, worker).await? {
            return Err(Problem::new(ProblemType::WorkerBusy, "A worker that runs a job cannot be deleted."));
        }
        Ok(Reply::no_content())
    })
    .await
}
