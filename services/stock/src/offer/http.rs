//! `/v1/offers`, for everybody.

use std::sync::Arc;

use api::{Checks, Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::HasAuth;
use axum::{
    extract::{FromRef, State},
    http::{HeaderName, header},
};
use db::Db;
use stock_api::GpuSpecState;
use utoipa_axum::routes;

use super::model::Offer;
use crate::{
    config::StockConfig,
    gpu_spec,
    stock::{self, store::After},
};

/// Rows of stock that are read at a time.
const ROWS: i64 = 200;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Arc<StockConfig>: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_offers))
}

type Cached<T> = ([(HeaderName, &'static str); 1], T);

/// Lists the GPU specifications that are for sale, by name, with prices and availability in datacenters.
///
/// Needs no token. The number of units is not returned. Caches may keep the response for 30 seconds.
#[utoipa::path(get, path = "/v1/offers", operation_id = "list_offers", tag = "gpu-specs", security(()), params(PageParams),
    responses((status = 200, description = "One page", body = Page<Offer>)))]
async fn list_offers(
    State(db): State<Db>,
    State(config): State<Arc<StockConfig>>,
    Query(page): Query<PageParams>,
) -> Result<Cached<Json<Page<Offer>>>, Problem> {
    let request = page.request::<String>()?;
    let after = request.after.clone().unwrap_or_default();
    let mut checks = Checks::default();
    checks.text("cursor", Some(&after));
    checks.finish()?;
    let filter = gpu_spec::store::Filter { state: Some(GpuSpecState::Active), ..Default::default() };
    let mut tx = db.platform().await?;
    let specs = gpu_spec::store::list(&mut tx, &filter, &after, request.rows()).await?;
    let mut page =
        request.page(specs.into_iter().map(Offer::new).collect(), |offer: &Offer| offer.name.clone());
    let last = page.items.last().map(|offer| offer.name.clone());
    let hold_back = config.interruptible_hold_back.into();
    let (mut name, mut datacenter) = (after, String::new());
    while last.is_some() {
        let from = After { gpu_spec: &name, datacenter: &datacenter };
        let rows = stock::store::list(&mut tx, "", None, &from, hold_back, ROWS).await?;
        for row in &rows {
            let at = page.items.binary_search_by(|offer| offer.name.cmp(&row.gpu_spec.name));
            if let Some(offer) = at.ok().and_then(|at| page.items.get_mut(at)) {
                offer.add(row);
            }
        }
        match rows.last() {
            Some(row)
                if i64::try_from(rows.len()) == Ok(ROWS) && Some(&row.gpu_spec.name) <= last.as_ref() =>
            {
                (name, datacenter) = (row.gpu_spec.name.clone(), row.datacenter.name.clone());
            }
            _ => break,
        }
    }
    Ok(([(header::CACHE_CONTROL, "public, max-age=30")], Json(page)))
}
