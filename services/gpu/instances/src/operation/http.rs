//! `/v1/instance-operations`.

use api::{Json, Operation, Page, PageParams, Path, Problem, ProblemType, Query, openapi::OpenApiRouter};
use auth::{HasAuth, Member};
use axum::extract::{FromRef, State};
use db::Db;
use ids::{InstanceId, OperationId};
use operations::Filter;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

/// Filter and page of the list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ListQuery {
    /// Only operations on this instance.
    instance_id: Option<InstanceId>,
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
}

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_instance_operations)).routes(routes!(get_instance_operation))
}

/// Lists the tenant's operations, newest first.
#[utoipa::path(
    get, path = "/v1/instance-operations", operation_id = "list_instance_operations", tag = "operations",
    params(ListQuery),
    responses((status = 200, description = "A page of operations", body = Page<Operation>)),
)]
async fn list_instance_operations(
    State(db): State<Db>,
    member: Member,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Operation>>, Problem> {
    let request = PageParams { limit: query.limit, cursor: query.cursor }.request()?;
    let target = query.instance_id.map(|instance| instance.to_string());
    let filter = Filter { tenant: Some(member.tenant), target };
    let mut tx = db.tenant(member.tenant).await?;
    let rows = operations::list(&mut tx, &filter, request.after, request.rows()).await?;
    Ok(Json(request.page(rows, |operation| operation.id)))
}

/// Returns an operation.
#[utoipa::path(
    get, path = "/v1/instance-operations/{id}", operation_id = "get_instance_operation", tag = "operations",
    params(("id" = OperationId, Path, description = "Operation id")),
    responses((status = 200, description = "The operation", body = Operation)),
    extensions(("x-problems" = json!([ProblemType::NotFound]))),
)]
async fn get_instance_operation(
    State(db): State<Db>,
    member: Member,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = db.tenant(member.tenant).await?;
    operations::find(&mut tx, Some(member.tenant), id).await?.map(Json).ok_or_else(Problem::not_found)
}
