//! Operations over HTTP.

use api::{Json, Operation, Page, PageParams, Path, Problem, Query};
use auth::Member;
use axum::extract::State;
use ids::{OperationId, StorageId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::store;
use crate::app::App;

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_storage_operations)).routes(routes!(get_storage_operation))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
    /// Only those of this storage.
    #[param(value_type = Option<String>)]
    storage_id: Option<StorageId>,
}

/// The tenant's operations on storages, newest first.
#[utoipa::path(
    get, path = "/v1/storage-operations", operation_id = "list_storage_operations",
    tag = "storage operations", params(Filter),
    responses(
        (status = 200, description = "A page", body = Page<Operation>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_storage_operations(
    State(app): State<App>,
    member: Member,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<Operation>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::list(&mut tx, member.tenant, asked.after, filter.storage_id, asked.rows()).await?;
    Ok(Json(asked.page(rows, |operation| operation.id)))
}

/// An operation. It stays to be read after a deleted storage is gone.
#[utoipa::path(
    get, path = "/v1/storage-operations/{id}", operation_id = "get_storage_operation",
    tag = "storage operations",
    params(("id" = OperationId, Path, description = "The operation")),
    responses(
        (status = 200, description = "The operation", body = Operation),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_storage_operation(
    State(app): State<App>,
    member: Member,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    let operation = store::find(&mut tx, member.tenant, id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(operation))
}
