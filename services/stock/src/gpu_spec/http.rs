//! `/v1/gpu-specs`, and `/internal/v1/gpu-specs` for other services.

use api::{
    Checks, ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, Caller, HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::GpuSpecId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::error::ErrorKind;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    model::{GpuSpecPatch, NewGpuSpec, Price, reprices, reshapes, shape},
    store,
};
use crate::catalogue::Catalogue;
use stock_api::{GpuSpec, GpuSpecState};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Catalogue: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_gpu_specs, create_gpu_spec))
        .routes(routes!(get_gpu_spec, update_gpu_spec, delete_gpu_spec))
        .routes(routes!(list_gpu_spec_prices))
        .routes(routes!(find_gpu_spec))
}

fn name_taken() -> Problem {
    Problem::new(ProblemType::NameTaken, "A GPU specification with this name exists.")
}

fn in_use() -> Problem {
    Problem::new(
        ProblemType::GpuSpecInUse,
        "While a specification has units, only its price, currency and state can change.",
    )
}

/// Narrows the list.
#[derive(Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SpecQuery {
    /// Only names that begin with this text.
    name_prefix: Option<String>,
    /// Only this GPU model.
    gpu_model: Option<String>,
    /// Only specifications in this state.
    state: Option<GpuSpecState>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists specifications by name.
#[utoipa::path(get, path = "/v1/gpu-specs", tag = "gpu-specs", params(SpecQuery),
    responses((status = 200, description = "One page", body = Page<GpuSpec>)))]
async fn list_gpu_specs(
    State(db): State<Db>,
    State(catalogue): State<Catalogue>,
    user: User,
    Query(query): Query<SpecQuery>,
) -> Result<Json<Page<GpuSpec>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor.clone() }.request::<String>()?;
    let after = request.after.clone().unwrap_or_default();
    let mut checks = Checks::default();
    checks.text("name_prefix", query.name_prefix.as_deref());
    checks.text("gpu_model", query.gpu_model.as_deref());
    checks.text("cursor", Some(&after));
    checks.finish()?;
    let filter = store::Filter {
        name_prefix: query.name_prefix.as_deref().unwrap_or_default(),
        gpu_model: query.gpu_model.as_deref(),
        state: query.state,
    };
    let read = async {
        let mut tx = db.platform().await?;
        let rows = store::list(&mut tx, &filter, &after, request.rows()).await?;
        Ok::<_, Problem>(request.page(rows, |row| row.name.clone()))
    };
    Ok(Json(catalogue.read(&user, &("gpu-specs", &query), read).await?))
}

/// Creates a specification.
#[utoipa::path(post, path = "/v1/gpu-specs", tag = "gpu-specs", request_body = NewGpuSpec,
    params(IdempotencyKey),
    responses((status = 201, description = "Created", body = GpuSpec)),
    extensions(("x-problems" = json!([ProblemType::NameTaken]))),
)]
async fn create_gpu_spec(
    State(db): State<Db>,
    State(catalogue): State<Catalogue>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewGpuSpec>,
) -> Result<Reply, Problem> {
    new.check().finish()?;
    let created = key.once(db.platform().await?, admin.user, &new, async |conn| {
        let created = store::insert(conn, &new).await?.ok_or_else(name_taken)?;
        store::insert_price(conn, &created).await?;
        Ok(Reply::json(StatusCode::CREATED, &created)?
            .etag(created.generation)
            .location(format!("/v1/gpu-specs/{}", created.id)))
    });
    catalogue.changing(created).await
}

