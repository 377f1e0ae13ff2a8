//! Storage specifications over HTTP.

use api::{
    ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::StorageSpecId;
use serde::Deserialize;
use sqlx::PgConnection;
use storage_api::StorageKind;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    error::Error,
    model::{NewStorageSpec, SpecState, StorageSpec, StorageSpecChange},
    store,
};
pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_storage_specs, create_storage_spec)).routes(routes!(
        get_storage_spec,
        update_storage_spec,
        delete_storage_spec
    ))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListParams {
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only specifications whose names start with this.
    name_prefix: Option<String>,
    /// Only specifications of this kind.
    kind: Option<StorageKind>,
    /// Only specifications in this state.
    state: Option<SpecState>,
}

/// Lists storage specifications by name.
#[utoipa::path(
    get, path = "/v1/storage-specs", operation_id = "list_storage_specs", tag = "storage specs",
    params(ListParams),
    responses((status = 200, description = "A page", body = Page<StorageSpec>))
)]
async fn list_storage_specs(
    State(db): State<Db>,
    _caller: User,
    Query(params): Query<ListParams>,
) -> Result<Json<Page<StorageSpec>>, Problem> {
    let page = PageParams { limit: params.limit, cursor: params.cursor }.request::<String>()?;
    let filter =
        store::Filter { name_prefix: params.name_prefix.as_deref(), kind: params.kind, state: params.state };
    let mut tx = db.platform().await?;
    let specs = store::list(&mut tx, page.after.as_deref(), filter, page.rows()).await?;
    Ok(Json(page.page(specs, |spec| spec.name.clone())))
}

/// The specification as it is in this transaction.
async fn reply(tx: &mut PgConnection, id: StorageSpecId, status: StatusCode) -> Result<Reply, Problem> {
    let spec = store::find(tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Reply::json(status, &spec)?.etag(spec.generation))
}

/// Creates a storage specification. Administrators only.
#[utoipa::path(
    post, path = "/v1/storage-specs", operation_id = "create_storage_spec", tag = "storage specs",
    params(IdempotencyKey),
    request_body = NewStorageSpec,
    responses((status = 201, description = "The specification", body = StorageSpec)),
    extensions(("x-problems" = json!([ProblemType::NameTaken])))
)]
async fn create_storage_spec(
    State(db): State<Db>,
    Admin(principal): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewStorageSpec>,
) -> Result<Reply, Problem> {
    let sizes = new.check()?;
    key.once(db.platform().await?, principal.user, &new, async |tx| {
        let id = store::insert(tx, &new, sizes).await?.ok_or(Error::NameTaken)?;
        Ok(reply(tx, id, StatusCode::CREATED).await?.location(format!("/v1/storage-specs/{id}")))
    })
    .await
}

/// Returns a storage specification.
#[utoipa::path(
    get, path = "/v1/storage-specs/{id}", operation_id = "get_storage_spec", tag = "storage specs",
    params(("id" = String, Path, description = "Specification id or name")),
    responses((status = 200, description = "The specification", body = StorageSpec))
)]
async fn get_storage_spec(
    State(db): State<Db>,
    _caller: User,
    Path(id_or_name): Path<String>,
) -> Result<(ETag, Json<StorageSpec>), Problem> {
    let mut tx = db.platform().await?;
    let spec = store::find_by_reference(&mut tx, &id_or_name).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(spec.generation), Json(spec)))
}

/// Changes the price or the largest size of a specification, or retires or reactivates it. Administrators only.
#[utoipa::path(
    patch, path = "/v1/storage-specs/{id}", operation_id = "update_storage_spec", tag = "storage specs",
    params(
        ("id" = StorageSpecId, Path, description = "Specification id"),
        IfMatch,
        IdempotencyKey,
    ),
    request_body = StorageSpecChange,
    responses((status = 200, description = "The changed specification", body = StorageSpec))
)]
async fn update_storage_spec(
    State(db): State<Db>,
    Admin(principal): Admin,
    Path(id): Path<StorageSpecId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<StorageSpecChange>,
) -> Result<Reply, Problem> {
    change.check()?;
    key.once(db.platform().await?, principal.user, &change, async |tx| {
        let spec = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(spec.generation)?;
        change.check_for(&spec)?;
        store::update(tx, id, &change).await?;
        reply(tx, id, StatusCode::OK).await
    })
    .await
}

/// Deletes a specification that no storage uses. Administrators only.
#[utoipa::path(
    delete, path = "/v1/storage-specs/{id}", operation_id = "delete_storage_spec", tag = "storage specs",
    params(("id" = StorageSpecId, Path, description = "Specification id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::StorageSpecInUse])))
)]
async fn delete_storage_spec(
    State(db): State<Db>,
    Admin(principal): Admin,
    Path(id): Path<StorageSpecId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.platform().await?, principal.user, &(), async |tx| {
        store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if !store::delete(tx, id).await? {
            return Err(Error::InUse.into());
        }
        Ok(Reply::no_content())
    })
    .await
}
