//! `/v1/stock-repairs`.

use api::{Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::Admin;
use axum::extract::State;
use utoipa_axum::routes;

use super::{model::Repair, store};
use crate::AppState;

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_stock_repairs))
}

/// Lists repaired drift between clusters and stock, newest first.
#[utoipa::path(get, path = "/v1/stock-repairs", tag = "stock", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Repair>)))]
async fn list_stock_repairs(
    State(state): State<AppState>,
    _: Admin,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Repair>>, Problem> {
    let request = page.request::<i64>()?;
    let mut tx = state.db.admin().await?;
    let rows = store::list(&mut tx, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |row| row.id)))
}
