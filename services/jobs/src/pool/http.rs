//! `/v1/platform-pools`, for administrators.

use api::{Checks, IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::Admin;
use axum::{extract::State, http::StatusCode};
use ids::PoolId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{NewPool, Pool},
    store,
};
use crate::{error::Error, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_platform_pools, create_platform_pool))
        .routes(routes!(get_platform_pool))
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

/// Creates a pool. Jobs run in the oldest one. For administrators.
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
    checks.finish()?;
    key.once(state.db.admin().await?, "admin", &new, async |tx| {
        let id = PoolId::new();
        if !store::insert(tx, id, &new).await? {
            return Err(Error::NameTaken("pool").into());
        }
        let pool = store::find(tx, id).await?.ok_or(Error::NotFound)?;
        Ok(Reply::json(StatusCode::CREATED, &pool)?.location(format!("/v1/platform-pools/{id}")))
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
) -> Result<Json<Pool>, Problem> {
    let mut tx = state.db.admin().await?;
    Ok(Json(store::find(&mut tx, id).await?.ok_or(Error::NotFound)?))
}
