//! `/v1/stock-operations`.

use api::{
    Json, Operation, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::OperationId;
use utoipa_axum::routes;

use super::store;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_stock_operations)).routes(routes!(get_stock_operation))
}

/// The answer to a request that has begun the operation.
pub(crate) fn accepted(operation: &Operation) -> Result<Reply, Problem> {
    let location = format!("/v1/stock-operations/{}", operation.id);
    Ok(Reply::json(StatusCode::ACCEPTED, operation)?.location(location))
}

/// Lists additions and removals of stock, newest first.
#[utoipa::path(get, path = "/v1/stock-operations", tag = "stock", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Operation>)))]
async fn list_stock_operations(
    State(db): State<Db>,
    _: Admin,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Operation>>, Problem> {
    let request = page.request::<OperationId>()?;
    let mut tx = db.admin().await?;
    let rows = store::list(&mut tx, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |row| row.id)))
}

/// Returns an addition or removal of stock. The members of its `progress` are those of `StockProgress`.
#[utoipa::path(get, path = "/v1/stock-operations/{id}", tag = "stock",
    params(("id" = OperationId, Path, description = "Operation id")),
    responses((status = 200, description = "The operation", body = Operation)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_stock_operation(
    State(db): State<Db>,
    _: Admin,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = db.admin().await?;
    Ok(Json(store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?))
}
