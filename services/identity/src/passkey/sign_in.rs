//! Sign-in with passkeys over HTTP. Exempt from `Idempotency-Key`: a stored response would contain tokens.

use api::{Json, Problem, ProblemType, audit, openapi::OpenApiRouter};
use auth::SessionSecret;
use axum::{
    extract::State,
    http::{HeaderMap, StatusCode},
};
use ids::TenantId;
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    model::{Assertion, CHALLENGE_LIFETIME, PasskeyChallenge},
    store, verify,
};
use crate::{
    error::Error,
    scope,
    session::{self, Attempt, Client, Cookie, Devices, Holder, NewSession, SessionTokens},
    state::AppState,
};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(create_passkey_challenge)).routes(routes!(create_passkey_session))
}

/// A passkey that has answered a challenge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PasskeyCredentials {
    /// What `navigator.credentials.get()` returned, as `PublicKeyCredential.toJSON()` writes it.
    #[schema(value_type = Object)]
    credential: Assertion,
    /// The tenant to act for (default: the active tenant with the oldest membership, if any).
    #[serde(default)]
    tenant_id: Option<TenantId>,
    /// For browsers: the response sets a cookie instead of returning tokens, as that of `create_session`.
    #[serde(default)]
    cookie: bool,
}

/// Begins a sign-in with a passkey: returns options for `navigator.credentials.get()`. The browser's answer is valid once,
/// for five minutes, for `create_passkey_session`, or for `create_session` as the second factor.
#[utoipa::path(
    post, path = "/v1/sessions/passkey-challenges", operation_id = "create_passkey_challenge", tag = "passkeys",
    security(()),
    responses((status = 201, description = "The options", body = PasskeyChallenge)),
    extensions(("x-problems" = json!([ProblemType::PasskeysDisabled, ProblemType::TooManyAttempts]))),
)]
async fn create_passkey_challenge(
    State(state): State<AppState>,
    client: Client,
) -> Result<(StatusCode, HeaderMap, Json<PasskeyChallenge>), Problem> {
    let relying_party = state.relying_party()?;
    Attempt::begin_with_passkey(&state, client.address).await?;
    let challenge = relying_party.begin_sign_in().map_err(Error::from)?;
    let expires_at = state.now() + CHALLENGE_LIFETIME;
    let mut tx = state.db.platform().await?;
    scope::passkey_challenge(&mut tx, &challenge.hash).await?;
    store::insert_sign_in(&mut tx, &challenge, expires_at).await?;
    tx.commit().await?;
    let challenge = PasskeyChallenge { public_key: challenge.options, expires_at };
    Ok((StatusCode::CREATED, session::not_stored(), Json(challenge)))
}

/// Creates a session with a passkey, which takes the place of e-mail address, password and second factor.
///
/// Unknown and deleted passkeys, and answers that are not valid, get the same 401. After several failures, sign-in with
/// passkeys is locked for up to a minute for the client's address (429). Wrong passwords do not lock it.
#[utoipa::path(
    post, path = "/v1/sessions/passkey", operation_id = "create_passkey_session", tag = "passkeys", security(()),
    request_body = PasskeyCredentials,
    responses((status = 200, description = "The session's tokens", body = SessionTokens)),
    extensions(("x-problems" = json!([ProblemType::PasskeysDisabled, ProblemType::PasskeyRefused, ProblemType::UserDisabled, ProblemType::NotAMember, ProblemType::TenantSuspended, ProblemType::TooManyAttempts]))),
)]
async fn create_passkey_session(
    State(state): State<AppState>,
    client: Client,
    cookie: Cookie,
    devices: Devices,
    request: audit::Request,
    Json(credentials): Json<PasskeyCredentials>,
) -> Result<(HeaderMap, Json<SessionTokens>), Problem> {
    let (tokens, secret) = sign_in(&state, &client, &request, &credentials).await?;
    Ok((session::sign_in_headers(&state, cookie, devices, secret.as_ref(), &tokens)?, Json(tokens)))
}

async fn sign_in(
    state: &AppState,
    client: &Client,
    request: &audit::Request,
    credentials: &PasskeyCredentials,
) -> Result<(SessionTokens, Option<SessionSecret>), Error> {
    let relying_party = state.relying_party()?;
    let attempt = Attempt::begin_with_passkey(state, client.address).await?;
    let assertion = &credentials.credential;
    let Some(kept) = verify::take_challenge(state, assertion).await? else {
        attempt.failed(state).await?;
        return Err(Error::PasskeyRefused);
    };
    let mut tx = state.db.platform().await?;
    let Some(user) = verify::verify(&mut tx, relying_party, assertion, kept).await? else {
        tx.rollback().await?;
        attempt.failed(state).await?;
        return Err(Error::PasskeyRefused);
    };
    let holder = Holder::find(&mut tx, user).await?.ok_or(Error::PasskeyRefused)?;
    session::remember_network(&mut tx, state, client.address, &holder.user.email).await?;
    let new = NewSession { tenant: credentials.tenant_id, cookie: credentials.cookie, client };
    let opened = session::open(&mut tx, state, holder, &new).await?;
    opened.record(&mut tx, request, StatusCode::OK).await?;
    tx.commit().await?;
    opened.tokens(state)
}
