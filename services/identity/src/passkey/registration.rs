//! Registering passkeys over HTTP.

use api::{IdempotencyKey, Json, Problem, ProblemType, Reply, openapi::OpenApiRouter};
use auth::Person;
use axum::{extract::State, http::StatusCode};
use utoipa_axum::routes;

use super::{
    changes,
    model::{NewPasskey, Passkey, PasskeyChallenge, check_name},
};
use crate::state::AppState;

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_passkey_registration)).routes(routes!(create_passkey))
}

/// Begins the registration of a passkey: returns options for `navigator.credentials.create()`. Finish it with
/// `create_passkey` in the same session, within five minutes. A session has one registration at a time. The person
/// has to have signed in within the last minutes; API keys register none.
#[utoipa::path(
    post, path = "/v1/me/passkey-registrations", operation_id = "create_passkey_registration", tag = "passkeys",
    params(IdempotencyKey),
    responses((status = 201, description = "The options", body = PasskeyChallenge)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::RecentSignInRequired, ProblemType::PasskeysDisabled, ProblemType::TooManyPasskeys]))),
)]
async fn create_passkey_registration(
    State(state): State<AppState>,
    person: Person,
    key: IdempotencyKey,
) -> Result<Reply, Problem> {
    let (relying_party, user) = (state.relying_party()?, person.principal.user);
    key.once(state.db.user(user).await?, user, &(), async |tx| {
        let challenge = changes::begin(&state, tx, &person, relying_party).await?;
        Reply::json(StatusCode::CREATED, &challenge)
    })
    .await
}

/// Registers the passkey that the browser has made with the options of `create_passkey_registration`.
#[utoipa::path(
    post, path = "/v1/me/passkeys", operation_id = "create_passkey", tag = "passkeys", params(IdempotencyKey),
    request_body = NewPasskey,
    responses((status = 201, description = "The passkey", body = Passkey)),
    extensions(("x-problems" = json!([ProblemType::PersonRequired, ProblemType::PasskeysDisabled, ProblemType::TooManyPasskeys]))),
)]
async fn create_passkey(
    State(state): State<AppState>,
    person: Person,
    key: IdempotencyKey,
    Json(new): Json<NewPasskey>,
) -> Result<Reply, Problem> {
    check_name(&new.name)?;
    let (relying_party, user) = (state.relying_party()?, person.principal.user);
    key.once(state.db.user(user).await?, user, &new, async |tx| {
        let passkey = changes::create(&state, tx, &person, relying_party, &new).await?;
        let location = format!("/v1/me/passkeys/{}", passkey.id);
        Ok(Reply::json(StatusCode::CREATED, &passkey)?.etag(passkey.generation).location(location))
    })
    .await
}
