//! Tenants over HTTP.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::{Admin, User};
use axum::{extract::State, http::StatusCode};
use ids::TenantId;
use serde::Deserialize;
use sqlx::error::ErrorKind;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{NewTenant, Tenant, TenantChange, TenantState, check_name},
    store,
};
use crate::{app::App, membership, scope};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_tenants, create_tenant)).routes(routes!(
        get_tenant,
        update_tenant,
        delete_tenant
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
    /// Only those whose names begin so, without regard to case.
    name_prefix: Option<String>,
    /// Only those in this state.
    #[param(inline)]
    state: Option<TenantState>,
}

/// All tenants, oldest first. Administrators only.
#[utoipa::path(
    get, path = "/v1/tenants", operation_id = "list_tenants", tag = "tenants", params(Filter),
    responses(
        (status = 200, description = "A page", body = Page<Tenant>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_tenants(
    State(app): State<App>,
    _admin: Admin,
    Query(filter): Query<Filter>,
) -> Result<Json<Page<Tenant>>, Problem> {
    let asked = PageParams { limit: filter.limit, cursor: filter.cursor }.request()?;
    let mut tx = app.db.platform().await?;
    let rows =
        store::list(&mut tx, asked.after, filter.name_prefix.as_deref(), filter.state, asked.rows()).await?;
    Ok(Json(asked.page(rows, |tenant| tenant.id)))
}

fn name_taken() -> Problem {
    Problem::new(ProblemType::NameTaken, "Another tenant has this name.")
}

fn reply(status: StatusCode, tenant: &Tenant) -> Result<Reply, Problem> {
    Ok(Reply::json(status, tenant)?.etag(tenant.generation))
}

/// Makes a tenant without members. Administrators only.
#[utoipa::path(
    post, path = "/v1/tenants", operation_id = "create_tenant", tag = "tenants",
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    request_body = NewTenant,
    responses(
        (status = 201, description = "The tenant", body = Tenant),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_tenant(
    State(app): State<App>,
    Admin(principal): Admin,
    key: IdempotencyKey,
    Json(new): Json<NewTenant>,
) -> Result<Reply, Problem> {
    check_name("/name", &new.name)?;
    key.once(app.db.platform().await?, principal.user, &new, async |tx| {
        let tenant = store::insert(tx, TenantId::new(), &new).await?.ok_or_else(name_taken)?;
        let location = format!("/v1/tenants/{}", tenant.id);
        Ok(reply(StatusCode::CREATED, &tenant)?.location(location))
    })
    .await
}

/// A tenant, to its members and to administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}", operation_id = "get_tenant", tag = "tenants",
    params(("id" = TenantId, Path, description = "The tenant")),
    responses(
        (status = 200, description = "The tenant", body = Tenant),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_tenant(
    State(app): State<App>,
    User(principal): User,
    Path(id): Path<TenantId>,
) -> Result<(ETag, Json<Tenant>), Problem> {
    membership::may_read(&principal, id)?;
    let mut tx = app.db.platform().await?;
    let tenant = store::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(tenant.generation), Json(tenant)))
}

/// Renames a tenant, suspends it, or lets it work again. Administrators only.
#[utoipa::path(
    patch, path = "/v1/tenants/{id}", operation_id = "update_tenant", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "The tenant"),
        ("If-Match" = String, Header, description = "ETag of the version the change is meant for"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    request_body = TenantChange,
    responses(
        (status = 200, description = "The tenant as it is now", body = Tenant),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn update_tenant(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<TenantId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<TenantChange>,
) -> Result<Reply, Problem> {
    if let Some(name) = &change.name {
        check_name("/name", name)?;
    }
    key.once(app.db.platform().await?, principal.user, &change, async |tx| {
        let tenant = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if_match.check(tenant.generation)?;
        let tenant = store::update(tx, id, tenant.generation, &change)
            .await
            .map_err(Problem::violated(ErrorKind::UniqueViolation, name_taken))?
            .ok_or_else(|| Problem::internal("a locked tenant has changed"))?;
        reply(StatusCode::OK, &tenant)
    })
    .await
}

/// Removes a tenant, which must be suspended and have no members but owners. Administrators only.
///
/// What the tenant owns in other services is not looked at: delete its instances and storages first.
#[utoipa::path(
    delete, path = "/v1/tenants/{id}", operation_id = "delete_tenant", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "The tenant"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 204, description = "It is gone"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn delete_tenant(
    State(app): State<App>,
    Admin(principal): Admin,
    Path(id): Path<TenantId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(app.db.platform().await?, principal.user, &(), async |tx| {
        let tenant = store::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        if tenant.state != TenantState::Suspended {
            return Err(Problem::new(ProblemType::TenantActive, "Only a suspended tenant can be deleted."));
        }
        scope::tenant(tx, id).await?;
        if membership::has_more_than_owners(tx, id).await? {
            return Err(Problem::new(
                ProblemType::TenantHasMembers,
                "Only a tenant without members, apart from its owners, can be deleted.",
            ));
        }
        membership::remove_all(tx, id).await?;
        store::delete(tx, id).await?;
        Ok(Reply::no_content())
    })
    .await
}
