//! Sign-in with a password over HTTP. Exempt from `Idempotency-Key`: a stored response would contain tokens.

use std::sync::Arc;

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::HasAuth;
use axum::{
    extract::{FromRef, State},
    http::HeaderMap,
};
use encryption::Cipher;
use people::{
    clock::Clock,
    cookie::Cookie,
    session::{Client, SessionTokens, sign_in_headers},
    throttle::Devices,
};
use utoipa_axum::routes;

use super::{SignIn, model::Credentials};

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Arc<Cipher>: FromRef<S>,
    Clock: FromRef<S>,
    SignIn: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(create_session))
}

/// Creates a session with a password.
///
/// An unknown e-mail address and a wrong password get the same 401. After several failures, sign-in is locked for up to
/// a minute (429): for the account in the client's network, or for all accounts from the client's address. After many
/// failures from other networks, a network from which nobody has signed in to the account is locked after its first
/// failure, for up to an hour. A browser that sends the cookie of an earlier sign-in is locked only by its own
/// failures.
#[utoipa::path(
    post, path = "/v1/sessions", operation_id = "create_session", tag = "sessions", security(()),
    request_body = Credentials,
    responses(
        (status = 200, description = "The session's tokens", body = SessionTokens),
    ),
    extensions(("x-problems" = json!([ProblemType::WrongCredentials, ProblemType::SecondFactorRequired, ProblemType::PasskeysDisabled, ProblemType::UserDisabled, ProblemType::NotAMember, ProblemType::TenantSuspended, ProblemType::TooManyAttempts]))),
)]
async fn create_session(
    State(sign_in): State<SignIn>,
    client: Client,
    cookie: Cookie,
    devices: Devices,
    request: api::audit::Request,
    Json(credentials): Json<Credentials>,
) -> Result<(HeaderMap, Json<SessionTokens>), Problem> {
    let (tokens, secret) = sign_in.sign_in(&client, &devices, &request, credentials).await?;
    Ok((sign_in_headers(&sign_in.sessions, cookie, devices, secret.as_ref(), &tokens)?, Json(tokens)))
}
