//! `/v1/platform-pools/{id}/shares` for administrators.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, IfSet, Json, Page, PageParams, Path, Problem, ProblemType, Query,
    Reply, openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::{PoolId, TenantId};
use sqlx::PgConnection;
use utoipa_axum::routes;

use super::{
    Parts,
    model::{PoolShare, Share},
    store,
};
use crate::pool::{self, Changed};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_platform_pool_shares)).routes(routes!(
        get_platform_pool_share,
        put_platform_pool_share,
        delete_platform_pool_share
    ))
}

/// Lists the shares that were set for tenants in a pool, by tenant. All other tenants have the defaults. For
/// administrators.
#[utoipa::path(
    get, path = "/v1/platform-pools/{id}/shares", operation_id = "list_platform_pool_shares", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id"), PageParams),
    responses((status = 200, description = "A page", body = Page<PoolShare>))
)]
async fn list_platform_pool_shares(
    State(parts): State<Parts>,
    _: Admin,
    Path(id): Path<PoolId>,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<PoolShare>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.admin().await?;
    expect_pool(&mut tx, id).await?;
    let rows = store::list(&mut tx, id, page.after, page.rows()).await?;
    let view = |row: store::Stored| PoolShare { tenant_id: row.tenant, share: row.share };
    Ok(Json(page.page(rows, |row| row.tenant).map(view)))
}

/// Returns the share that was set for a tenant. For administrators.
#[utoipa::path(
    get, path = "/v1/platform-pools/{id}/shares/{tenant_id}", operation_id = "get_platform_pool_share", tag = "pools",
    params(
        ("id" = PoolId, Path, description = "Pool id"),
        ("tenant_id" = TenantId, Path, description = "Tenant id")
    ),
    responses(
        (status = 200, description = "The share", body = PoolShare),
        (status = 204, description = "The tenant has the defaults of the pool")
    )
)]
async fn get_platform_pool_share(
    State(parts): State<Parts>,
    _: Admin,
    Path((id, tenant)): Path<(PoolId, TenantId)>,
) -> Result<IfSet<(ETag, Json<PoolShare>)>, Problem> {
    let mut tx = parts.db.admin().await?;
    expect_pool(&mut tx, id).await?;
    let view =
        |row: store::Stored| (ETag(row.generation), Json(PoolShare { tenant_id: tenant, share: row.share }));
    Ok(IfSet(store::find(&mut tx, id, tenant).await?.map(view)))
}

/// Sets the whole share of a tenant; send `If-Match: *` for a tenant without one. It applies to jobs that start
/// afterwards: running jobs continue, unless they use workers that are guaranteed to other tenants. For administrators.
#[utoipa::path(
    put, path = "/v1/platform-pools/{id}/shares/{tenant_id}", operation_id = "put_platform_pool_share", tag = "pools",
    params(
        ("id" = PoolId, Path, description = "Pool id"),
        ("tenant_id" = TenantId, Path, description = "Tenant id"),
        IdempotencyKey, IfMatch
    ),
    request_body = Share,
    responses((status = 200, description = "The share", body = PoolShare)),
    extensions(("x-problems" = json!([ProblemType::ChangedMeanwhile])))
)]
async fn put_platform_pool_share(
    State(parts): State<Parts>,
    _: Admin,
    Path((id, tenant)): Path<(PoolId, TenantId)>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(share): Json<Share>,
) -> Result<Reply, Problem> {
    let mut checks = Checks::default();
    share.check(&mut checks);
    checks.finish()?;
    let reply = key
        .once(parts.db.admin().await?, "admin", &(id, tenant, share), async |tx| {
            lock_pool(tx, id).await?;
            if let Some(found) = store::find(tx, id, tenant).await? {
                if_match.check(found.generation)?;
            }
            let generation = store::put(tx, id, tenant, &share).await?;
            pool::publish(tx, id, &Changed::Tenant(tenant)).await?;
            Ok(Reply::json(StatusCode::OK, &PoolShare { tenant_id: tenant, share })?.etag(generation))
        })
        .await?;
    parts.submitted.send_replace(());
    Ok(reply)
}

/// Removes the share of a tenant, which has the defaults from then on. For administrators.
#[utoipa::path(
    delete, path = "/v1/platform-pools/{id}/shares/{tenant_id}", operation_id = "delete_platform_pool_share", tag = "pools",
    params(
        ("id" = PoolId, Path, description = "Pool id"),
        ("tenant_id" = TenantId, Path, description = "Tenant id"),
        IdempotencyKey
    ),
    responses((status = 204, description = "Deleted"))
)]
async fn delete_platform_pool_share(
    State(parts): State<Parts>,
    _: Admin,
    Path((id, tenant)): Path<(PoolId, TenantId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let reply = key
        .once(parts.db.admin().await?, "admin", &(id, tenant), async |tx| {
            lock_pool(tx, id).await?;
            if !store::delete(tx, id, tenant).await? {
                return Err(Problem::not_found());
            }
            pool::publish(tx, id, &Changed::Tenant(tenant)).await?;
            Ok(Reply::no_content())
        })
        .await?;
    parts.submitted.send_replace(());
    Ok(reply)
}

async fn expect_pool(conn: &mut PgConnection, id: PoolId) -> Result<(), Problem> {
    pool::find(conn, id).await?.ok_or_else(Problem::not_found)?;
    Ok(())
}

/// Serializes changes of the shares of a pool.
async fn lock_pool(conn: &mut PgConnection, id: PoolId) -> Result<(), Problem> {
    pool::find_for_update(conn, id).await?.ok_or_else(Problem::not_found)?;
    Ok(())
}
