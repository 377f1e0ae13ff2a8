//! Invitations over HTTP: those of a tenant, and those to the caller.

use api::{
    IdempotencyKey, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply, openapi::OpenApiRouter,
};
use auth::{HasAuth, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{InvitationId, TenantId};
use people::{clock::Clock, membership::Membership, scope, tenant, user::check_email};
use utoipa_axum::routes;

use super::{
    changes,
    model::{Invitation, NewInvitation, ReceivedInvitation, may_list},
    store,
};

pub(crate) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    Clock: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_invitations, create_invitation))
        .routes(routes!(withdraw_invitation))
        .routes(routes!(list_received_invitations))
        .routes(routes!(accept_invitation))
        .routes(routes!(decline_invitation))
}

/// Lists the open invitations of a tenant, oldest first. For owners and administrators.
#[utoipa::path(
    get, path = "/v1/tenants/{id}/invitations", operation_id = "list_invitations", tag = "tenants",
    params(("id" = TenantId, Path, description = "Tenant id"), PageParams),
    responses(
        (status = 200, description = "One page", body = Page<Invitation>),
    )
)]
async fn list_invitations(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Path(id): Path<TenantId>,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Invitation>>, Problem> {
    may_list(&principal, id)?;
    let asked = page.request()?;
    let mut tx = db.tenant(id).await?;
    tenant::find(&mut tx, id).await?.ok_or_else(Problem::not_found)?;
    let rows = store::list(&mut tx, id, clock.now(), asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |invitation| invitation.id)))
}

/// Invites a person to a tenant by e-mail address, for 14 days. For owners and administrators.
///
/// The response is the same whether or not the address has an account; the person finds the invitation at
/// `/v1/me/invitations` once they sign in. Inviting an address again sets the role and renews the 14 days. An
/// invitation is not valid while its inviter is neither an owner nor an administrator. An API key cannot invite owners,
/// nor repeat the invitation of a person; its invitations end with the key. A tenant has at most 100 open invitations.
#[utoipa::path(
    post, path = "/v1/tenants/{id}/invitations", operation_id = "create_invitation", tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        IdempotencyKey,
    ),
    request_body = NewInvitation,
    responses(
        (status = 201, description = "The invitation", body = Invitation),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::AlreadyAMember, ProblemType::TooManyInvitations]))),
)]
async fn create_invitation(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Path(id): Path<TenantId>,
    key: IdempotencyKey,
    Json(new): Json<NewInvitation>,
) -> Result<Reply, Problem> {
    check_email("/email", &new.email)?;
    key.once(db.tenant(id).await?, principal.user, &new, async |tx| {
        let invitation = changes::invite(tx, &principal, id, &new, clock.now()).await?;
        let location = format!("/v1/tenants/{id}/invitations/{}", invitation.id);
        Ok(Reply::json(StatusCode::CREATED, &invitation)?.location(location))
    })
    .await
}

/// Withdraws an open invitation. For owners and administrators. API keys cannot withdraw invitations of owners.
#[utoipa::path(
    delete, path = "/v1/tenants/{id}/invitations/{invitation_id}", operation_id = "withdraw_invitation",
    tag = "tenants",
    params(
        ("id" = TenantId, Path, description = "Tenant id"),
        ("invitation_id" = InvitationId, Path, description = "Invitation id"),
        IdempotencyKey,
    ),
    responses(
        (status = 204, description = "Withdrawn"),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn withdraw_invitation(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Path((id, invitation)): Path<(TenantId, InvitationId)>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.tenant(id).await?, principal.user, &(), async |tx| {
        changes::withdraw(tx, &principal, id, invitation, clock.now()).await?;
        Ok(Reply::no_content())
    })
    .await
}

/// Lists the open invitations to the caller's e-mail address, oldest first.
#[utoipa::path(
    get, path = "/v1/me/invitations", operation_id = "list_received_invitations", tag = "users",
    params(PageParams),
    responses(
        (status = 200, description = "One page", body = Page<ReceivedInvitation>),
    )
)]
async fn list_received_invitations(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<ReceivedInvitation>>, Problem> {
    let asked = page.request()?;
    let mut tx = db.platform().await?;
    scope::user(&mut tx, principal.user).await?;
    let rows = store::received(&mut tx, principal.user, clock.now(), asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |invitation| invitation.id)))
}

/// Accepts an invitation: the caller becomes a member of the tenant. To act for it, refresh the session with its
/// `tenant_id`.
#[utoipa::path(
    post, path = "/v1/me/invitations/{id}/accept", operation_id = "accept_invitation", tag = "users",
    params(
        ("id" = InvitationId, Path, description = "Invitation id"),
        IdempotencyKey,
    ),
    responses(
        (status = 200, description = "The membership", body = Membership),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::TenantSuspended]))),
)]
async fn accept_invitation(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Path(id): Path<InvitationId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.platform().await?, principal.user, &(), async |tx| {
        let membership = changes::accept(tx, &principal, id, clock.now()).await?;
        Reply::json(StatusCode::OK, &membership)
    })
    .await
}

/// Declines an invitation.
#[utoipa::path(
    post, path = "/v1/me/invitations/{id}/decline", operation_id = "decline_invitation", tag = "users",
    params(
        ("id" = InvitationId, Path, description = "Invitation id"),
        IdempotencyKey,
    ),
    responses(
        (status = 204, description = "Declined"),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn decline_invitation(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Path(id): Path<InvitationId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.platform().await?, principal.user, &(), async |tx| {
        changes::decline(tx, &principal, id, clock.now()).await?;
        Ok(Reply::no_content())
    })
    .await
}
