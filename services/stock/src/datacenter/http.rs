//! `/v1/datacenters`.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::{Admin, User};
use axum::{extract::State, http::StatusCode};
use ids::DatacenterId;
use sqlx::error::ErrorKind;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Datacenter, DatacenterPatch, NewDatacenter},
    store,
};
use crate::App;
use api::Checks;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_datacenters, create_datacenter)).routes(routes!(
        get_datacenter,
        update_datacenter,
        delete_datacenter
    ))
}

fn name_taken() -> Problem {
    Problem::new(ProblemType::NameTaken, "A datacenter of this name exists.")
}

fn in_use() -> Problem {
    Problem::new(ProblemType::DatacenterInUse, "There are units of stock in this datacenter.")
}

fn check_cluster(app: &App, name: &str) -> Result<(), Problem> {
    if app.clusters().contains(name) {
        return Ok(());
    }
    let known: Vec<_> = app.clusters().names().collect();
    Err(Problem::invalid_field(
        "/cluster",
        format!("is not a configured cluster; there are: {}", known.join(", ")),
    ))
}

/// Datacenters, by name.
#[utoipa::path(get, path = "/v1/datacenters", tag = "datacenters", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Datacenter>)))]
async fn list_datacenters(
    State(app): State<App>,
    _: User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Datacenter>>, Problem> {
    let asked = page.request::<String>()?;
    let after = asked.after.clone().unwrap_or_default();
    let mut checks = Checks::default();
    checks.text("cursor", Some(&after));
    checks.finish()?;
    let mut tx = app.db().platform().await?;
    let rows = store::list(&mut tx, &after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| row.name.clone())))
}

/// Makes a datacenter.
#[utoipa::path(post, path = "/v1/datacenters", tag = "datacenters", request_body = NewDatacenter,
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 201, description = "Made", body = Datacenter),
              (status = 409, description = "The name is taken", body = Problem)))]
async fn create_datacenter(
    State(app): State<App>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewDatacenter>,
) -> Result<Reply, Problem> {
    new.check()?;
    check_cluster(&app, &new.cluster)?;
    key.once(app.db().platform().await?, admin.user, &new, async |conn| {
        let made = store::insert(conn, &new).await?.ok_or_else(name_taken)?;
        Ok(Reply::json(StatusCode::CREATED, &made)?
            .etag(made.generation)
            .location(format!("/v1/datacenters/{}", made.id)))
    })
    .await
}

/// A datacenter.
#[utoipa::path(get, path = "/v1/datacenters/{id}", tag = "datacenters",
    params(("id" = DatacenterId, Path, description = "Its id")),
    responses((status = 200, description = "It", body = Datacenter),
              (status = 404, description = "There is none", body = Problem)))]
async fn get_datacenter(
    State(app): State<App>,
    _: User,
    Path(id): Path<DatacenterId>,
) -> Result<(ETag, Json<Datacenter>), Problem> {
    let mut tx = app.db().platform().await?;
    let found = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(found.generation), Json(found)))
}

/// Changes a datacenter, or drains it: a draining datacenter gives out no units and takes no new stock;
/// what runs there runs on, and its free stock can be removed.
#[utoipa::path(patch, path = "/v1/datacenters/{id}", tag = "datacenters", request_body = DatacenterPatch,
    params(("id" = DatacenterId, Path, description = "Its id"),
           ("If-Match" = String, Header, description = "The ETag it was read with"),
           ("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 200, description = "As it is now", body = Datacenter),
              (status = 404, description = "There is none", body = Problem),
              (status = 409, description = "The name is taken, or units stand in the way", body = Problem),
              (status = 412, description = "Changed meanwhile", body = Problem)))]
async fn update_datacenter(
    State(app): State<App>,
    Admin(admin): Admin,
    Path(id): Path<DatacenterId>,
    if_match: IfMatch,
    key: IdempotencyKey,
    Json(patch): Json<DatacenterPatch>,
) -> Result<Reply, Problem> {
    patch.check()?;
    if let Some(cluster) = &patch.cluster {
        check_cluster(&app, cluster)?;
    }
    key.once(app.db().platform().await?, admin.user, &patch.clone(), async |conn| {
        let found = store::find_for_update(conn, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(found.generation)?;
        let (to, reshaped) = patch.apply(found);
        if reshaped && store::count_units(conn, id).await? != 0 {
            return Err(in_use());
        }
        let updated = store::update(conn, &to)
            .await
            .map_err(Problem::violated(ErrorKind::UniqueViolation, name_taken))?;
        let updated = updated.ok_or_else(Problem::not_found)?;
        Ok(Reply::json(StatusCode::OK, &updated)?.etag(updated.generation))
    })
    .await
}

/// Deletes a datacenter without stock.
#[utoipa::path(delete, path = "/v1/datacenters/{id}", tag = "datacenters",
    params(("id" = DatacenterId, Path, description = "Its id"),
           ("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 204, description = "Gone"),
              (status = 404, description = "There is none", body = Problem),
              (status = 409, description = "It has stock", body = Problem)))]
async fn delete_datacenter(
    State(app): State<App>,
    Admin(admin): Admin,
    Path(id): Path<DatacenterId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(app.db().platform().await?, admin.user, &(), async |conn| {
        let deleted = store::delete(conn, id)
            .await
            .map_err(Problem::violated(ErrorKind::ForeignKeyViolation, in_use))?;
        if deleted { Ok(Reply::no_content()) } else { Err(Problem::not_found()) }
    })
    .await
}
