//! `/v1/stock-capacity`.

use api::{Checks, Json, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{Admin, HasAuth};
use axum::extract::{FromRef, State};
use db::Db;
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    model::{CapacityStep, Period, StockCapacity},
    store,
};
use crate::{datacenter, gpu_spec};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_stock_capacity))
}

/// The period, and the filters.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct CapacityQuery {
    /// Only units of this specification, by name or id.
    gpu_spec: Option<String>,
    /// Only units in this datacenter, by name or id.
    datacenter: Option<String>,
    /// Length of the steps; `hour` if absent.
    #[param(inline = false)]
    step: Option<CapacityStep>,
    /// Beginning of the period; a day before `to` with steps of an hour, and 30 days with steps of a day, if absent. At most
    /// 31 days before `to` with steps of an hour, and 400 days with steps of a day.
    #[param(value_type = Option<String>, format = DateTime)]
    from: Option<Timestamp>,
    /// End of the period; now if absent or later than now.
    #[param(value_type = Option<String>, format = DateTime)]
    to: Option<Timestamp>,
}

/// Returns how many units were available, inactive and used over time, by hour or day. The stock is counted every
/// minute. Hours are kept for 62 days and days for three years, also for deleted specifications and datacenters.
#[utoipa::path(get, path = "/v1/stock-capacity", tag = "stock", params(CapacityQuery),
    responses((status = 200, description = "The units in each step", body = StockCapacity)),
    extensions(("x-problems" = json!([ProblemType::InvalidField]))),
)]
async fn get_stock_capacity(
    State(db): State<Db>,
    _: Admin,
    Query(query): Query<CapacityQuery>,
) -> Result<Json<StockCapacity>, Problem> {
    let mut checks = Checks::default();
    checks.text("gpu_spec", query.gpu_spec.as_deref());
    checks.text("datacenter", query.datacenter.as_deref());
    checks.finish()?;
    let mut tx = db.admin().await?;
    let period =
        Period::new(query.step.unwrap_or_default(), query.from, query.to, store::now(&mut tx).await?)
            .map_err(|(field, detail)| Problem::invalid_field(field, detail))?;
    let mut checks = Checks::default();
    let gpu_spec = match &query.gpu_spec {
        None => None,
        Some(reference) => {
            let found = gpu_spec::store::find_by_reference(&mut tx, reference).await?;
            checks.require(found.is_some(), "gpu_spec", "is not the name or id of a GPU specification");
            found.map(|spec| spec.id)
        }
    };
    let datacenter = match &query.datacenter {
        None => None,
        Some(reference) => {
            let found = datacenter::store::find_by_reference(&mut tx, reference).await?;
            checks.require(found.is_some(), "datacenter", "is not the name or id of a datacenter");
            found.map(|datacenter| datacenter.id)
        }
    };
    checks.finish()?;
    let counted = store::read(&mut tx, period, gpu_spec, datacenter).await?;
    Ok(Json(period.fill(counted)))
}
