//! `/v1/datacenters`, and `/internal/v1/datacenters` for other services.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, Caller, HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use ids::DatacenterId;
use sqlx::error::ErrorKind;
use utoipa_axum::routes;

use super::{
    Datacenters,
    model::{DatacenterPatch, NewDatacenter, reshapes},
    store,
};
use stock_api::Datacenter;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Datacenters: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_datacenters, create_datacenter))
        .routes(routes!(get_datacenter, update_datacenter, delete_datacenter))
        .routes(routes!(find_datacenter))
}

fn name_taken() -> Problem {
    Problem::new(ProblemType::NameTaken, "A datacenter with this name exists.")
}

fn in_use() -> Problem {
    Problem::new(
        ProblemType::DatacenterInUse,
        "While a datacenter has units, its name and cluster cannot change, and it cannot be deleted.",
    )
}

/// Checks that the cluster is configured.
fn check_cluster(checks: &mut Checks, state: &Datacenters, name: &str) {
    if !state.clusters.contains(name) {
        let known: Vec<_> = state.clusters.names().collect();
        checks.refuse("/cluster", format!("is not a configured cluster: {}", known.join(", ")));
    }
}

/// Lists datacenters by name.
#[utoipa::path(get, path = "/v1/datacenters", tag = "datacenters", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Datacenter>)))]
async fn list_datacenters(
    State(state): State<Datacenters>,
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
    Ok(Json(state.catalogue.read(&user, &question, read).await?))
}

/// Creates a datacenter.
#[utoipa::path(post, path = "/v1/datacenters", tag = "datacenters", request_body = NewDatacenter,
    params(IdempotencyKey),
    responses((status = 201, description = "Created", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NameTaken]))),
)]
async fn create_datacenter(
    State(state): State<Datacenters>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewDatacenter>,
) -> Result<Reply, Problem> {
    let mut checks = new.check();
    check_cluster(&mut checks, &state, &new.cluster);
    checks.finish()?;
    let created = key.once(state.db.platform().await?, admin.user, &new, async |conn| {
        let created = store::insert(conn, &new).await?.ok_or_else(name_taken)?;
        Ok(Reply::json(StatusCode::CREATED, &created)?
            .etag(created.generation)
            .location(format!("/v1/datacenters/{}", created.id)))
    });
    state.catalogue.changing(created).await
}

/// Returns a datacenter.
#[utoipa::path(get, path = "/v1/datacenters/{id}", tag = "datacenters",
    params(("id" = String, Path, description = "Datacenter id or name")),
    responses((status = 200, description = "The datacenter", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_datacenter(
    State(state): State<Datacenters>,
    _: User,
    Path(id_or_name): Path<String>,
) -> Result<(ETag, Json<Datacenter>), Problem> {
    let mut tx = state.db.platform().await?;
    let found = store::find_by_reference(&mut tx, &id_or_name).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(found.generation), Json(found)))
}

/// Changes a datacenter, or drains it. A draining datacenter accepts no new stock and no new claims. Its instances
/// continue, and its free stock can be removed.
#[utoipa::path(patch, path = "/v1/datacenters/{id}", tag = "datacenters", request_body = DatacenterPatch,
    params(("id" = DatacenterId, Path, description = "Datacenter id"),
           IfMatch,
           IdempotencyKey),
    responses((status = 200, description = "Changed", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::NameTaken, ProblemType::DatacenterInUse, ProblemType::ChangedMeanwhile]))),
)]
async fn update_datacenter(
    State(state): State<Datacenters>,
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
        let found = store::find_for_update(conn, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(found.generation)?;
        let to = patch.apply(found.clone());
        if reshapes(&to, &found) && store::count_units(conn, id).await? != 0 {
            return Err(in_use());
        }
        let updated = store::update(conn, &to)
            .await
            .map_err(Problem::violated(ErrorKind::UniqueViolation, name_taken))?;
        let updated = updated.ok_or_else(Problem::not_found)?;
        Ok(Reply::json(StatusCode::OK, &updated)?.etag(updated.generation))
    });
    let updated = state.catalogue.changing(updated).await;
    state.changed.notify_one();
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
    State(state): State<Datacenters>,
    Admin(admin): Admin,
    Path(id): Path<DatacenterId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let deleted = key.once(state.db.platform().await?, admin.user, &(), async |conn| {
        let deleted = store::delete(conn, id)
            .await
            .map_err(Problem::violated(ErrorKind::ForeignKeyViolation, in_use))?;
        if deleted { Ok(Reply::no_content()) } else { Err(Problem::not_found()) }
    });
    state.catalogue.changing(deleted).await
}

/// Returns a datacenter by id or name, for a service that orders units in it through another service.
#[utoipa::path(get, path = "/internal/v1/datacenters/{id}", tag = "internal",
    params(("id" = String, Path, description = "Datacenter id or name")),
    responses((status = 200, description = "The datacenter", body = Datacenter)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn find_datacenter(
    State(state): State<Datacenters>,
    _: Caller,
    Path(id_or_name): Path<String>,
) -> Result<Json<Datacenter>, Problem> {
    let mut tx = state.db.platform().await?;
    let found = store::find_by_reference(&mut tx, &id_or_name).await?;
    Ok(Json(found.ok_or_else(Problem::not_found)?))
}
