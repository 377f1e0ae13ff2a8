//! `/v1/platform-pools`, for administrators.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::Admin;
use axum::{extract::State, http::StatusCode};
use ids::PoolId;
use utoipa_axum::routes;

use super::{
    model::{NewPool, Pool, PoolPatch, PoolWorkers},
    store, tenant_http,
};
use crate::{error::Error, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_platform_pools, create_platform_pool))
        .routes(routes!(get_platform_pool, update_platform_pool))
        .merge(tenant_http::routes())
}

/// Lists pools, oldest first. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-pools", operation_id = "list_platform_pools", tag = "pools", params(PageParams),
    responses((status = 200, description = "A page", body = Page<Pool>))
)]
async fn list_platform_pools(
    State(state): State<AppState>,
    _: Admin,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<Pool>>, Problem> {
    let page = params.request()?;
    let mut tx = state.db.admin().await?;
    let pools = store::list(&mut tx, page.after, page.rows()).await?;
    Ok(Json(page.page(pools, |pool| pool.id)))
}

/// Creates a pool. Of the pools that run its application for its tenant, a job gets the oldest, dedicated ones first. For
/// administrators.
#[utoipa::path(
    post, path = "/v1/platform-pools", operation_id = "create_platform_pool", tag = "pools",
    params(IdempotencyKey),
    request_body = NewPool,
    responses((status = 201, description = "The new pool", body = Pool)),
    extensions(("x-problems" = json!([ProblemType::NameTaken])))
)]
async fn create_platform_pool(
    State(state): State<AppState>,
    _: Admin,
    key: IdempotencyKey,
    Json(new): Json<NewPool>,
) -> Result<Reply, Problem> {
    let mut checks = Checks::default();
    new.check(&mut checks);
    check_fleet(&state, new.workers.as_ref(), &mut checks);
    checks.finish()?;
    key.once(state.db.admin().await?, "admin", &new, async |tx| {
        let id = PoolId::new();
        if !store::insert(tx, id, &new).await? {
            return Err(Error::NameTaken("pool").into());
        }
        let pool = store::find(tx, id).await?.ok_or(Error::NotFound)?;
        let reply = Reply::json(StatusCode::CREATED, &pool)?.etag(pool.generation);
        Ok(reply.location(format!("/v1/platform-pools/{id}")))
    })
    .await
}

/// Returns a pool. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-pools/{id}", operation_id = "get_platform_pool", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id")),
    responses((status = 200, description = "The pool", body = Pool))
)]
async fn get_platform_pool(
    State(state): State<AppState>,
    _: Admin,
    Path(id): Path<PoolId>,
) -> Result<(ETag, Json<Pool>), Problem> {
    let mut tx = state.db.admin().await?;
    let pool = store::find(&mut tx, id).await?.ok_or(Error::NotFound)?;
    Ok((ETag(pool.generation), Json(pool)))
}

/// Changes the workers that the platform runs, the factors of prices, and the applications. For administrators.
#[utoipa::path(
    patch, path = "/v1/platform-pools/{id}", operation_id = "update_platform_pool", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id"), IfMatch, IdempotencyKey),
    request_body = PoolPatch,
    responses((status = 200, description = "The changed pool", body = Pool)),
    extensions(("x-problems" = json!([ProblemType::ChangedMeanwhile])))
)]
async fn update_platform_pool(
    State(state): State<AppState>,
    _: Admin,
    Path(id): Path<PoolId>,
    if_match: IfMatch,
    key: IdempotencyKey,
    Json(patch): Json<PoolPatch>,
) -> Result<Reply, Problem> {
    key.once(state.db.admin().await?, "admin", &patch, async |tx| {
        let found = store::find_for_update(tx, id).await?.ok_or(Error::NotFound)?;
        if_match.check(found.generation)?;
        let mut checks = Checks::default();
        patch.check(&found, &mut checks);
        check_fleet(&state, patch.workers.as_ref().and_then(Option::as_ref), &mut checks);
        checks.finish()?;
        if let Some(workers) = &patch.workers {
            store::set_workers(tx, id, workers.as_ref()).await?;
        }
        if let Some(factors) = &patch.level_factors {
            store::set_level_factors(tx, id, factors).await?;
        }
        if let Some(applications) = &patch.applications {
            store::set_applications(tx, id, applications).await?;
        }
        let changed = store::find(tx, id).await?.ok_or(Error::NotFound)?;
        Ok(Reply::json(StatusCode::OK, &changed)?.etag(changed.generation))
    })
    .await
}

/// Requires that the platform can run workers.
fn check_fleet(state: &AppState, workers: Option<&PoolWorkers>, checks: &mut Checks) {
    if workers.is_some() {
        let detail = "this platform runs no workers: its configuration has no `fleet`";
        checks.require(state.gpu.is_some(), "/workers", detail);
    }
    if workers.is_some_and(|workers| workers.lent_max > 0) {
        let detail = "this platform lends no GPUs: its configuration has no `stock`";
        checks.require(state.stock.is_some(), "/workers/lent_max", detail);
    }
}
