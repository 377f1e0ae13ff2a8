//! Registering passkeys over HTTP.

use api::{IdempotencyKey, Json, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::{HasAuth, Person};
use axum::{
    extract::{FromRef, State},
    http::StatusCode,
};
use people::authority::RecentSignIn;
use utoipa_axum::routes;

use super::{
    Passkeys, changes,
    model::{NewPasskey, Passkey, PasskeyChallenge, check_name},
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Passkeys: FromRef<S>,
    RecentSignIn: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_passkey_registration)).routes(routes!(create_passkey))
}

/// Begins the registration of a passkey: returns options for `navigator.credentials.create()`. Finish it with
/// `create_passkey` in the same session, within five minutes. A session has one registration at a time. Requires a
/// sign-in within the last minutes. API keys cannot register passkeys.
#[utoipa::path(
    post, path = "/v1/me/passkey-registrations", operation_id = "create_passkey_registration", tag = "passkeys",
    params(IdempotencyKey),
    responses((status = 201, description = "The options", body = PasskeyChallenge)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired, ProblemType::PasskeysDisabled, ProblemType::TooManyPasskeys]))),
)]
async fn create_passkey_registration(
    State(passkeys): State<Passkeys>,
    State(recent): State<RecentSignIn>,
    person: Person,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let (relying_party, user) = (passkeys.relying_party()?, person.principal.user);
    key.once(passkeys.db.user(user).await?, user, &(), async |tx| {
        let challenge = changes::begin(tx, &person, relying_party, recent).await?;
        Reply::json(StatusCode::CREATED, &challenge)
    })
    .await
}

/// Registers the passkey that the browser created with the options of `create_passkey_registration`.
#[utoipa::path(
    post, path = "/v1/me/passkeys", operation_id = "create_passkey", tag = "passkeys", params(IdempotencyKey),
    request_body = NewPasskey,
    responses((status = 201, description = "The passkey", body = Passkey)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::PasskeysDisabled, ProblemType::TooManyPasskeys]))),
)]
async fn create_passkey(
    State(passkeys): State<Passkeys>,
    person: Person,
    key: IdempotencyKey,
    Json(new): Json<NewPasskey>,
) -> Result<Reply, Problem> {
    check_name(&new.name)?;
    let (relying_party, user) = (passkeys.relying_party()?, person.principal.user);
    key.once(passkeys.db.user(user).await?, user, &new, async |tx| {
        let passkey = changes::create(passkeys.clock, tx, &person, relying_party, &new).await?;
        let location = format!("/v1/me/passkeys/{}", passkey.id);
        Ok(Reply::json(StatusCode::CREATED, &passkey)?.etag(passkey.generation).location(location))
    })
    .await
}
