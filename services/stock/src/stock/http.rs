//! `/v1/stock`.

use std::sync::Arc;

use api::{
    Checks, IdempotencyKey, Json, Operation, Page, PageParams, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth, User};
use axum::extract::{FromRef, State};
use db::Db;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    change,
    model::{MAX_UNITS, StockChange, StockRow},
    store::{self, After},
};
use crate::{config::StockConfig, operation::http::accepted};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Arc<StockConfig>: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_stock)).routes(routes!(add_stock)).routes(routes!(remove_stock))
}

/// Narrows the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StockQuery {
    /// Only specifications whose names begin with this text.
    spec_name: Option<String>,
    /// Only this datacenter, by name or id.
    datacenter: Option<String>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the stock by specification and datacenter, without empty combinations.
#[utoipa::path(get, path = "/v1/stock", tag = "stock", params(StockQuery),
    responses((status = 200, description = "One page", body = Page<StockRow>)))]
async fn list_stock(
    State(db): State<Db>,
    State(config): State<Arc<StockConfig>>,
    _: User,
    Query(query): Query<StockQuery>,
) -> Result<Json<Page<StockRow>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor }.request::<(String, String)>()?;
    let (gpu_spec, datacenter) = request.after.clone().unwrap_or_default();
    let mut checks = Checks::default();
    checks.text("spec_name", query.spec_name.as_deref());
    checks.text("datacenter", query.datacenter.as_deref());
    checks.text("cursor", Some(&gpu_spec));
    checks.text("cursor", Some(&datacenter));
    checks.finish()?;
    let prefix = query.spec_name.unwrap_or_default();
    let after = After { gpu_spec: &gpu_spec, datacenter: &datacenter };
    let mut tx = db.platform().await?;
    let (datacenter, hold_back) = (query.datacenter.as_deref(), config.interruptible_hold_back.into());
    let rows = store::list(&mut tx, &prefix, datacenter, &after, hold_back, request.rows()).await?;
    Ok(Json(request.page(rows, |row| (row.gpu_spec.name.clone(), row.datacenter.name.clone()))))
}

impl StockChange {
    fn check(&self) -> Result<(), Problem> {
        let mut checks = Checks::default();
        checks.text("/gpu_spec", Some(&self.gpu_spec));
        checks.text("/datacenter", Some(&self.datacenter));
        checks.within("/count", self.count, 1, MAX_UNITS);
        Ok(checks.finish()?)
    }
}

/// Adds units to the stock. They become available when the cluster holds their resources; the operation reports how
/// many do, and why the others do not. When it fails, units that are not in the cluster yet are withdrawn.
#[utoipa::path(post, path = "/v1/stock/additions", tag = "stock", request_body = StockChange,
    params(IdempotencyKey),
    responses((status = 202, description = "Accepted; follow the operation", body = Operation)),
    extensions(("x-problems" = json!([
        ProblemType::GpuSpecRetired, ProblemType::DatacenterDraining, ProblemType::TooManyOperations
    ]))),
)]
async fn add_stock(
    State(db): State<Db>,
    State(config): State<Arc<StockConfig>>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(request): Json<StockChange>,
) -> Result<Reply, Problem> {
    request.check()?;
    key.once(db.platform().await?, admin.user, &request, async |conn| {
        accepted(&change::add(conn, &config, &request).await?)
    })
    .await
}

/// Removes units from the stock: inactive ones first, and none that an instance has claimed or occupies. The operation
/// succeeds when they are gone from the cluster.
#[utoipa::path(post, path = "/v1/stock/removals", tag = "stock", request_body = StockChange,
    params(IdempotencyKey),
    responses((status = 202, description = "Accepted; follow the operation", body = Operation)),
    extensions(("x-problems" = json!([ProblemType::StockInUse, ProblemType::TooManyOperations]))),
)]
async fn remove_stock(
    State(db): State<Db>,
    State(config): State<Arc<StockConfig>>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(request): Json<StockChange>,
) -> Result<Reply, Problem> {
    request.check()?;
    key.once(db.platform().await?, admin.user, &request, async |conn| {
        accepted(&change::remove(conn, &config, &request).await?)
    })
    .await
}
