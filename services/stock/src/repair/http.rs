//! `/v1/stock-repairs`.

use api::{Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::{Admin, HasAuth};
use axum::extract::{FromRef, State};
use db::Db;
use utoipa_axum::routes;

use super::{model::Repair, store};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_stock_repairs))
}

/// Lists repaired drift between clusters and stock, newest first.
#[utoipa::path(get, path = "/v1/stock-repairs", tag = "stock", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Repair>)))]
async fn list_stock_repairs(
    State(db): State<Db>,
    _: Admin,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Repair>>, Problem> {
    let request = page.request::<i64>()?;
    let mut tx = db.admin().await?;
    let rows = store::list(&mut tx, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |row| row.id)))
}
