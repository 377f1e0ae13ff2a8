//! Storage specifications over HTTP.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::{Admin, User};
use axum::{extract::State, http::StatusCode};
use ids::StorageSpecId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Kind, LARGEST_GIB, NewStorageSpec, SpecState, StorageSpec, StorageSpecChange, check_price},
    store,
};
use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_storage_specs, create_storage_spec)).routes(routes!(
        get_storage_spec,
        update_storage_spec,
        delete_storage_spec
    ))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// Only those whose names begin so.
    name_prefix: Option<String>,
    /// Only those of this kind.
    #[param(inline)]
    kind: Option<Kind>,
    /// Only those in this state.
    #[param(inline)]
    state: Option<SpecState>,
}

/// Storage specifications by name.
#[utoipa::path(
    get, path = "/v1/storage-specs", operation_id = "list_storage_specs", tag = "storage specs",
    params(Filter),
    responses(
        (status = 200, description = "A page", body = Page<StorageSpec>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_storage_specs(
    State(app): State<App>,
    _caller: User,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<StorageSpec>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let narrow =
        store::Narrow { name_prefix: filter.name_prefix.as_deref(), kind: filter.kind, state: filter.state };
    let mut tx = app.db.platform().await?;
    let rows = store::list(&mut tx, asked.after.clone(), narrow, asked.rows()).await?;
    Ok(Json(asked.page(rows, |spec| spec.name.clone())))
}

fn reply(status: StatusCode, spec: &StorageSpec) -> Result<Reply, Problem> {
    Ok(Reply::json(status, spec)?.etag(spec.generation))
}

/// Makes a storage specification. Administrators only.
#[utoipa::path(
    post, path = "/v1/storage-specs", operation_id = "create_storage_spec", tag = "storage specs",
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    request_body = NewStorageSpec,
    responses(
        (status = 201, description = "The specification", body = StorageSpec),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_storage_spec(
    State(app): State<App>,
    Admin(principal): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewStorageSpec>,
) -> Result<Reply, Problem> {
    let sizes = new.check()?;
    key.once(app.db.platform().await?, principal.user, &new, async |tx| {
        let spec = store::insert(tx, &new, sizes)
            .await?
            .ok_or_else(|| Problem::new(ProblemType::NameTaken, "Another specification has this name."))?;
        let location = format!("/v1/storage-specs/{}", spec.id);
        Ok(reply(StatusCode::CREATED, &spec)?.location(location))
    })
    .await
}

/// A storage specification.
#[utoipa::path(
    get, path = "/v1/storage-specs/{id}", operation_id = "get_storage_spec", tag = "storage specs",
    params(("id" = StorageSpecId, Path, description = "The specification")),
    responses(
        (status = 200, description = "The specification", body = StorageSpec),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_storage_spec(
    State(app): State<App>,
    _caller: User,
    Path(id): Path<StorageSpecId>,
) -> Result<(ETag, Json<StorageSpec>), Problem> {
    let mut tx = app.db.platform().await?;
    let spec = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(spec.generation), Json(spec)))
}

/// Changes the price or the largest size, retires a specification or brings it back. Administrators only.
#[utoipa::path(
    patch, path = "/v1/storage-specs/{id}", operation_id = "update_storage_spec", tag = "storage specs",
    params(
        ("id" = StorageSpecId, Path, description = "The specification"),
        ("If-Match" = String, Header, description = "ETag of the version the change is meant for"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    request_body = StorageSpecChange,
    responses(
        (status = 200, description = "The specification as it is now", body = StorageSpec),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn update_storage_spec(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<StorageSpecId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<StorageSpecChange>,
) -> Result<Reply, Problem> {
    if let Some(price) = change.price_per_gib_month {
        check_price(price).map_err(|detail| Problem::invalid_field("/price_per_gib_month", detail))?;
    }
    key.once(app.db.platform().await?, principal.user, &change, async |tx| {
        let spec = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(spec.generation)?;
        if let Some(max) = change.max_size_gib
            && !(spec.min_size_gib..=LARGEST_GIB).contains(&max)
        {
            let detail = format!("must be between {} and {LARGEST_GIB}", spec.min_size_gib);
            return Err(Problem::invalid_field("/max_size_gib", detail));
        }
        let spec = store::update(tx, id, spec.generation, &change)
            .await?
            .ok_or_else(|| Problem::internal("a locked specification has changed"))?;
        reply(StatusCode::OK, &spec)
    })
    .await
}

/// Removes a specification of which there are no storages. Administrators only.
#[utoipa::path(
    delete, path = "/v1/storage-specs/{id}", operation_id = "delete_storage_spec", tag = "storage specs",
    params(
        ("id" = StorageSpecId, Path, description = "The specification"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 204, description = "It is gone"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn delete_storage_spec(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<StorageSpecId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(app.db.platform().await?, principal.user, &(), async |tx| {
        store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if !store::delete(tx, id).await? {
            return Err(Problem::new(
                ProblemType::StorageSpecInUse,
                "A specification can be removed only when no storage of it is left.",
            ));
        }
        Ok(Reply::no_content())
    })
    .await
}
