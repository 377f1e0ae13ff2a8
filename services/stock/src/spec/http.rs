//! `/v1/gpu-specs`, and the same for other services.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::{Admin, Caller, User};
use axum::{extract::State, http::StatusCode};
use ids::GpuSpecId;
use jiff::Timestamp;
use serde::Deserialize;
use sqlx::error::ErrorKind;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{GpuSpec, GpuSpecPatch, GpuSpecState, NewGpuSpec, Price},
    store,
};
use crate::App;
use api::Checks;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_gpu_specs, create_gpu_spec))
        .routes(routes!(get_gpu_spec, update_gpu_spec, delete_gpu_spec))
        .routes(routes!(list_gpu_spec_prices))
        .routes(routes!(find_gpu_spec))
}

/// What to narrow the list to.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct SpecQuery {
    /// Only names that begin so.
    name_prefix: Option<String>,
    /// Only this GPU model.
    gpu_model: Option<String>,
    /// Only in this state.
    #[param(inline)]
    state: Option<GpuSpecState>,
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

fn name_taken() -> Problem {
    Problem::new(ProblemType::NameTaken, "A GPU specification of this name exists.")
}

fn in_use() -> Problem {
    Problem::new(
        ProblemType::GpuSpecInUse,
        "Only price, currency and state of a specification can change while there are units of it.",
    )
}

/// Specifications, by name.
#[utoipa::path(get, path = "/v1/gpu-specs", tag = "gpu-specs", params(SpecQuery),
    responses((status = 200, description = "One page", body = Page<GpuSpec>)))]
async fn list_gpu_specs(
    State(app): State<App>,
    _: User,
    Query(query): Query<SpecQuery>,
) -> Result<Json<Page<GpuSpec>>, Problem> {
    let asked = PageParams { limit: query.limit, cursor: query.cursor }.request::<String>()?;
    let after = asked.after.clone().unwrap_or_default();
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
    let mut tx = app.db().platform().await?;
    let rows = store::list(&mut tx, &filter, &after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| row.name.clone())))
}

/// Makes a specification.
#[utoipa::path(post, path = "/v1/gpu-specs", tag = "gpu-specs", request_body = NewGpuSpec,
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 201, description = "Made", body = GpuSpec),
              (status = 409, description = "The name is taken", body = Problem)))]
async fn create_gpu_spec(
    State(app): State<App>,
    Admin(admin): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewGpuSpec>,
) -> Result<Reply, Problem> {
    new.check()?;
    key.once(app.db().platform().await?, admin.user, &new, async |conn| {
        let made = store::insert(conn, &new).await?.ok_or_else(name_taken)?;
        store::insert_price(conn, &made).await?;
        Ok(Reply::json(StatusCode::CREATED, &made)?
            .etag(made.generation)
            .location(format!("/v1/gpu-specs/{}", made.id)))
    })
    .await
}

/// A specification.
#[utoipa::path(get, path = "/v1/gpu-specs/{id}", tag = "gpu-specs",
    params(("id" = GpuSpecId, Path, description = "Its id")),
    responses((status = 200, description = "It", body = GpuSpec),
              (status = 404, description = "There is none", body = Problem)))]
async fn get_gpu_spec(
    State(app): State<App>,
    _: User,
    Path(id): Path<GpuSpecId>,
) -> Result<(ETag, Json<GpuSpec>), Problem> {
    let mut tx = app.db().platform().await?;
    let found = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(found.generation), Json(found)))
}

/// Changes a specification. A new price is in force from now on; runs under way keep the price they were
/// claimed at.
#[utoipa::path(patch, path = "/v1/gpu-specs/{id}", tag = "gpu-specs", request_body = GpuSpecPatch,
    params(("id" = GpuSpecId, Path, description = "Its id"),
           ("If-Match" = String, Header, description = "The ETag it was read with"),
           ("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 200, description = "As it is now", body = GpuSpec),
              (status = 404, description = "There is none", body = Problem),
              (status = 409, description = "The name is taken, or units stand in the way", body = Problem),
              (status = 412, description = "Changed meanwhile", body = Problem)))]
async fn update_gpu_spec(
    State(app): State<App>,
    Admin(admin): Admin,
    Path(id): Path<GpuSpecId>,
    if_match: IfMatch,
    key: IdempotencyKey,
    Json(patch): Json<GpuSpecPatch>,
) -> Result<Reply, Problem> {
    key.once(app.db().platform().await?, admin.user, &patch.clone(), async |conn| {
        let found = store::find_for_update(conn, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(found.generation)?;
        let to = patch.apply(found.clone());
        to.shape().check()?;
        if to.reshapes(&found) && store::count_units(conn, id).await? != 0 {
            return Err(in_use());
        }
        let updated = store::update(conn, &to)
            .await
            .map_err(Problem::violated(ErrorKind::UniqueViolation, name_taken))?
            .ok_or_else(Problem::not_found)?;
        if updated.reprices(&found) {
            store::insert_price(conn, &updated).await?;
        }
        Ok(Reply::json(StatusCode::OK, &updated)?.etag(updated.generation))
    })
    .await
}

/// Deletes a specification of which there are no units.
#[utoipa::path(delete, path = "/v1/gpu-specs/{id}", tag = "gpu-specs",
    params(("id" = GpuSpecId, Path, description = "Its id"),
           ("Idempotency-Key" = String, Header, description = "New for each write")),
    responses((status = 204, description = "Gone"),
              (status = 404, description = "There is none", body = Problem),
              (status = 409, description = "There are units of it", body = Problem)))]
async fn delete_gpu_spec(
    State(app): State<App>,
    Admin(admin): Admin,
    Path(id): Path<GpuSpecId>,
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

/// The prices a specification has had, the newest first.
#[utoipa::path(get, path = "/v1/gpu-specs/{id}/prices", tag = "gpu-specs",
    params(("id" = GpuSpecId, Path, description = "Its id"), PageParams),
    responses((status = 200, description = "One page", body = Page<Price>),
              (status = 404, description = "There is none", body = Problem)))]
async fn list_gpu_spec_prices(
    State(app): State<App>,
    _: User,
    Path(id): Path<GpuSpecId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Price>>, Problem> {
    let asked = page.request::<Timestamp>()?;
    let mut checks = Checks::default();
    let possible = asked.after.is_none_or(|at| (0..=i64::from(u32::MAX)).contains(&at.as_second()));
    checks.require(possible, "cursor", "is not a cursor of this list; begin without one");
    checks.finish()?;
    let mut tx = app.db().platform().await?;
    store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::prices(&mut tx, id, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |row| row.effective_from)))
}

/// A specification by its id or name, for other services.
#[utoipa::path(get, path = "/internal/v1/gpu-specs/{id}", tag = "internal",
    params(("id" = String, Path, description = "Its id or its name")),
    responses((status = 200, description = "It", body = GpuSpec),
              (status = 404, description = "There is none", body = Problem)))]
async fn find_gpu_spec(
    State(app): State<App>,
    _: Caller,
    Path(reference): Path<String>,
) -> Result<Json<GpuSpec>, Problem> {
    if reference.contains('\0') {
        return Err(Problem::not_found());
    }
    let mut tx = app.db().platform().await?;
    let found = store::find_by_reference(&mut tx, &reference).await?;
    found.map(Json).ok_or_else(Problem::not_found)
}
