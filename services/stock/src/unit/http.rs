//! `/v1/stock`, `/v1/stock-units`, `/v1/stock-repairs`.

use api::{
    Checks, IdempotencyKey, Json, Operation, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
};
use auth::{Admin, Principal, User};
use axum::{extract::State, http::StatusCode};
use ids::UnitId;
use serde::Deserialize;
use sqlx::PgConnection;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{MOST_UNITS, Repair, StockChange, StockRow, StockUnit, StockUnitPage, UnitState},
    store,
};
use crate::{
    App,
    datacenter::{
        self,
        model::{Datacenter, DatacenterState},
    },
    operation::{self, model::OperationKind},
    spec::{
        self,
        model::{GpuSpec, GpuSpecState},
    },
};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_stock))
        .routes(routes!(add_stock))
        .routes(routes!(remove_stock))
        .routes(routes!(list_stock_units))
        .routes(routes!(get_stock_unit))
        .routes(routes!(list_stock_repairs))
}

/// What to narrow the list to.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StockQuery {
    /// Only specifications whose names begin so.
    spec_name: Option<String>,
    /// Only this datacenter, by name or id.
    datacenter: Option<String>,
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

/// The stock, one line for each specification and datacenter that has any, by their names.
#[utoipa::path(get, path = "/v1/stock", tag = "stock", params(StockQuery),
    responses((status = 200, description = "One page", body = Page<StockRow>)))]
async fn list_stock(
    State(app): State<App>,
    _: User,
    Query(query): Query<StockQuery>,
) -> Result<Json<Page<StockRow>>, Problem> {
    let asked = PageParams { limit: query.limit, cursor: query.cursor }.request::<(String, String)>()?;
    let after = asked.after.clone().unwrap_or_default();
    let mut checks = Checks::default();
    checks.text("spec_name", query.spec_name.as_deref());
    checks.text("datacenter", query.datacenter.as_deref());
    checks.text("cursor", Some(&after.0));
    checks.text("cursor", Some(&after.1));
    checks.finish()?;
    let prefix = query.spec_name.unwrap_or_default();
    let mut tx = app.db().platform().await?;
    let rows = store::list_stock(&mut tx, &prefix, query.datacenter.as_deref(), &after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| (row.gpu_spec.name.clone(), row.datacenter.name.clone()))))
}

/// Finds what a change of stock is about, and keeps it as it is until the transaction ends.
async fn keep(conn: &mut PgConnection, change: &StockChange) -> Result<(GpuSpec, Datacenter), Problem> {
    let mut checks = Checks::default();
    checks.text("/gpu_spec", Some(&change.gpu_spec));
    checks.text("/datacenter", Some(&change.datacenter));
    checks.finish()?;
    let spec = spec::store::keep_by_reference(conn, &change.gpu_spec).await?;
    let datacenter = datacenter::store::keep_by_reference(conn, &change.datacenter).await?;
    let mut checks = Checks::default();
    checks.within("/count", change.count, 1, MOST_UNITS);
    checks.require(spec.is_some(), "/gpu_spec", "is not the name or id of a GPU specification");
    checks.require(datacenter.is_some(), "/datacenter", "is not the name or id of a datacenter");
    checks.finish()?;
    spec.zip(datacenter).ok_or_else(Problem::not_found)
}

fn accepted(record: operation::model::Record) -> Result<Reply, Problem> {
    let location = format!("/v1/stock-operations/{}", record.id);
    Ok(Reply::json(StatusCode::ACCEPTED, &Operation::from(record))?.location(location))
}

/// Adds units to the stock. They become available as the cluster holds their resources; the operation tells
/// how far it is, and why what is not held is not.
#[utoipa::path(post, path = "/v1/stock/additions", tag = "stock", request_body = StockChange,
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 202, description = "Recorded; follow the operation", body = Operation),
              (status = 409, description = "The specification is retired or the datacenter drains", body = Problem)))]
async fn add_stock(
    State(app): State<App>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(change): Json<StockChange>,
) -> Result<Reply, Problem> {
    let reply = add(&app, &admin, &key, &change).await?;
    app.work().notify_one();
    Ok(reply)
}

async fn add(
    app: &App,
    admin: &Principal,
    key: &IdempotencyKey,
    change: &StockChange,
) -> Result<Reply, Problem> {
    let patience = app.tuning().hold_deadline_seconds;
    key.once(app.db().platform().await?, admin.user, change, async |conn| {
        let (spec, datacenter) = keep(conn, change).await?;
        if spec.state == GpuSpecState::Retired {
            return Err(Problem::new(
                ProblemType::GpuSpecRetired,
                "A retired specification takes no new stock.",
            ));
        }
        if datacenter.state == DatacenterState::Draining {
            return Err(Problem::new(
                ProblemType::DatacenterDraining,
                "A draining datacenter takes no new stock.",
            ));
        }
        let units: Vec<UnitId> = (0..change.count).map(|_| UnitId::new()).collect();
        store::insert_units(conn, &units, spec.id, datacenter.id).await?;
        accepted(
            operation::store::insert(
                conn,
                OperationKind::AddStock,
                &spec,
                &datacenter,
                &units,
                Some(patience),
            )
            .await?,
        )
    })
    .await
}

