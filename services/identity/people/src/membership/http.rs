//! Members over HTTP.

use api::{
    ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{TenantId, UserId};
use utoipa_axum::routes;

use super::{
    changes,
    model::{Member, MemberChange, NewMember},
    store,
};
use crate::tenant::{self, may_read};

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(list_members, add_member)).routes(routes!(
        get_member,
        update_member,
        remove_member
    ))
}

/// Lists the members of a tenant. For its members and administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}/members", operation_id = "list_members", tag = "tenants",
    params(("id" = TenantId, Path, description = "Tenant id"), PageParams),
    responses(
        (status = 200, description = "One page", body = Page<Member>),
    )
)]
async fn list_members(
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<TenantId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Member>>, Problem> {
    may_read(&principal, id)?;
    let asked = page.request()?;
    let mut tx = db.tenant(id).await?;
    tenant::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, id, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |member| member.user_id)))
}

/// Returns a member. For the tenant's members and administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}/members/{user_id}", operation_id = "get_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        ("user_id" = UserId, Path, description = "User id"),
    ),
    responses(
        (status = 200, description = "The member", body = Member),
    )
)]
async fn get_member(
    State(db): State<Db>,
    User(principal): User,
    Path((id, user)): Path<(TenantId, UserId)>,
) -> Result<(ETag, Json<Member>), Problem> {
    may_read(&principal, id)?;
    let mut tx = db.tenant(id).await?;
    let member = store::find(&mut tx, id, user).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(member.generation), Json(member)))
}

/// Adds a user to a tenant. For administrators. Owners invite people: see `create_invitation`.
#[utoipa::path(
    post, path = "/v1/tenants/{id}/members", operation_id = "add_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        IdempotencyKey,
    ),
    request_body = NewMember,
    responses(
        (status = 201, description = "The member", body = Member),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::AlreadyAMember]))),
)]
async fn add_member(
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<TenantId>,
    key: IdempotencyKey,
    Json(new): Json<NewMember>,
) -> Result<Reply, Problem> {
    key.once(db.tenant(id).await?, principal.user, &new, async |tx| {
        let member = changes::add(tx, &principal, id, &new).await?;
        let location = format!("/v1/tenants/{id}/members/{}", member.user_id);
        Ok(Reply::json(StatusCode::CREATED, &member)?.etag(member.generation).location(location))
    })
    .await
}

/// Changes the role of a member. For owners and administrators. The last owner must remain one. API keys cannot add or
/// change owners.
#[utoipa::path(
    patch, path = "/v1/tenants/{id}/members/{user_id}", operation_id = "update_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        ("user_id" = UserId, Path, description = "User id"),
        IfMatch,
        IdempotencyKey,
    ),
    request_body = MemberChange,
    responses(
        (status = 200, description = "The changed member", body = Member),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::LastOwner]))),
)]
async fn update_member(
    State(db): State<Db>,
    User(principal): User,
    Path((id, user)): Path<(TenantId, UserId)>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<MemberChange>,
) -> Result<Reply, Problem> {
    key.once(db.tenant(id).await?, principal.user, &change, async |tx| {
        let member = changes::change_role(tx, &principal, id, user, &if_match, change.role).await?;
        Ok(Reply::json(StatusCode::OK, &member)?.etag(member.generation))
    })
    .await
}

/// Removes a member from a tenant. For owners and administrators, and for members who leave. The last owner must
/// remain. Rules of OpenID providers do not add the user again; an invitation or an administrator can.
#[utoipa::path(
    delete, path = "/v1/tenants/{id}/members/{user_id}", operation_id = "remove_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        ("user_id" = UserId, Path, description = "User id"),
        IdempotencyKey,
    ),
    responses(
        (status = 204, description = "Removed"),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::LastOwner]))),
)]
async fn remove_member(
    State(db): State<Db>,
    User(principal): User,
    Path((id, user)): Path<(TenantId, UserId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.tenant(id).await?, principal.user, &(), async |tx| {
        changes::remove(tx, &principal, id, user).await?;
        Ok(Reply::no_content())
    })
    .await
}
