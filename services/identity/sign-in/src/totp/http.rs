//! The caller's second factor over HTTP.

use api::{IdempotencyKey, Json, Path, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{AdminPerson, HasAuth, Person, User};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use db::Db;
use ids::UserId;
use people::{
    authority::RecentSignIn,
    client_address::ClientAddress,
    throttle::{Attempt, Throttle},
    user,
};
use serde_json::json;
use utoipa_axum::routes;

use super::{
    SecondFactors, changes, generate,
    model::{self, RecoveryCodes, Totp, TotpCode, TotpSecret},
    store,
};

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    RecentSignIn: FromRef<S>,
    SecondFactors: FromRef<S>,
    Throttle: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(get_totp, create_totp))
        .routes(routes!(start_totp))
        .routes(routes!(remove_totp))
        .routes(routes!(reset_totp))
}

/// Returns whether the caller's sign-in requires codes.
#[utoipa::path(
    get, path = "/v1/me/totp", operation_id = "get_totp", tag = "users",
    responses((status = 200, description = "The second factor", body = Totp)),
)]
async fn get_totp(State(db): State<Db>, User(principal): User) -> Result<Json<Totp>, Problem> {
    let mut tx = db.user(principal.user).await?;
    let enabled_at = store::find(&mut tx, principal.user).await?.and_then(|factor| factor.confirmed_at);
    let recovery_codes_left = store::count_recovery_codes(&mut tx, principal.user).await?;
    Ok(Json(Totp { enabled: enabled_at.is_some(), enabled_at, recovery_codes_left }))
}

/// Creates a secret for an authenticator app (TOTP: SHA-1, six digits, 30 s). Codes are required only after the first
/// one was confirmed with `start_totp`. Until then, each call replaces the secret. A replayed request returns no
/// secret.
#[utoipa::path(
    post, path = "/v1/me/totp", operation_id = "create_totp", tag = "users", params(IdempotencyKey),
    responses((status = 201, description = "The secret", body = TotpSecret)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired, ProblemType::TotpEnabled]))),
)]
async fn create_totp(
    State(factors): State<SecondFactors>,
    State(recent): State<RecentSignIn>,
    person: Person,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let mut tx = factors.db.platform().await?;
    let email = user::find(&mut tx, person.principal.user).await?.ok_or(user::Error::Deleted)?.email;
    tx.commit().await?;
    let secret = generate::secret()?;
    let mut replayed = true;
    let reply = key
        .once(factors.db.user(person.principal.user).await?, person.principal.user, &(), async |tx| {
            changes::enrol(&factors, recent, tx, &person, &secret).await?;
            replayed = false;
            Reply::json(StatusCode::CREATED, &TotpSecret { secret: None, url: None })
        })
        .await?;
    let (secret, url) = model::shown(&secret, &email);
    Ok(if replayed { reply } else { reply.once_only(json!({ "secret": secret, "url": url })) })
}

/// Enables the second factor if the first code is correct: codes are required at sign-in from now on. Returns the
/// recovery codes once.
#[utoipa::path(
    post, path = "/v1/me/totp/start", operation_id = "start_totp", tag = "users", params(IdempotencyKey),
    request_body = TotpCode,
    responses((status = 200, description = "The recovery codes", body = RecoveryCodes)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::NotFound, ProblemType::TotpEnabled, ProblemType::TooManyAttempts]))),
)]
async fn start_totp(
    State(factors): State<SecondFactors>,
    State(throttle): State<Throttle>,
    Person { principal, .. }: Person,
    client: ClientAddress,
    key: IdempotencyKey,
    Json(code): Json<TotpCode>,
) -> Result<Reply, Problem> {
    let attempt = begin(&throttle, client, principal.user).await?;
    let codes = generate::recovery_codes()?;
    let mut replayed = true;
    let reply = key
        .once(factors.db.user(principal.user).await?, principal.user, &code, async |tx| {
            changes::confirm(&factors, tx, &principal, &code.code, &codes).await?;
            replayed = false;
            Reply::json(StatusCode::OK, &RecoveryCodes { recovery_codes: None })
        })
        .await;
    let reply = counted(attempt, reply).await?;
    Ok(if replayed { reply } else { reply.once_only(json!({ "recovery_codes": codes })) })
}

/// Removes the second factor. Requires one of its codes, or a recovery code.
#[utoipa::path(
    post, path = "/v1/me/totp/remove", operation_id = "remove_totp", tag = "users", params(IdempotencyKey),
    request_body = TotpCode,
    responses((status = 204, description = "Codes are no longer required")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::NotFound, ProblemType::TooManyAttempts]))),
)]
async fn remove_totp(
    State(factors): State<SecondFactors>,
    State(throttle): State<Throttle>,
    Person { principal, .. }: Person,
    client: ClientAddress,
    key: IdempotencyKey,
    Json(code): Json<TotpCode>,
) -> Result<Reply, Problem> {
    let attempt = begin(&throttle, client, principal.user).await?;
    let reply = key
        .once(factors.db.user(principal.user).await?, principal.user, &code, async |tx| {
            changes::remove(&factors, tx, &principal, &code.code).await?;
            Ok(Reply::no_content())
        })
        .await;
    counted(attempt, reply).await
}

/// Removes the second factor of a user who has lost the device and the recovery codes. For administrators.
#[utoipa::path(
    delete, path = "/v1/users/{id}/totp", operation_id = "reset_totp", tag = "users",
    params(("id" = UserId, Path, description = "User id"), IdempotencyKey),
    responses((status = 204, description = "Codes are no longer required")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn reset_totp(
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

/// Attempts at codes are limited like those at passwords.
async fn begin(throttle: &Throttle, client: ClientAddress, user: UserId) -> Result<Attempt, Problem> {
    let mut tx = throttle.db.platform().await?;
    let email = user::find(&mut tx, user).await?.ok_or(user::Error::Deleted)?.email;
    tx.commit().await?;
    throttle.begin_signed_in(client, &email).await
}

/// Counts a wrong code as a failed attempt.
async fn counted(attempt: Attempt, reply: Result<Reply, Problem>) -> Result<Reply, Problem> {
    if reply.as_ref().is_err_and(|problem| problem.is(ProblemType::InvalidField)) {
        attempt.failed().await?;
    }
    reply
}
