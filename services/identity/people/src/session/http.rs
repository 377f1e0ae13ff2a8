//! Sessions over HTTP. Exempt from `Idempotency-Key`: a stored response would contain tokens.

use api::{Json, Problem, ProblemType, openapi::OpenApiRouter};
use auth::{HasAuth, SessionSecret};
use axum::{
    extract::{FromRef, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
};
use db::Db;
use utoipa_axum::routes;

use super::{
    Sessions,
    client::Client,
    list,
    model::{Refresh, SessionTokens},
    refresh, switch,
};
use crate::{clock::Clock, cookie::Cookie, throttle::Devices};

pub fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    Clock: FromRef<S>,
    Sessions: FromRef<S>,
{
    OpenApiRouter::new().routes(routes!(refresh_session)).merge(list::routes()).merge(switch::routes())
}

type Uncached<T> = ([(HeaderName, &'static str); 1], Json<T>);

const NO_STORE: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// The headers of a response that no cache may keep.
pub fn not_stored() -> HeaderMap {
    HeaderMap::from_iter([(header::CACHE_CONTROL, HeaderValue::from_static("no-store"))])
}

/// The headers of a response that begins a session: with the cookies of the session and of the browser, if it is a browser's.
///
/// # Errors
/// If the secret cannot be in a header.
pub fn sign_in_headers(
    sessions: &Sessions,
    cookie: Cookie,
    devices: Devices,
    secret: Option<&SessionSecret>,
    tokens: &SessionTokens,
) -> Result<HeaderMap, Problem> {
    let mut headers = not_stored();
    if let Some(secret) = secret {
        headers.append(header::SET_COOKIE, cookie.set(secret, sessions.config.session_seconds)?);
        headers.append(
            header::SET_COOKIE,
            devices.remember(&sessions.cipher, sessions.clock.now(), cookie, &tokens.user.email)?,
        );
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
    State(sessions): State<Sessions>,
    client: Client,
    Json(request): Json<Refresh>,
) -> Result<Uncached<SessionTokens>, Problem> {
    let tokens = refresh::refresh(&sessions, &client, &request).await?;
    Ok((NO_STORE, Json(tokens)))
}
