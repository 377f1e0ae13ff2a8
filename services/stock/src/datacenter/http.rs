//! `/v1/datacenters`, and `/internal/v1/datacenters` for other services.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, Caller, User};
use axum::{extract::State, http::StatusCode};
use ids::DatacenterId;
use sqlx::error::ErrorKind;
use utoipa_axum::routes;

use super::{
    model::{Datacenter, DatacenterPatch, NewDatacenter},
    store,
};
use crate::{AppState, Error};

const NAME_TAKEN: Error = Error::NameTaken { kind: "A datacenter" };

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_datacenters, create_datacenter))
        .routes(routes!(get_datacenter, update_datacenter, delete_datacenter))
        .routes(routes!(find_datacenter))
}

/// Checks that the cluster is configured.
fn check_cluster(checks: &mut Checks, state: &AppState, name: &str) {
    if !state.clusters.contains(name) {
        let known: Vec<_> = state.clusters.names().collect();
        checks.refuse("/cluster", format!("is not a configured cluster: {}", known.join(", ")));
    }
}

/// Lists datacenters by name.
#[utoipa::path(get, path = "/v1/datacenters", tag = "datacenters", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Datacenter>)))]
async fn list_datacenters(
    State(state): State<AppState>,
    user: User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Datacenter>>, Problem> {
    let request = page.request::<String>()?;
    let after = request.after.clone().unwrap_or_default();
    let mut checks = Checks::default();
    checks.text("cursor", Some(&after));
    checks.finish()?;
    let question = ("datacenters", page.limit, &page.cursor);
    let read = async {
        let mut tx = state.db.platform().await?;
        let rows = store::list(&mut tx, &after, request.rows()).await?;
        Ok::<_, Problem>(request.page(rows, |row| row.name.clone()))
    };
    Ok(Json(state.catalogue(&user, &question, read).await?))
}

/// Creates a datacenter.
#[utoipa::path(post, path = "/v1/datacenters", tag = "datacenters", request_body = NewDatacenter,
    params(IdempotencyKey),
    responses((status = 201, description = "Created", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NameTaken]))),
)]
async fn create_datacenter(
    State(state): State<AppState>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewDatacenter>,
) -> Result<Reply, Problem> {
    let mut checks = new.check();
    check_cluster(&mut checks, &state, &new.cluster);
    checks.finish()?;
    let created = key.once(state.db.platform().await?, admin.user, &new, async |conn| {
        let created = store::insert(conn, &new).await?.ok_or(NAME_TAKEN)?;
        Ok(Reply::json(StatusCode::CREATED, &created)?
            .etag(created.generation)
            .location(format!("/v1/datacenters/{}", created.id)))
    });
    state.changing_catalogue(created).await
}

/// Returns a datacenter.
#[utoipa::path(get, path = "/v1/datacenters/{id}", tag = "datacenters",
    params(("id" = String, Path, description = "Datacenter id or name")),
    responses((status = 200, description = "The datacenter", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_datacenter(
    State(state): State<AppState>,
    _: User,
    Path(id_or_name): Path<String>,
) -> Result<(ETag, Json<Datacenter>), Problem> {
    let mut tx = state.db.platform().await?;
    let found = store::find_by_reference(&mut tx, &id_or_name).await?.ok_or(Error::NotFound)?;
    Ok((ETag(found.generation), Json(found)))
}

/// Changes a datacenter, or drains it. A draining datacenter takes no new stock and no new claims; its instances go
/// on, and its free stock can be removed.
#[utoipa::path(patch, path = "/v1/datacenters/{id}", tag = "datacenters", request_body = DatacenterPatch,
    params(("id" = DatacenterId, Path, description = "Datacenter id"),
           IfMatch,
           IdempotencyKey),
    responses((status = 200, description = "Changed", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::NameTaken, ProblemType::DatacenterInUse, ProblemType::ChangedMeanwhile]))),
)]
async fn update_datacenter(
    State(state): State<AppState>,
    Admin(admin): Admin,
    Path(id): Path<DatacenterId>,
    if_match: IfMatch,
    key: IdempotencyKey,
    Json(patch): Json<DatacenterPatch>,
) -> Result<Reply, Problem> {
    let mut checks = patch.check();
    if let Some(cluster) = &patch.cluster {
        check_cluster(&mut checks, &state, cluster);
    }
    checks.finish()?;
    let request = patch.clone();
    let updated = key.once(state.db.platform().await?, admin.user, &request, async |conn| {
        let found = store::find_for_update(conn, id).await?.ok_or(Error::NotFound)?;
        if_match.check(found.generation)?;
        let to = patch.apply(found.clone());
        if to.reshapes(&found) && store::count_units(conn, id).await? != 0 {
            return Err(Error::DatacenterInUse.into());
        }
        let updated = store::update(conn, &to)
            .await
            .map_err(Error::if_violated(ErrorKind::UniqueViolation, NAME_TAKEN))?;
        let updated = updated.ok_or(Error::NotFound)?;
        Ok(Reply::json(StatusCode::OK, &updated)?.etag(updated.generation))
    });
    let updated = state.changing_catalogue(updated).await;
    state.datacenter_changed.notify_one();
    updated
}

/// Deletes a datacenter without stock.
#[utoipa::path(delete, path = "/v1/datacenters/{id}", tag = "datacenters",
    params(("id" = DatacenterId, Path, description = "Datacenter id"),
           IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::DatacenterInUse]))),
)]
async fn delete_datacenter(
    State(state): State<AppState>,
    Admin(admin): Admin,
    Path(id): Path<DatacenterId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let deleted = key.once(state.db.platform().await?, admin.user, &(), async |conn| {
        let deleted = store::delete(conn, id)
            .await
            .map_err(Error::if_violated(ErrorKind::ForeignKeyViolation, Error::DatacenterInUse))?;
        if deleted { Ok(Reply::no_content()) } else { Err(Error::NotFound.into()) }
    });
    state.changing_catalogue(deleted).await
}

/// Returns a datacenter by id or name, for a service that orders units in it through another service.
#[utoipa::path(get, path = "/internal/v1/datacenters/{id}", tag = "internal",
    params(("id" = String, Path, description = "Datacenter id or name")),
    responses((status = 200, description = "The datacenter", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn find_datacenter(
    State(state): State<AppState>,
    _: Caller,
    Path(id_or_name): Path<String>,
) -> Result<Json<Datacenter>, Problem> {
    let mut tx = state.db.platform().await?;
    let found = store::find_by_reference(&mut tx, &id_or_name).await?;
    Ok(Json(found.ok_or(Error::NotFound)?))
}
