//! `POST /stocks`, `DELETE /stocks`.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use utoipa_axum::routes;

use super::Parts;
use super::model::{NewStocks, OldStocks, StocksResult};
use super::store;
use crate::caller::{HasCallers, ServiceCaller};

pub(crate) fn routes<S: HasCallers>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_stocks, delete_stocks))
}

/// Creates units. Each of them then gets its place.
#[utoipa::path(
    post, path = "/stocks", tag = "stocks", operation_id = "create_stocks", request_body = NewStocks,
    responses((status = 202, description = "The units are created", body = StocksResult)),
    extensions(("x-problems" = json!([ProblemType::OperationInProgress, ProblemType::OperationIdReused]))),
)]
async fn create_stocks(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Json(new): Json<NewStocks>,
) -> Result<(StatusCode, Json<StocksResult>), Problem> {
    let units = store::create(&parts, &new).await?;
    Ok((StatusCode::ACCEPTED, Json(StocksResult::new(new.operation_id, units))))
}

/// Deletes idle units, those without a place first.
#[utoipa::path(
    delete, path = "/stocks", tag = "stocks", operation_id = "delete_stocks", request_body = OldStocks,
    responses((status = 202, description = "The units are deleted", body = StocksResult)),
    extensions(("x-problems" = json!([
        ProblemType::StockInUse, ProblemType::OperationInProgress, ProblemType::OperationIdReused,
    ]))),
)]
async fn delete_stocks(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Json(old): Json<OldStocks>,
) -> Result<(StatusCode, Json<StocksResult>), Problem> {
    let units = store::delete(&parts, &old).await?;
    Ok((StatusCode::ACCEPTED, Json(StocksResult::new(old.operation_id, units))))
}
