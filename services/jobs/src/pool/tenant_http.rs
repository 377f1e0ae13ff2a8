//! `/v1/pools`: the pools that run jobs of a tenant.

use api::{Json, Page, PageParams, Path, Problem, Query, openapi::OpenApiRouter};
use auth::{Member, Role, User};
use axum::extract::State;
use ids::PoolId;
use utoipa_axum::routes;

use super::{capacity::PoolCapacity, model::UsablePool, store};
use crate::{error::Error, state::AppState};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_pools)).routes(routes!(get_pool_capacity))
}

/// Lists the pools that run jobs of the tenant, oldest first.
#[utoipa::path(
    get, path = "/v1/pools", operation_id = "list_pools", tag = "pools", params(PageParams),
    responses((status = 200, description = "A page", body = Page<UsablePool>))
)]
async fn list_pools(
    State(state): State<AppState>,
    member: Member,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<UsablePool>>, Problem> {
    let page = params.request()?;
    let mut tx = state.db.tenant(member.tenant).await?;
    let pools = store::usable(&mut tx, member.tenant, page.after, page.rows()).await?;
    Ok(Json(page.page(pools, |pool| pool.id)))
}

/// Tells what a pool has: its workers by node, jobs that wait, and how many start and end within the next hour. Members see
/// the pools that run jobs of their tenant, and administrators all.
#[utoipa::path(
    get, path = "/v1/pools/{id}/capacity", operation_id = "get_pool_capacity", tag = "pools",
    params(("id" = PoolId, Path, description = "Pool id")),
    responses((status = 200, description = "The capacity", body = PoolCapacity))
)]
async fn get_pool_capacity(
    State(state): State<AppState>,
    User(principal): User,
    Path(id): Path<PoolId>,
) -> Result<Json<PoolCapacity>, Problem> {
    if !principal.admin {
        let tenant = principal.tenant_as(Role::Viewer)?;
        let mut tx = state.db.tenant(tenant).await?;
        if !store::is_usable(&mut tx, tenant, id).await? {
            return Err(Error::NotFound.into());
        }
    }
    let found = state.views.capacity(id).await.map_err(Problem::internal)?.ok_or(Error::NotFound)?;
    Ok(Json(PoolCapacity::new(id, found)))
}
