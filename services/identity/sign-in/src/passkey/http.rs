//! The caller's passkeys over HTTP.

use api::{
    ETag, IdempotencyKey, IfMatch, Json, Page, PageParams, Path, Problem, ProblemType, Query, Reply,
    openapi::OpenApiRouter,
};
use auth::{AdminPerson, HasAuth, Person, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::{PasskeyId, UserId};
use people::authority::RecentSignIn;
use utoipa_axum::routes;

use super::{
    changes,
    model::{Passkey, PasskeyChange, check_name},
    store,
};
use crate::sign_in_method::SignInMethods;

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    RecentSignIn: FromRef<S>,
    SignInMethods: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_passkeys))
        .routes(routes!(get_passkey, update_passkey, delete_passkey))
        .routes(routes!(reset_passkeys))
}

/// Lists the caller's passkeys, oldest first.
#[utoipa::path(
    get, path = "/v1/me/passkeys", operation_id = "list_passkeys", tag = "passkeys", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Passkey>)),
)]
async fn list_passkeys(
    State(db): State<Db>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Passkey>>, Problem> {
    let asked = page.request()?;
    let mut tx = db.user(principal.user).await?;
    let rows = store::list(&mut tx, principal.user, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |passkey| passkey.id)))
}

/// Returns a passkey of the caller.
#[utoipa::path(
    get, path = "/v1/me/passkeys/{id}", operation_id = "get_passkey", tag = "passkeys",
    params(("id" = PasskeyId, Path, description = "Passkey id")),
    responses((status = 200, description = "The passkey", body = Passkey)),
)]
async fn get_passkey(
    State(db): State<Db>,
    User(principal): User,
    Path(id): Path<PasskeyId>,
) -> Result<(ETag, Json<Passkey>), Problem> {
    let mut tx = db.user(principal.user).await?;
    let passkey = store::find(&mut tx, principal.user, id).await?.ok_or_else(Problem::not_found)?;
    Ok((ETag(passkey.generation), Json(passkey)))
}

/// Renames a passkey of the caller.
#[utoipa::path(
    patch, path = "/v1/me/passkeys/{id}", operation_id = "update_passkey", tag = "passkeys",
    params(("id" = PasskeyId, Path, description = "Passkey id"), IfMatch, IdempotencyKey),
    request_body = PasskeyChange,
    responses((status = 200, description = "The renamed passkey", body = Passkey)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn update_passkey(
    State(db): State<Db>,
    Person { principal, .. }: Person,
    Path(id): Path<PasskeyId>,
    key: IdempotencyKey,
    if_match: IfMatch,
    Json(change): Json<PasskeyChange>,
) -> Result<Reply, Problem> {
    check_name(&change.name)?;
    key.once(db.user(principal.user).await?, principal.user, &change, async |tx| {
        let passkey = changes::rename(tx, &principal, id, &if_match, &change.name).await?;
        Ok(Reply::json(StatusCode::OK, &passkey)?.etag(passkey.generation))
    })
    .await
}

/// Deletes a passkey of the caller, who can no longer sign in with it. 409 if it is the only way for the caller to sign
/// in.
#[utoipa::path(
    delete, path = "/v1/me/passkeys/{id}", operation_id = "delete_passkey", tag = "passkeys",
    params(("id" = PasskeyId, Path, description = "Passkey id"), IdempotencyKey),
    responses((status = 204, description = "Deleted")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired, ProblemType::LastSignInMethod]))),
)]
async fn delete_passkey(
    State(db): State<Db>,
    State(methods): State<SignInMethods>,
    State(recent): State<RecentSignIn>,
    person: Person,
    Path(id): Path<PasskeyId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let user = person.principal.user;
    key.once(db.user(user).await?, user, &(), async |tx| {
        changes::delete(&methods, recent, tx, &person, id).await?;
        Ok(Reply::no_content())
    })
    .await
}

/// Deletes all passkeys of a user, for example after the loss of a device. For administrators.
#[utoipa::path(
    delete, path = "/v1/users/{id}/passkeys", operation_id = "reset_passkeys", tag = "passkeys",
    params(("id" = UserId, Path, description = "User id"), IdempotencyKey),
    responses((status = 204, description = "The user has no passkeys")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn reset_passkeys(
    State(db): State<Db>,
    AdminPerson(principal): AdminPerson,
    Path(id): Path<UserId>,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    key.once(db.platform().await?, principal.user, &(), async |tx| {
        changes::reset(tx, &principal, id).await?;
        Ok(Reply::no_content())
    })
    .await
}
