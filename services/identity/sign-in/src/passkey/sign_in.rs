//! Sign-in with passkeys over HTTP. Exempt from `Idempotency-Key`: a stored response would contain tokens.

use std::sync::Arc;

use api::{Json, Problem, ProblemType, audit, openapi::OpenApiRouter};
use auth::{HasAuth, SessionSecret};
use axum::{
    extract::{FromRef, State},
    http::{HeaderMap, StatusCode},
};
use encryption::Cipher;
use ids::TenantId;
use people::{
    access::Holder,
    clock::Clock,
    cookie::Cookie,
    scope,
    session::{self, Client, NewSession, SessionTokens, Sessions},
    throttle::{Devices, Throttle},
};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{
    Error, Passkeys,
    model::{Assertion, CHALLENGE_LIFETIME, PasskeyChallenge},
    store, verify,
};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Arc<Cipher>: FromRef<S>,
    Clock: FromRef<S>,
    SignIn: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_passkey_challenge)).routes(routes!(create_passkey_session))
}

/// The parts that sign-in with a passkey needs.
#[derive(Clone)]
pub struct SignIn {
    pub passkeys: Passkeys,
    pub sessions: Sessions,
    pub throttle: Throttle,
}

/// A passkey that has answered a challenge.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PasskeyCredentials {
    /// The result of `navigator.credentials.get()`, in the format of `PublicKeyCredential.toJSON()`.
    #[schema(value_type = Object)]
    credential: Assertion,
    /// The tenant to act for (default: the active tenant with the oldest membership, if any).
    #[serde(default)]
    tenant_id: Option<TenantId>,
    /// For browsers: the response sets a cookie instead of returning tokens, as in `create_session`.
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
    State(SignIn { passkeys, throttle, .. }): State<SignIn>,
    client: Client,
) -> Result<(StatusCode, HeaderMap, Json<PasskeyChallenge>), Problem> {
    let relying_party = passkeys.relying_party()?;
    throttle.begin_with_passkey(client.address).await?;
    let challenge = relying_party.begin_sign_in().map_err(Problem::internal)?;
    let expires_at = passkeys.clock.now() + CHALLENGE_LIFETIME;
    let mut tx = passkeys.db.platform().await?;
    scope::passkey_challenge(&mut tx, &challenge.hash).await?;
    store::insert_sign_in(&mut tx, &challenge, expires_at).await?;
    tx.commit().await?;
    let challenge = PasskeyChallenge { public_key: challenge.options, expires_at };
    Ok((StatusCode::CREATED, session::not_stored(), Json(challenge)))
}

/// Creates a session with a passkey, instead of e-mail address, password and second factor.
///
/// Unknown passkeys, deleted passkeys and invalid answers get the same 401. After several failures, sign-in with
/// passkeys is locked for up to a minute for the client's address (429). Wrong passwords do not lock it.
#[utoipa::path(
    post, path = "/v1/sessions/passkey", operation_id = "create_passkey_session", tag = "passkeys", security(()),
    request_body = PasskeyCredentials,
    responses((status = 200, description = "The session's tokens", body = SessionTokens)),
    extensions(("x-problems" = json!([ProblemType::PasskeysDisabled, ProblemType::PasskeyRefused, ProblemType::UserDisabled, ProblemType::NotAMember, ProblemType::TenantSuspended, ProblemType::TooManyAttempts]))),
)]
async fn create_passkey_session(
    State(sign_in): State<SignIn>,
    client: Client,
    cookie: Cookie,
    devices: Devices,
    request: audit::Request,
    Json(credentials): Json<PasskeyCredentials>,
) -> Result<(HeaderMap, Json<SessionTokens>), Problem> {
    let (tokens, secret) = sign_in.sign_in(&client, &request, &credentials).await?;
    Ok((
        session::sign_in_headers(&sign_in.sessions, cookie, devices, secret.as_ref(), &tokens)?,
        Json(tokens),
    ))
}

impl SignIn {
    async fn sign_in(
        &self,
        client: &Client,
        request: &audit::Request,
        credentials: &PasskeyCredentials,
    ) -> Result<(SessionTokens, Option<SessionSecret>), Problem> {
        let relying_party = self.passkeys.relying_party()?;
        let attempt = self.throttle.begin_with_passkey(client.address).await?;
        let assertion = &credentials.credential;
        let Some(kept) = verify::take_challenge(&self.passkeys, assertion).await? else {
            attempt.failed().await?;
            return Err(Error::Refused.into());
        };
        let mut tx = self.passkeys.db.platform().await?;
        let Some(user) = verify::verify(&mut tx, relying_party, assertion, kept).await? else {
            tx.rollback().await?;
            attempt.failed().await?;
            return Err(Error::Refused.into());
        };
        let holder = Holder::find(&mut tx, user).await?.ok_or(Error::Refused)?;
        self.throttle.remember_network(&mut tx, client.address, &holder.user.email).await?;
        let new = NewSession { tenant: credentials.tenant_id, cookie: credentials.cookie, client };
        let opened = session::open(&mut tx, &self.sessions, holder, &new).await?;
        opened.record(&mut tx, request, StatusCode::OK).await?;
        tx.commit().await?;
        opened.tokens(&self.sessions)
    }
}
