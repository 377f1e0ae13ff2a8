//! `/v1/stock-operations`.

use api::{Json, Operation, Page, PageParams, Path, Problem, Query};
use auth::Admin;
use axum::extract::State;
use ids::OperationId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::store;
use crate::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_stock_operations)).routes(routes!(get_stock_operation))
}

/// Additions and removals of stock, the newest first.
#[utoipa::path(get, path = "/v1/stock-operations", tag = "stock", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Operation>)))]
async fn list_stock_operations(
    State(app): State<App>,
    _: Admin,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Operation>>, Problem> {
    let asked = page.request::<OperationId>()?;
    let mut tx = app.db().platform().await?;
    let rows = store::list(&mut tx, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| row.id).map(Into::into)))
}

/// An addition or removal of stock. `progress` is `{requested, made, held, removed, failed_count,
/// failed: [{unit_id, reason, message}], gpu_spec: {id, name}, datacenter: {id, name}}`.
#[utoipa::path(get, path = "/v1/stock-operations/{id}", tag = "stock",
    params(("id" = OperationId, Path, description = "Its id")),
    responses((status = 200, description = "It", body = Operation),
              (status = 404, description = "There is none", body = Problem)))]
async fn get_stock_operation(
    State(app): State<App>,
    _: Admin,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = app.db().platform().await?;
    let found = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(found.into()))
}
