//! Operations over HTTP.

use api::{Json, Operation, Page, PageParams, Path, Problem, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use db::Db;
use ids::{OperationId, StorageId};
use operations::Filter;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_storage_operations)).routes(routes!(get_storage_operation))
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
    /// Only operations on this storage.
    storage_id: Option<StorageId>,
}

/// Lists the operations on the tenant's storages, newest first.
#[utoipa::path(
    get, path = "/v1/storage-operations", operation_id = "list_storage_operations",
    tag = "storage operations", params(ListParams),
    responses((status = 200, description = "A page", body = Page<Operation>))
)]
async fn list_storage_operations(
    State(db): State<Db>,
    member: Member,
    Query(params): Query<ListParams>,
) -> Result<Json<Page<Operation>>, Problem> {
    let page = PageParams { limit: params.limit, cursor: params.cursor }.request()?;
    let target = params.storage_id.map(|storage| storage.to_string());
    let filter = Filter { tenant: Some(member.tenant), target };
    let mut tx = db.tenant(member.tenant).await?;
    let operations = operations::list(&mut tx, &filter, page.after, page.rows()).await?;
    Ok(Json(page.page(operations, |operation| operation.id)))
}

/// Returns an operation. It can be read after its storage was deleted.
#[utoipa::path(
    get, path = "/v1/storage-operations/{id}", operation_id = "get_storage_operation",
    tag = "storage operations",
    params(("id" = OperationId, Path, description = "Operation id")),
    responses((status = 200, description = "The operation", body = Operation))
)]
async fn get_storage_operation(
    State(db): State<Db>,
    member: Member,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = db.tenant(member.tenant).await?;
    let operation =
        operations::find(&mut tx, Some(member.tenant), id).await?.ok_or_else(Problem::not_found)?;
    Ok(Json(operation))
}
