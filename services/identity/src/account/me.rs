//! The caller's own account over HTTP.

use api::{ETag, IdempotencyKey, IfMatch, Json, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{HasAuth, Person, Principal, Role, User as SignedIn};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::TenantId;
use people::{
    authority,
    client_address::ClientAddress,
    membership::{self, Membership},
    scope,
    tenant::check_name,
    user::{self, Language, User, store},
};
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Accounts,
    password_change::{self, PasswordChange},
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Accounts: FromRef<S>,
    Db: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(get_me, update_me)).routes(routes!(change_password))
}

/// The caller.
#[derive(Debug, Serialize, ToSchema)]
struct Me {
    /// The caller's user.
    user: User,
    /// The language that the caller has chosen for the console, or null: that of the browser.
    language: Option<Language>,
    /// The tenant that the access token is for.
    tenant_id: Option<TenantId>,
    /// The caller's role in that tenant, from the access token.
    role: Option<Role>,
    /// All tenants the caller is a member of, oldest membership first. To act for another one, see
    /// `update_session`, or refresh the session with its `tenant_id`.
    memberships: Vec<Membership>,
}

/// Returns the caller and the tenants of which they are a member.
#[utoipa::path(
    get, path = "/v1/me", operation_id = "get_me", tag = "users",
    responses(
        (status = 200, description = "The caller", body = Me),
    )
)]
async fn get_me(State(db): State<Db>, SignedIn(principal): SignedIn) -> Result<(ETag, Json<Me>), Problem> {
    let mut tx = db.platform().await?;
    let me = me(&mut tx, &principal).await?;
    tx.commit().await?;
    Ok((ETag(me.user.generation), Json(me)))
}

async fn me(tx: &mut PgConnection, caller: &Principal) -> Result<Me, Problem> {
    scope::user(tx, caller.user).await?;
    let user = store::find(tx, caller.user).await?.ok_or(user::Error::Deleted)?;
    let language = store::language(tx, caller.user).await?;
    let memberships = membership::of_user(tx, caller.user).await?;
    let (tenant_id, role) = caller.tenant.unzip();
    Ok(Me { user, language, tenant_id, role, memberships })
}

/// A change of the caller's account. Absent members stay unchanged.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MeChange {
    /// A new name, which others see.
    #[serde(default, deserialize_with = "api::text::optional_nfc")]
    display_name: Option<String>,
    /// The language of the console.
    #[serde(default)]
    language: Option<Language>,
}

/// Changes the caller's name and language.
#[utoipa::path(
    patch, path = "/v1/me", operation_id = "update_me", tag = "users",
    params(IfMatch, IdempotencyKey),
    request_body = MeChange,
    responses((status = 200, description = "The changed caller", body = Me)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn update_me(
    State(db): State<Db>,
    Person { principal, .. }: Person,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<MeChange>,
) -> Result<Reply, Problem> {
    if let Some(name) = &change.display_name {
        check_name("/display_name", name)?;
    }
    key.once(db.user(principal.user).await?, principal.user, &change, async |tx| {
        authority::signed_in(tx, &principal).await?;
        let user = store::lock(tx, principal.user).await?.ok_or(user::Error::Deleted)?;
        if_match.check(user.generation)?;
        store::update_own(tx, user.id, change.display_name.as_deref(), change.language).await?;
        let me = me(tx, &principal).await?;
        Ok(Reply::json(StatusCode::OK, &me)?.etag(me.user.generation))
    })
    .await
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
    State(accounts): State<Accounts>,
    person: Person,
    client: ClientAddress,
    key: IdempotencyKey,
    Json(change): Json<PasswordChange>,
) -> Result<Reply, Problem> {
    password_change::change_password(&accounts, &key, &person, client, &change).await
}
