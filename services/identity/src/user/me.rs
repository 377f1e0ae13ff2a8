//! What a signed-in user sees and changes of oneself.

use api::{IdempotencyKey, Json, Problem, Reply};
use auth::{Role, User as SignedIn};
use axum::{extract::State, http::HeaderMap};
use ids::TenantId;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{model::User, store};
use crate::{
    app::App,
    membership::{self, Membership},
    password, scope,
    session::{self, EndReason},
};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_me)).routes(routes!(change_password))
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
struct Me {
    /// The caller's account.
    user: User,
    /// The tenant that the access token is for.
    tenant_id: Option<TenantId>,
    /// The role there, as the token says.
    role: Option<Role>,
    /// All tenants the caller belongs to, the oldest membership first. To act for another one, refresh
    /// the session with its `tenant_id`.
    memberships: Vec<Membership>,
}

/// Who the caller is, and in which tenants.
#[utoipa::path(
    get, path = "/v1/me", operation_id = "get_me", tag = "users",
    responses(
        (status = 200, description = "The caller", body = Me),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn get_me(State(app): State<App>, SignedIn(principal): SignedIn) -> Result<Json<Me>, Problem> {
    let mut tx = app.db.platform().await?;
    scope::user(&mut tx, principal.user).await?;
    let user = store::find(&mut tx, principal.user).await?.ok_or_else(gone)?;
    let memberships = membership::of_user(&mut tx, principal.user).await?;
    tx.commit().await?;
    let (tenant_id, role) = principal.tenant.unzip();
    Ok(Json(Me { user, tenant_id, role, memberships }))
}

fn gone() -> Problem {
    Problem::unauthenticated("The user of this token does not exist any more.")
}

/// A new password.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PasswordChange {
    /// The present one.
    #[schema(value_type = String, format = Password)]
    current_password: SecretString,
    /// The new one, 8 characters to 256 bytes.
    #[schema(value_type = String, format = Password)]
    new_password: SecretString,
}

/// Changes the caller's password. All sessions but the caller's own end.
#[utoipa::path(
    put, path = "/v1/me/password", operation_id = "change_password", tag = "users",
    params(("Idempotency-Key" = String, Header, description = "New for each write")),
    request_body = PasswordChange,
    responses(
        (status = 204, description = "The new password holds"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn change_password(
    State(app): State<App>,
    SignedIn(principal): SignedIn,
    key: IdempotencyKey,
    headers: HeaderMap,
    Json(change): Json<PasswordChange>,
) -> Result<Reply, Problem> {
    let mut tx = app.db.platform().await?;
    let user = store::find(&mut tx, principal.user).await?.ok_or_else(gone)?;
    let stored = store::password_hash(&mut tx, user.id).await?;
    tx.commit().await?;
    password::check("/new_password", &change.new_password, &user.email)?;

    // the turn is taken first: so tries beyond the limit cannot slip by side by side
    let turn = app.hasher.turn().await?;
    let guess = session::Guess::begin(&app, &user.email).await?;
    let right = turn.verify(change.current_password.clone(), stored.clone()).await?;
    let hash =
        if right { Some(app.hasher.turn().await?.hash(change.new_password.clone()).await?) } else { None };
    let recognized_by = json!([
        app.vault.fingerprint(change.current_password.expose_secret()),
        app.vault.fingerprint(change.new_password.expose_secret())
    ]);
    let reply = key
        .once(app.db.platform().await?, principal.user, &recognized_by, async |tx| {
            let hash = hash.as_deref().ok_or_else(wrong_password)?;
            let user = store::lock(tx, user.id).await?.ok_or_else(gone)?;
            if store::password_hash(tx, user.id).await? != stored {
                return Err(wrong_password());
            }
            let update = store::Update { password_hash: Some(hash), ..store::Update::default() };
            store::update(tx, user.id, user.generation, &update)
                .await?
                .ok_or_else(|| Problem::internal("a locked user has changed"))?;
            session::end_all(tx, user.id, session::current(&headers), EndReason::PasswordChanged).await?;
            Ok(Reply::no_content())
        })
        .await;
    // the same request again finds the new password in place: it gets the stored answer, and was no guess
    if right {
        guess.right(&app).await?;
    } else if reply.is_err() {
        guess.wrong(&app).await?;
    }
    reply
}

fn wrong_password() -> Problem {
    Problem::invalid_field("/current_password", "is not your password")
}
