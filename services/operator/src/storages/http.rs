//! `POST /storages`, `GET`, `PUT` and `DELETE /storages/{storageID}`.

use api::{Json, Path, Problem, ProblemType, openapi::OpenApiRouter};
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use utoipa_axum::routes;

use super::Parts;
use super::model::{NewStorage, StorageChange, StorageView};
use super::store;
use crate::caller::{HasCallers, ServiceCaller};

pub(crate) fn routes<S: HasCallers>() -> OpenApiRouter<S>
where
    Parts: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_storage)).routes(routes!(
        get_storage,
        update_storage,
        delete_storage
    ))
}

/// Creates a storage.
#[utoipa::path(
    post, path = "/storages", tag = "storages", operation_id = "create_storage", request_body = NewStorage,
    responses((status = 202, description = "The storage is being created", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::StorageIdReused]))),
)]
async fn create_storage(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Json(new): Json<NewStorage>,
) -> Result<(StatusCode, Json<StorageView>), Problem> {
    let storage = store::create(&parts, &new).await?;
    Ok((StatusCode::ACCEPTED, Json(StorageView::of(&storage, &new.storage_id))))
}

/// Returns a storage.
#[utoipa::path(
    get, path = "/storages/{storageID}", tag = "storages", operation_id = "get_storage",
    params(("storageID" = String, Path, description = "Storage id")),
    responses((status = 200, description = "The storage", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_storage(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Path(id): Path<String>,
) -> Result<Json<StorageView>, Problem> {
    Ok(Json(StorageView::of(&store::find(&parts, &id).await?, &id)))
}

/// Enlarges a storage. It cannot shrink.
#[utoipa::path(
    put, path = "/storages/{storageID}", tag = "storages", operation_id = "update_storage",
    request_body = StorageChange,
    params(("storageID" = String, Path, description = "Storage id")),
    responses((status = 202, description = "The storage is being enlarged", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn update_storage(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Path(id): Path<String>,
    Json(change): Json<StorageChange>,
) -> Result<(StatusCode, Json<StorageView>), Problem> {
    let storage = store::resize(&parts, &id, &change).await?;
    Ok((StatusCode::ACCEPTED, Json(StorageView::of(&storage, &id))))
}

/// Deletes a storage and its data.
#[utoipa::path(
    delete, path = "/storages/{storageID}", tag = "storages", operation_id = "delete_storage",
    params(("storageID" = String, Path, description = "Storage id")),
    responses((status = 202, description = "The storage is being deleted", body = StorageView)),
    extensions(("x-problems" = json!([ProblemType::NotFound, ProblemType::StorageInUse]))),
)]
async fn delete_storage(
    State(parts): State<Parts>,
    _: ServiceCaller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<StorageView>), Problem> {
    let storage = store::delete(&parts, &id).await?;
    Ok((StatusCode::ACCEPTED, Json(StorageView::of(&storage, &id))))
}
