//! `/v1/pools`: the pools that run jobs of a tenant.

use api::{Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use utoipa_axum::routes;

use super::{Parts, model::UsablePool, store};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_pools))
}

/// Lists the pools that run jobs of the tenant, oldest first.
#[utoipa::path(
    get, path = "/v1/pools", operation_id = "list_pools", tag = "pools", params(PageParams),
    responses((status = 200, description = "A page", body = Page<UsablePool>))
)]
async fn list_pools(
    State(parts): State<Parts>,
    member: Member,
    Query(params): Query<PageParams>,
) -> Result<Json<Page<UsablePool>>, Problem> {
    let page = params.request()?;
    let mut tx = parts.db.tenant(member.tenant).await?;
    let pools = store::usable(&mut tx, member.tenant, page.after, page.rows()).await?;
    Ok(Json(page.page(pools, |pool| pool.id)))
}