/// Removes units from the stock: those that are not held first, never one that an instance has. The
/// operation ends when they are gone from the cluster.
#[utoipa::path(post, path = "/v1/stock/removals", tag = "stock", request_body = StockChange,
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 202, description = "Recorded; follow the operation", body = Operation),
              (status = 409, description = "Not so many are free; `free` says how many", body = Problem)))]
async fn remove_stock(
    State(app): State<App>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(change): Json<StockChange>,
) -> Result<Reply, Problem> {
    let reply = remove(&app, &admin, &key, &change).await?;
    app.work().notify_one();
    app.settle().notify_one();
    Ok(reply)
}

async fn remove(
    app: &App,
    admin: &Principal,
    key: &IdempotencyKey,
    change: &StockChange,
) -> Result<Reply, Problem> {
    key.once(app.db().platform().await?, admin.user, change, async |conn| {
        let (spec, datacenter) = keep(conn, change).await?;
        let units = store::take_out(conn, spec.id, datacenter.id, change.count).await?;
        let free = i64::try_from(units.len()).unwrap_or(i64::MAX);
        if free < change.count {
            return Err(Problem::new(
                ProblemType::StockInUse,
                format!("{free} units of {} in {} are free.", spec.name, datacenter.name),
            )
            .with("free", free));
        }
        let record =
            operation::store::insert(conn, OperationKind::RemoveStock, &spec, &datacenter, &units, None)
                .await?;
        store::give_up_additions(conn, &units, record.id).await?;
        accepted(record)
    })
    .await
}

/// What to narrow the list to.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct UnitQuery {
    /// Only of this specification, by name or id.
    gpu_spec: Option<String>,
    /// Only in this datacenter, by name or id.
    datacenter: Option<String>,
    /// Only in this state.
    #[param(inline)]
    state: Option<UnitState>,
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

/// Units, in the order they were added. For administrators: units of all tenants are shown with their
/// holders.
#[utoipa::path(get, path = "/v1/stock-units", tag = "stock", params(UnitQuery),
    responses((status = 200, description = "One page", body = Page<StockUnit>)))]
async fn list_stock_units(
    State(app): State<App>,
    _: Admin,
    Query(query): Query<UnitQuery>,
) -> Result<Json<Page<StockUnit>>, Problem> {
    let asked = PageParams { limit: query.limit, cursor: query.cursor }.request::<UnitId>()?;
    let mut checks = Checks::default();
    checks.text("gpu_spec", query.gpu_spec.as_deref());
    checks.text("datacenter", query.datacenter.as_deref());
    checks.finish()?;
    // units in use are their tenants'; the request role does not see them
    let mut tx = app.db().worker().await?;
    let mut filter = store::UnitFilter { state: query.state, ..Default::default() };
    if let Some(reference) = &query.gpu_spec {
        let Some(found) = spec::store::find_by_reference(&mut tx, reference).await? else {
            return Ok(Json(Page { items: Vec::new(), next_cursor: None }));
        };
        filter.gpu_spec = Some(found.id);
    }
    if let Some(reference) = &query.datacenter {
        let Some(found) = datacenter::store::find_by_reference(&mut tx, reference).await? else {
            return Ok(Json(Page { items: Vec::new(), next_cursor: None }));
        };
        filter.datacenter = Some(found.id);
    }
    let rows = store::list_units(&mut tx, &filter, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| row.id)))
}

/// A unit: where it is, how it stands, who has it and who had it.
#[utoipa::path(get, path = "/v1/stock-units/{id}", tag = "stock",
    params(("id" = UnitId, Path, description = "Its id")),
    responses((status = 200, description = "It", body = StockUnitPage),
              (status = 404, description = "There is none", body = Problem)))]
async fn get_stock_unit(
    State(app): State<App>,
    _: Admin,
    Path(id): Path<UnitId>,
) -> Result<Json<StockUnitPage>, Problem> {
    let mut tx = app.db().worker().await?;
    let unit = store::find_unit(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let history = store::history(&mut tx, id).await?;
    Ok(Json(StockUnitPage { unit, history }))
}

/// What comparisons of the clusters with the stock found and put right, the newest first.
#[utoipa::path(get, path = "/v1/stock-repairs", tag = "stock", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Repair>)))]
async fn list_stock_repairs(
    State(app): State<App>,
    _: Admin,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Repair>>, Problem> {
    let asked = page.request::<i64>()?;
    let mut tx = app.db().platform().await?;
    let rows = store::repairs(&mut tx, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| row.id)))
}
