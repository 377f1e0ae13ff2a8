//! `/v1/platform-pools`, for administrators.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::PoolId;
use utoipa_axum::routes;

use super::{
    Parts,
    model::{NewPool, Pool, PoolPatch, PoolWorkers},
    store, tenant_http,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
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
    State(parts): State<Parts>,
    _: Admin,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<Pool>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.admin().await?;
    let pools = store::list(&mut tx, page.after, page.rows()).await?;
    Ok(Json(page.page(pools, |pool| pool.id)))
}

/// Creates a pool. A job runs in the oldest pool that runs its application for its tenant, with dedicated pools first.
/// For administrators.
#[utoipa::path(
    post, path = "/v1/platform-pools", operation_id = "create_platform_pool", tag = "pools",
    params(IdempotencyKey),
    request_body = NewPool,
    responses((status = 201, description = "The new pool", body = Pool)),
    extensions(("x-problems" = json!([ProblemType::NameTaken])))
)]
async fn create_platform_pool(
    State(parts): State<Parts>,
    _: Admin,
    key: IdempotencyKey,
    Json(new): Json<NewPool>,
) -> Result<Reply, Problem> {
    let mut checks = Checks::default();
    new.check(&mut checks);
    check_fleet(&parts, new.workers.as_ref(), &mut checks);
    checks.finish()?;
    key.once(parts.db.admin().await?, "admin", &new, async |tx| {
        let id = PoolId::new();
        if !store::insert(tx, id, &new).await? {
            return Err(Problem::new(ProblemType::NameTaken, "Another pool has this name."));
        }
        let pool = store::find(tx, id).await?.ok_or_else(Problem::not_found)?;
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
    State(parts): State<Parts>,
    _: Admin,
    Path(id): Path<PoolId>,
) -> Result<(ETag, Json<Pool>), Problem> {
    let mut tx = parts.db.admin().await?;
    let pool = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
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
    State(parts): State<Parts>,
    _: Admin,
    Path(id): Path<PoolId>,
    if_match: IfMatch,
    key: IdempotencyKey,
    Json(patch): Json<PoolPatch>,
) -> Result<Reply, Problem> {
    key.once(parts.db.admin().await?, "admin", &patch, async |tx| {
        let found = store::find_for_update(tx, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(found.generation)?;
        let mut checks = Checks::default();
        patch.check(&found, &mut checks);
        check_fleet(&parts, patch.workers.as_ref().and_then(Option::as_ref), &mut checks);
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
        let changed = store::find(tx, id).await?.ok_or_else(Problem::not_found)?;
        Ok(Reply::json(StatusCode::OK, &changed)?.etag(changed.generation))
    })
    .await
}

/// Requires that the platform can run workers.
fn check_fleet(parts: &Parts, workers: Option<&PoolWorkers>, checks: &mut Checks) {
    if workers.is_some() {
        let detail = "this platform runs no workers: its configuration has no `fleet`";
        checks.require(parts.runs_workers, "/workers", detail);
    }
    if workers.is_some_and(|workers| workers.lent_max > 0) {
        let detail = "this platform lends no GPUs: its configuration has no `stock`";
        checks.require(parts.lends, "/workers/lent_max", detail);
    }
}