/// Returns a specification.
#[utoipa::path(get, path = "/v1/gpu-specs/{id}", tag = "gpu-specs",
    params(("id" = GpuSpecId, Path, description = "Specification id")),
    responses((status = 200, description = "The specification", body = GpuSpec)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_gpu_spec(
    State(db): State<Db>,
    State(catalogue): State<Catalogue>,
    user: User,
    Path(id): Path<GpuSpecId>,
) -> Result<(ETag, Json<GpuSpec>), Problem> {
    let read = async {
        let mut tx = db.platform().await?;
        let found = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
        Ok::<_, Problem>((found.generation, found))
    };
    let (generation, found) = catalogue.read(&user, &("gpu-spec", id), read).await?;
    Ok((ETag(generation), Json(found)))
}

/// Changes a specification. A new price is effective at once; units that are claimed already keep the price of their
/// claim.
#[utoipa::path(patch, path = "/v1/gpu-specs/{id}", tag = "gpu-specs", request_body = GpuSpecPatch,
    params(("id" = GpuSpecId, Path, description = "Specification id"),
           IfMatch,
           IdempotencyKey),
    responses((status = 200, description = "Changed", body = GpuSpec)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::NameTaken, ProblemType::GpuSpecInUse, ProblemType::ChangedMeanwhile]))),
)]
async fn update_gpu_spec(
    State(db): State<Db>,
    State(catalogue): State<Catalogue>,
    Admin(admin): Admin,
    Path(id): Path<GpuSpecId>,
    if_match: IfMatch,
    key: IdempotencyKey,
    Json(patch): Json<GpuSpecPatch>,
) -> Result<Reply, Problem> {
    let request = patch.clone();
    let updated = key.once(db.platform().await?, admin.user, &request, async |conn| {
        let found = store::find_for_update(conn, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(found.generation)?;
        let to = patch.apply(found.clone());
        shape(&to).check().finish()?;
        if reshapes(&to, &found) && store::count_units(conn, id).await? != 0 {
            return Err(in_use());
        }
        let updated = store::update(conn, &to)
            .await
            .map_err(Problem::violated(ErrorKind::UniqueViolation, name_taken))?
            .ok_or_else(Problem::not_found)?;
        if reprices(&updated, &found) {
            store::insert_price(conn, &updated).await?;
        }
        Ok(Reply::json(StatusCode::OK, &updated)?.etag(updated.generation))
    });
    catalogue.changing(updated).await
}

/// Deletes a specification without units.
#[utoipa::path(delete, path = "/v1/gpu-specs/{id}", tag = "gpu-specs",
    params(("id" = GpuSpecId, Path, description = "Specification id"),
           IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::GpuSpecInUse]))),
)]
async fn delete_gpu_spec(
    State(db): State<Db>,
    State(catalogue): State<Catalogue>,
    Admin(admin): Admin,
    Path(id): Path<GpuSpecId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let deleted = key.once(db.platform().await?, admin.user, &(), async |conn| {
        let deleted = store::delete(conn, id)
            .await
            .map_err(Problem::violated(ErrorKind::ForeignKeyViolation, in_use))?;
        if deleted { Ok(Reply::no_content()) } else { Err(Problem::not_found()) }
    });
    catalogue.changing(deleted).await
}

/// Lists the prices of a specification, newest first.
#[utoipa::path(get, path = "/v1/gpu-specs/{id}/prices", tag = "gpu-specs",
    params(("id" = GpuSpecId, Path, description = "Specification id"), PageParams),
    responses((status = 200, description = "One page", body = Page<Price>)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn list_gpu_spec_prices(
    State(db): State<Db>,
    _: User,
    Path(id): Path<GpuSpecId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Price>>, Problem> {
    let request = page.request::<Timestamp>()?;
    let mut checks = Checks::default();
    let possible = request.after.is_none_or(|at| (0..=i64::from(u32::MAX)).contains(&at.as_second()));
    checks.require(possible, "cursor", "is not a cursor of this list");
    checks.finish()?;
    let mut tx = db.platform().await?;
    store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::prices(&mut tx, id, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |row| row.effective_from)))
}

/// Returns a specification by id or name, for a user or a service that orders it through another service.
#[utoipa::path(get, path = "/internal/v1/gpu-specs/{id}", tag = "internal",
    params(("id" = String, Path, description = "Specification id or name")),
    responses((status = 200, description = "The specification", body = GpuSpec)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn find_gpu_spec(
    State(db): State<Db>,
    _: Caller,
    Path(reference): Path<String>,
) -> Result<Json<GpuSpec>, Problem> {
    if reference.contains('\0') {
        return Err(Problem::not_found());
    }
    let mut tx = db.platform().await?;
    let found = store::find_by_reference(&mut tx, &reference).await?;
    Ok(Json(found.ok_or_else(Problem::not_found)?))
}
