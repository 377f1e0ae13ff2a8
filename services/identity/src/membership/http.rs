//! Members over HTTP.

use api::{ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply};
use auth::{Role, User};
use axum::{extract::State, http::StatusCode};
use ids::{TenantId, UserId};
use sqlx::PgConnection;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Member, MemberChange, NewMember, last_owner, may_manage, may_read},
    store,
};
use crate::{app::App, tenant, user};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_members, add_member)).routes(routes!(
        get_member,
        update_member,
        remove_member
    ))
}

/// A tenant's members. For its members and administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}/members", operation_id = "list_members", tag = "tenants",
    params(("id" = TenantId, Path, description = "The tenant"), PageParams),
    responses(
        (status = 200, description = "A page", body = Page<Member>),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn list_members(
    State(app): State<App>,
    User(principal): User,
    Path(id): Path<TenantId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Member>>, Problem> {
    may_read(&principal, id)?;
    let asked = page.request()?;
    let mut tx = app.db.tenant(id).await?;
    tenant::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, id, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |member| member.user_id)))
}

/// A member. For the tenant's members and administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}/members/{user_id}", operation_id = "get_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "The tenant"),
        ("user_id" = UserId, Path, description = "The member"),
    ),
    responses(
        (status = 200, description = "The member", body = Member),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_member(
    State(app): State<App>,
    User(principal): User,
    Path((id, user)): Path<(TenantId, UserId)>,
) -> Result<(ETag, Json<Member>), Problem> {
    may_read(&principal, id)?;
    let mut tx = app.db.tenant(id).await?;
    let member = store::find(&mut tx, id, user).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(member.generation), Json(member)))
}

async fn wanted_user(conn: &mut PgConnection, new: &NewMember) -> Result<UserId, Problem> {
    let (found, pointer) = match (&new.user_id, &new.email) {
        (Some(id), None) => (user::find(conn, *id).await?, "/user_id"),
        (None, Some(email)) => (user::find_by_email(conn, email).await?, "/email"),
        _ => return Err(Problem::invalid_field("/user_id", "give either user_id or email")),
    };
    found.map(|user| user.id).ok_or_else(|| Problem::invalid_field(pointer, "there is no such user"))
}

/// Makes a user a member. For owners and administrators.
#[utoipa::path(
    post, path = "/v1/tenants/{id}/members", operation_id = "add_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "The tenant"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    request_body = NewMember,
    responses(
        (status = 201, description = "The member", body = Member),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn add_member(
    State(app): State<App>,
    User(principal): User,
    Path(id): Path<TenantId>,
    key: IdempotencyKey,
    Json(new): Json<NewMember>,
) -> Result<Reply, Problem> {
    may_manage(&principal, id)?;
    key.once(app.db.tenant(id).await?, principal.user, &new, async |tx| {
        tenant::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        let user = wanted_user(tx, &new).await?;
        if !store::insert(tx, id, user, new.role).await? {
            return Err(Problem::new(ProblemType::AlreadyAMember, "The user belongs to this tenant."));
        }
        let member = found(tx, id, user).await?;
        let location = format!("/v1/tenants/{id}/members/{user}");
        Ok(Reply::json(StatusCode::CREATED, &member)?.etag(member.generation).location(location))
    })
    .await
}

async fn found(conn: &mut PgConnection, tenant: TenantId, user: UserId) -> Result<Member, Problem> {
    store::find(conn, tenant, user).await?.ok_or_else(Problem::not_found)
}

/// Changes a member's role. For owners and administrators. The last owner stays one.
#[utoipa::path(
    patch, path = "/v1/tenants/{id}/members/{user_id}", operation_id = "update_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "The tenant"),
        ("user_id" = UserId, Path, description = "The member"),
        ("If-Match" = String, Header, description = "ETag of the version the change is meant for"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    request_body = MemberChange,
    responses(
        (status = 200, description = "The member as it is now", body = Member),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn update_member(
    State(app): State<App>,
    User(principal): User,
    Path((id, user)): Path<(TenantId, UserId)>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<MemberChange>,
) -> Result<Reply, Problem> {
    may_manage(&principal, id)?;
    key.once(app.db.tenant(id).await?, principal.user, &change, async |tx| {
        tenant::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        let member = found(tx, id, user).await?;
        if_match.check(member.generation)?;
        if member.role == Role::Owner && change.role != Role::Owner && store::owners(tx, id).await? == 1 {
            return Err(last_owner());
        }
        if !store::update(tx, id, user, member.generation, change.role).await? {
            return Err(Problem::internal("a member of a locked tenant has changed"));
        }
        let member = found(tx, id, user).await?;
        Ok(Reply::json(StatusCode::OK, &member)?.etag(member.generation))
    })
    .await
}

/// Removes a member. For owners and administrators. The last owner stays.
#[utoipa::path(
    delete, path = "/v1/tenants/{id}/members/{user_id}", operation_id = "remove_member", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "The tenant"),
        ("user_id" = UserId, Path, description = "The member"),
        ("Idempotency-Key" = String, Header, description = "New for each write"),
    ),
    responses(
        (status = 204, description = "The user is no member any more"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn remove_member(
    State(app): State<App>,
    User(principal): User,
    Path((id, user)): Path<(TenantId, UserId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    may_manage(&principal, id)?;
    key.once(app.db.tenant(id).await?, principal.user, &(), async |tx| {
        tenant::lock(tx, id).await?.ok_or_else(Problem::not_found)?;
        let member = found(tx, id, user).await?;
        if member.role == Role::Owner && store::owners(tx, id).await? == 1 {
            return Err(last_owner());
        }
        store::delete(tx, id, user).await?;
        Ok(Reply::no_content())
    })
    .await
}
