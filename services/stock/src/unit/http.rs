//! `/v1/stock-units`.

use api::{Checks, Json, Page, PageParams, Path, Problem, ProblemType, Query};
use auth::Admin;
use axum::extract::State;
use ids::UnitId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{StockUnit, StockUnitDetail, UnitState},
    store::{self, UnitFilter},
};
use crate::{AppState, Error, datacenter, gpu_spec};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_stock_units)).routes(routes!(get_stock_unit))
}

/// Narrows the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UnitQuery {
    /// Only units of this specification, by name or id.
    gpu_spec: Option<String>,
    /// Only units in this datacenter, by name or id.
    datacenter: Option<String>,
    /// Only units in this state.
    state: Option<UnitState>,
    /// Largest number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists units in the order of their addition, with the holders of all tenants.
#[utoipa::path(get, path = "/v1/stock-units", tag = "stock", params(UnitQuery),
    responses((status = 200, description = "One page", body = Page<StockUnit>)))]
async fn list_stock_units(
    State(state): State<AppState>,
    _: Admin,
    Query(query): Query<UnitQuery>,
) -> Result<Json<Page<StockUnit>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor }.request::<UnitId>()?;
    let mut checks = Checks::default();
    checks.text("gpu_spec", query.gpu_spec.as_deref());
    checks.text("datacenter", query.datacenter.as_deref());
    checks.finish()?;
    let mut tx = state.db.admin().await?;
    let mut filter = UnitFilter { state: query.state, ..UnitFilter::default() };
    if let Some(reference) = &query.gpu_spec {
        let Some(found) = gpu_spec::store::find_by_reference(&mut tx, reference).await? else {
            return Ok(Json(Page::last(Vec::new())));
        };
        filter.gpu_spec = Some(found.id);
    }
    if let Some(reference) = &query.datacenter {
        let Some(found) = datacenter::store::find_by_reference(&mut tx, reference).await? else {
            return Ok(Json(Page::last(Vec::new())));
        };
        filter.datacenter = Some(found.id);
    }
    let rows = store::list(&mut tx, &filter, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |row| row.id)))
}

/// Returns a unit with its holder and its previous holders.
#[utoipa::path(get, path = "/v1/stock-units/{id}", tag = "stock",
    params(("id" = UnitId, Path, description = "Unit id")),
    responses((status = 200, description = "The unit", body = StockUnitDetail)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_stock_unit(
    State(state): State<AppState>,
    _: Admin,
    Path(id): Path<UnitId>,
) -> Result<Json<StockUnitDetail>, Problem> {
    let mut tx = state.db.admin().await?;
    let unit = store::find(&mut tx, id).await?.ok_or(Error::NotFound)?;
    let history = store::history(&mut tx, id).await?;
    Ok(Json(StockUnitDetail { unit, history }))
}
