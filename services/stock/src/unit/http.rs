//! `/v1/stock-units`.

use std::sync::Arc;

use api::{
    Checks, IdempotencyKey, Json, Operation, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth};
use axum::extract::{FromRef, State};
use db::Db;
use ids::{InstanceId, TenantId, UnitId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    model::{StockUnit, StockUnitDetail, UnitState},
    removal,
    store::{self, UnitFilter},
};
use crate::{config::StockConfig, datacenter, gpu_spec, operation::http::accepted};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Arc<StockConfig>: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_stock_units)).routes(routes!(get_stock_unit, remove_stock_unit))
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
    /// Only units on this node. Clusters may have nodes of the same name.
    node: Option<String>,
    /// Only the unit that this instance holds.
    instance_id: Option<InstanceId>,
    /// Only units that instances of this tenant hold.
    tenant_id: Option<TenantId>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists units in the order of their addition, with the holders of all tenants.
#[utoipa::path(get, path = "/v1/stock-units", tag = "stock", params(UnitQuery),
    responses((status = 200, description = "One page", body = Page<StockUnit>)))]
async fn list_stock_units(
    State(db): State<Db>,
    _: Admin,
    Query(query): Query<UnitQuery>,
) -> Result<Json<Page<StockUnit>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor }.request::<UnitId>()?;
    let mut checks = Checks::default();
    checks.text("gpu_spec", query.gpu_spec.as_deref());
    checks.text("datacenter", query.datacenter.as_deref());
    checks.text("node", query.node.as_deref());
    checks.finish()?;
    let mut tx = db.admin().await?;
    let mut filter = UnitFilter {
        state: query.state,
        node: query.node,
        instance: query.instance_id,
        tenant: query.tenant_id,
        ..UnitFilter::default()
    };
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
    State(db): State<Db>,
    _: Admin,
    Path(id): Path<UnitId>,
) -> Result<Json<StockUnitDetail>, Problem> {
    let mut tx = db.admin().await?;
    let unit = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let history = store::history(&mut tx, id).await?;
    Ok(Json(StockUnitDetail { unit, history }))
}

/// Removes this unit from the stock, unless an instance has claimed or occupies it. The operation succeeds when the
/// unit is gone from the cluster. While the unit is being removed, a repeated call returns that operation; afterwards
/// it returns 404.
#[utoipa::path(delete, path = "/v1/stock-units/{id}", tag = "stock",
    params(("id" = UnitId, Path, description = "Unit id"), IdempotencyKey),
    responses((status = 202, description = "Accepted; follow the operation", body = Operation)),
    extensions(("x-problems" = json!([
        ProblemType::NotFound, ProblemType::UnitInUse, ProblemType::TooManyOperations
    ]))),
)]
async fn remove_stock_unit(
    State(db): State<Db>,
    State(config): State<Arc<StockConfig>>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Path(id): Path<UnitId>,
) -> Result<Reply, Problem> {
    key.once(db.admin().await?, admin.user, &(), async |conn| {
        accepted(&removal::remove(conn, &config, id).await?)
    })
    .await
}
