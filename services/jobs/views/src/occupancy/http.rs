//! `/v1/pools/{id}/capacity`, and `/v1/pools/{id}/share` for members.

use api::{Json, Path, Problem, openapi::OpenApiRouter};
use auth::{HasAuth, Member, Role, User};
use axum::extract::{FromRef, State};
use ids::PoolId;
use records::{
    pool,
    share::{self, Share},
};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{Parts, capacity::PoolCapacity};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_pool_capacity)).routes(routes!(get_pool_share))
}

/// The share of a tenant in a pool, and what it uses.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct ShareInUse {
    /// The share.
    share: Share,
    /// Workers that its jobs run on.
    #[schema(example = 3)]
    workers: u32,
    /// Number of these that run urgent jobs.
    #[schema(example = 1)]
    urgent_workers: u32,
    /// Jobs that wait for workers.
    #[schema(example = 12)]
    queued: u32,
}

/// Returns the capacity of a pool: its workers by node, jobs that wait, and how many start and end within the next
/// hour. Members see the pools that run jobs of their tenant; administrators see all.
#[utoipa::path(
    get, path = "/v1/pools/{id}/capacity", operation_id = "get_pool_capacity", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id")),
    responses((status = 200, description = "The capacity", body = PoolCapacity))
)]
async fn get_pool_capacity(
    State(parts): State<Parts>,
    User(principal): User,
    Path(id): Path<PoolId>,
) -> Result<Json<PoolCapacity>, Problem> {
    if !principal.admin {
        let tenant = principal.tenant_as(Role::Viewer)?;
        let mut tx = parts.db.tenant(tenant).await?;
        if !pool::is_usable(&mut tx, tenant, id).await? {
            return Err(Problem::not_found());
        }
    }
    let found = parts.views.capacity(id).await.map_err(Problem::internal)?.ok_or_else(Problem::not_found)?;
    Ok(Json(PoolCapacity::new(id, found)))
}

/// Returns the share of the tenant in a pool and what it uses. The values are at most a second old.
#[utoipa::path(
    get, path = "/v1/pools/{id}/share", operation_id = "get_pool_share", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id")),
    responses((status = 200, description = "The share", body = ShareInUse))
)]
async fn get_pool_share(
    State(parts): State<Parts>,
    member: Member,
    Path(id): Path<PoolId>,
) -> Result<Json<ShareInUse>, Problem> {
    let mut tx = parts.db.tenant(member.tenant).await?;
    if !pool::is_usable(&mut tx, member.tenant, id).await? {
        return Err(Problem::not_found());
    }
    let share = share::find(&mut tx, id, member.tenant).await?.map(|found| found.share).unwrap_or_default();
    drop(tx);
    let used = parts
        .views
        .used(id, member.tenant)
        .await
        .map_err(Problem::internal)?
        .ok_or_else(Problem::not_found)?;
    Ok(Json(ShareInUse { share, workers: used.units, urgent_workers: used.urgent, queued: used.queued }))
}
