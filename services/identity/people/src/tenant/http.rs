//! Tenants over HTTP.

use api::{
    ETag, IdempotencyKey, IfMatch, Json, Operation, Page, PageParams, Path, Problem, ProblemType, Query,
    Reply, openapi::OpenApiRouter,
};
use auth::{Admin, HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{OperationId, TenantId};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::{
    changes,
    model::{Deletion, NewTenant, Tenant, TenantChange, TenantState, check_name, may_read},
    store,
};
use crate::clock::Clock;

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    Clock: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_tenants, create_tenant))
        .routes(routes!(get_tenant, update_tenant, delete_tenant))
        .routes(routes!(get_tenant_operation))
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Filter {
    /// Maximum number of items.
    #[param(minimum = 1, maximum = 200, default = 50)]
    limit: Option<u32>,
    /// `next_cursor` of the previous page.
    cursor: Option<String>,
    /// Only tenants whose names begin with this text, ignoring case.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    name_prefix: Option<String>,
    /// Only tenants in this state.
    #[param(inline)]
    state: Option<TenantState>,
}

/// Lists all tenants, oldest first. For administrators.
#[utoipa::path(
    get, path = "/v1/tenants", operation_id = "list_tenants", tag = "tenants", params(Filter),
    responses(
        (status = 200, description = "One page", body = Page<Tenant>),
    )
)]
async fn list_tenants(
    State(db): State<Db>,
    _admin: Admin,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<Tenant>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let mut tx = db.platform().await?;
    let rows =
        store::list(&mut tx, asked.after, filter.name_prefix.as_deref(), filter.state, asked.rows()).await?;
    Ok(Json(asked.page(rows, |tenant| tenant.id)))
}

fn reply(status: StatusCode, tenant: &Tenant) -> Result<Reply, Problem> {
    Ok(Reply::json(status, tenant)?.etag(tenant.generation))
}

/// Creates a tenant without members. For administrators.
#[utoipa::path(
    post, path = "/v1/tenants", operation_id = "create_tenant", tag = "tenants",
    params(IdempotencyKey),
    request_body = NewTenant,
    responses(
        (status = 201, description = "The tenant", body = Tenant),
    ),
    extensions(("x-problems" = json!([ProblemType::NameTaken]))),
)]
async fn create_tenant(
    State(db): State<Db>,
    Admin(principal): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewTenant>,
) -> Result<Reply, Problem> {
    check_name("/name", &new.name)?;
    key.once(db.platform().await?, principal.user, &new, async |tx| {
        let tenant = changes::create(tx, &principal, &new).await?;
        let location = format!("/v1/tenants/{}", tenant.id);
        Ok(reply(StatusCode::CREATED, &tenant)?.location(location))
    })
    .await
}

/// Returns a tenant. For its members and administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}", operation_id = "get_tenant", tag = "tenants",
    params(("id" = TenantId, Path, description = "Tenant id")),
    responses(
        (status = 200, description = "The tenant", body = Tenant),
    )
)]
async fn get_tenant(
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<TenantId>,
) -> Result<(ETag, Json<Tenant>), Problem> {
    may_read(&principal, id)?;
    let mut tx = db.platform().await?;
    let tenant = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(tenant.generation), Json(tenant)))
}

/// Renames, suspends or reactivates a tenant. For administrators; owners rename it.
#[utoipa::path(
    patch, path = "/v1/tenants/{id}", operation_id = "update_tenant", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        IfMatch,
        IdempotencyKey,
    ),
    request_body = TenantChange,
    responses(
        (status = 200, description = "The changed tenant", body = Tenant),
    ),
    extensions(("x-problems" = json!([ProblemType::NameTaken]))),
)]
async fn update_tenant(
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<TenantId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<TenantChange>,
) -> Result<Reply, Problem> {
    change.check()?;
    key.once(db.platform().await?, principal.user, &change, async |tx| {
        let tenant = changes::update(tx, &principal, id, &if_match, &change).await?;
        reply(StatusCode::OK, &tenant)
    })
    .await
}

/// Deletes a tenant with all that it owns. It must be suspended and have no members other than owners. For
/// administrators.
///
/// Instances are deleted and their units released at once; storages are deleted after a grace period. The operation
/// reports the progress of each service. Repeat the call to change the grace period.
#[utoipa::path(
    delete, path = "/v1/tenants/{id}", operation_id = "delete_tenant", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        Deletion,
        IdempotencyKey,
    ),
    responses(
        (status = 202, description = "The operation, at `Location`", body = Operation),
    ),
    extensions(("x-problems" = json!([ProblemType::TenantActive, ProblemType::TenantHasMembers]))),
)]
async fn delete_tenant(
    State(db): State<Db>,
    State(clock): State<Clock>,
    Admin(principal): Admin,
    Path(id): Path<TenantId>,
    Query(deletion): Query<Deletion>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    deletion.check()?;
    key.once(db.platform().await?, principal.user, &deletion, async |tx| {
        let operation = changes::delete(tx, &principal, id, deletion, clock.now()).await?;
        let location = format!("/v1/tenant-operations/{}", operation.id);
        Ok(Reply::json(StatusCode::ACCEPTED, &operation)?.location(location))
    })
    .await
}

/// Returns the operation that deletes a tenant. For administrators.
#[utoipa::path(
    get, path = "/v1/tenant-operations/{id}", operation_id = "get_tenant_operation", tag = "tenants",
    params(("id" = OperationId, Path, description = "Operation id")),
    responses((status = 200, description = "The operation", body = Operation)),
)]
async fn get_tenant_operation(
    State(db): State<Db>,
    _admin: Admin,
    Path(id): Path<OperationId>,
) -> Result<Json<Operation>, Problem> {
    let mut tx = db.platform().await?;
    operations::find(&mut tx, None, id).await?.map(Json).ok_or_else(Problem::not_found)
}
