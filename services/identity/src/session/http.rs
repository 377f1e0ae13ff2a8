//! Sessions over HTTP. Exempt from `Idempotency-Key`: a stored response would contain tokens.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::SessionSecret;
use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, header},
};
use utoipa_axum::routes;

use super::{
    client::Client,
    cookie::Cookie,
    device::Devices,
    list,
    model::{Credentials, Refresh, SessionTokens},
    refresh, sign_in, switch,
};
use crate::{error::Error, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_session))
        .routes(routes!(refresh_session))
        .merge(list::routes())
        .merge(switch::routes())
}

type Uncached<T> = ([(HeaderName, &'static str); 1], Json<T>);

const NO_STORE: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// Creates a session with a password.
///
/// An unknown e-mail address and a wrong password get the same 401. After several failures, sign-in is locked
/// for up to a minute (429): for the account in the client's network, or for all accounts from the client's address.
/// After many failures from elsewhere, a network from which nobody has signed in to the account is locked after its first one,
/// for up to an hour. A browser that sends the cookie of an earlier sign-in is locked by its own failures only.
#[utoipa::path(
    post, path = "/v1/sessions", operation_id = "create_session", tag = "sessions", security(()),
    request_body = Credentials,
    responses(
        (status = 200, description = "The session's tokens", body = SessionTokens),
    ),
    extensions(("x-problems" = json!([ProblemType::WrongCredentials, ProblemType::SecondFactorRequired, ProblemType::PasskeysDisabled, ProblemType::UserDisabled, ProblemType::NotAMember, ProblemType::TenantSuspended, ProblemType::TooManyAttempts]))),
)]
async fn create_session(
    State(state): State<AppState>,
    client: Client,
    cookie: Cookie,
    devices: Devices,
    request: api::audit::Request,
    Json(credentials): Json<Credentials>,
) -> Result<(HeaderMap, Json<SessionTokens>), Problem> {
    let (tokens, secret) = sign_in::sign_in(&state, &client, &devices, &request, credentials).await?;
    Ok((sign_in_headers(&state, cookie, devices, secret.as_ref(), &tokens)?, Json(tokens)))
}

/// The headers of a response that no cache may keep.
pub(crate) fn not_stored() -> HeaderMap {
    HeaderMap::from_iter([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))])
}

/// The headers of a response that begins a session: with the cookies of the session and of the browser, if it is a browser's.
///
/// # Errors
/// If the secret cannot be in a header.
pub(crate) fn sign_in_headers(
    state: &AppState,
    cookie: Cookie,
    devices: Devices,
    secret: Option<&SessionSecret>,
    tokens: &SessionTokens,
) -> Result<HeaderMap, Error> {
    let mut headers = not_stored();
    if let Some(secret) = secret {
        headers.append(header::SET_COOKIE, cookie.set(secret, state.config.sessions.session_seconds)?);
        headers.append(header::SET_COOKIE, devices.remember(state, cookie, &tokens.user.email)?);
    }
    Ok(headers)
}

/// Exchanges a refresh token for new tokens. Each refresh token can be used once. One that is used again more
/// than a few seconds later counts as stolen and ends the session.
#[utoipa::path(
    post, path = "/v1/sessions/refresh", operation_id = "refresh_session", tag = "sessions", security(()),
    request_body = Refresh,
    responses(
        (status = 200, description = "The session's new tokens", body = SessionTokens),
    ),
    extensions(("x-problems" = json!([ProblemType::SessionEnded, ProblemType::UserDisabled, ProblemType::NotAMember, ProblemType::TenantSuspended]))),
)]
async fn refresh_session(
    State(state): State<AppState>,
    client: Client,
    Json(request): Json<Refresh>,
) -> Result<Uncached<SessionTokens>, Problem> {
    let tokens = refresh::refresh(&state, &client, &request).await?;
    Ok((NO_STORE, Json(tokens)))
}
