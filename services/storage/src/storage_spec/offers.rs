//! `/v1/storage-offers`: prices of storage, public.

use api::{Checks, Json, Page, PageParams, Problem, Query, openapi::OpenApiRouter};
use auth::HasAuth;
use axum::{
    extract::{FromRef, State},
    http::{HeaderName, header},
};
use db::Db;
use rust_decimal::Decimal;
use serde::Serialize;
use storage_api::StorageKind;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    model::{SpecState, StorageSpec},
    store,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_storage_offers))
}

/// A storage specification from which storages can be created.
#[derive(Debug, Serialize, ToSchema)]
struct StorageOffer {
    /// Name of the specification.
    name: String,
    /// Kind of its storages.
    kind: StorageKind,
    /// Smallest size in GiB.
    min_size_gib: i64,
    /// Largest size in GiB. Equal to the smallest one if the size is fixed.
    max_size_gib: i64,
    /// Price of one GiB for one month, as a decimal string.
    #[schema(value_type = String, example = "0.05")]
    price_per_gib_month: Decimal,
    /// Currency of the price (ISO 4217).
    currency: String,
}

impl From<StorageSpec> for StorageOffer {
    fn from(spec: StorageSpec) -> Self {
        Self {
            name: spec.name,
            kind: spec.kind,
            min_size_gib: spec.min_size_gib,
            max_size_gib: spec.max_size_gib,
            price_per_gib_month: spec.price_per_gib_month,
            currency: spec.currency,
        }
    }
}

type Cached<T> = ([(HeaderName, &'static str); 1], T);

/// Lists the storage specifications that are for sale, by name, with prices.
///
/// Needs no token. Caches may keep the response for 30 seconds.
#[utoipa::path(
    get, path = "/v1/storage-offers", operation_id = "list_storage_offers", tag = "storage specs", security(()),
    params(PageParams),
    responses((status = 200, description = "A page", body = Page<StorageOffer>))
)]
async fn list_storage_offers(
    State(db): State<Db>,
    Query(page): Query<PageParams>,
) -> Result<Cached<Json<Page<StorageOffer>>>, Problem> {
    let page = page.request::<String>()?;
    let mut checks = Checks::default();
    checks.text("cursor", page.after.as_deref());
    checks.finish()?;
    let filter = store::Filter { name_prefix: None, kind: None, state: Some(SpecState::Active) };
    let mut tx = db.platform().await?;
    let specs = store::list(&mut tx, page.after.as_deref(), filter, page.rows()).await?;
    let offers = page.page(specs, |spec| spec.name.clone()).map(StorageOffer::from);
    Ok(([(header::CACHE_CONTROL, "public, max-age=30")], Json(offers)))
}
