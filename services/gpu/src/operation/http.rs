//! `/v1/instance-operations`.

use api::{Json, Operation, Page, PageParams, Path, Problem, Query};
use auth::Member;
use axum::extract::State;
use ids::{InstanceId, OperationId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::store;
use crate::app::AppState;

/// Which operations.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListQuery {
    /// Only on this instance.
    instance_id: Option<InstanceId>,
    /// How many at most, 1 to 200 (default 50).
    limit: Option<u32>,
    /// Where the page before ended.
    cursor: Option<String>,
}

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list_instance_operations)).routes(routes!(get_instance_operation))
}

/// Lists the tenant's operations, the newest first.
#[utoipa::path(get, path = "/v1/instance-operations", tag = "operations",
    operation_id = "list_instance_operations", params(ListQuery),
    responses((status = 200, description = "A page of operations", body = Page<Operation>),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn list_instance_operations(
    State(app): State<AppState>,
    member: Member,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<Operation>>, Problem> {
    let asked = PageParams { limit: query.limit, cursor: query.cursor }.request()?;
    let mut tx = app.db.tenant(member.tenant).await?;
    let rows = store::list(&mut tx, member.tenant, query.instance_id, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |operation| operation.id)))
}

/// Reads an operation.
#[utoipa::path(get, path = "/v1/instance-operations/{id}", tag = "operations",
    operation_id = "get_instance_operation", params(("id" = OperationId, Path)),
    responses((status = 200, description = "The operation", body = Operation),
        (status = "4XX", description = "Refused", body = Problem, content_type = "application/problem+json")))]
async fn get_instance_operation(
    State(app): State<AppState>,
    member: Member,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = app.db.tenant(member.tenant).await?;
    store::find(&mut tx, member.tenant, id).await?.map(Json).ok_or_else(Problem::not_found)
}
