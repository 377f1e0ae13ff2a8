//! The caller's own account over HTTP.

use api::{IdempotencyKey, Json, Problem, ProblemType, Reply};
use auth::{Person, Role, User as SignedIn};
use axum::extract::State;
use ids::TenantId;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::User,
    password_change::{self, PasswordChange},
    store,
};
use crate::{
    client_address::ClientAddress,
    error::Error,
    membership::{self, Membership},
    scope,
    state::AppState,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(get_me)).routes(routes!(change_password))
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
struct Me {
    /// The caller's user.
    user: User,
    /// The tenant that the access token is for.
    tenant_id: Option<TenantId>,
    /// The caller's role in that tenant, from the access token.
    role: Option<Role>,
    /// All tenants the caller is a member of, oldest membership first. To act for another one, refresh the
    /// session with its `tenant_id`.
    memberships: Vec<Membership>,
}

/// Returns the caller and the tenants of which they are a member.
#[utoipa::path(
    get, path = "/v1/me", operation_id = "get_me", tag = "users",
    responses(
        (status = 200, description = "The caller", body = Me),
    )
)]
async fn get_me(State(state): State<AppState>, SignedIn(principal): SignedIn) -> Result<Json<Me>, Problem> {
    let mut tx = state.db.platform().await?;
    scope::user(&mut tx, principal.user).await?;
    let user = store::find(&mut tx, principal.user).await?.ok_or(Error::UserDeleted)?;
    let memberships = membership::of_user(&mut tx, principal.user).await?;
    tx.commit().await?;
    let (tenant_id, role) = principal.tenant.unzip();
    Ok(Json(Me { user, tenant_id, role, memberships }))
}

/// Changes the caller's password. Ends all other sessions of the caller.
#[utoipa::path(
    put, path = "/v1/me/password", operation_id = "change_password", tag = "users",
    params(IdempotencyKey),
    request_body = PasswordChange,
    responses(
        (status = 204, description = "The password has been changed"),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::WrongCredentials, ProblemType::TooManyAttempts]))),
)]
async fn change_password(
    State(state): State<AppState>,
    person: Person,
    client: ClientAddress,
    key: IdempotencyKey,
    Json(change): Json<PasswordChange>,
) -> Result<Reply, Problem> {
    password_change::change_password(&state, &key, &person, client, &change).await
}
