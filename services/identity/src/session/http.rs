//! Sessions over HTTP. Exempt from `Idempotency-Key`: a stored answer would hold tokens.

use api::{Json, Problem};
use auth::{Claims, User as SignedIn};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::SessionId;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Credentials, EndReason, Refresh, SessionTokens, session_of_jti},
    refresh, sign_in, store,
};
use crate::{app::App, scope};

pub(crate) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create_session))
        .routes(routes!(refresh_session))
        .routes(routes!(end_session))
}

type Uncached<T> = ([(HeaderName, &'static str); 1], Json<T>);

const NO_STORE: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// A 429 says in its header, too, how long to wait.
fn with_retry_after(problem: Problem) -> Response {
    let seconds = problem.extra.get("retry_after").and_then(serde_json::Value::as_i64);
    match seconds {
        Some(seconds) => ([(header::RETRY_AFTER, seconds.to_string())], problem).into_response(),
        None => problem.into_response(),
    }
}

/// Signs in with a password.
///
/// An unknown address and a wrong password get the same 401. After several failures an account rests
/// for up to a minute (429).
#[utoipa::path(
    post, path = "/v1/sessions", operation_id = "create_session", tag = "sessions", security(()),
    request_body = Credentials,
    responses(
        (status = 200, description = "The session's tokens", body = SessionTokens),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn create_session(
    State(app): State<App>,
    Json(credentials): Json<Credentials>,
) -> Result<Uncached<SessionTokens>, Response> {
    let tokens = sign_in::sign_in(&app, credentials).await.map_err(with_retry_after)?;
    Ok((NO_STORE, Json(tokens)))
}

/// Exchanges a refresh token for new tokens. Each is for one use; one that comes again later than a few
/// seconds after its first use ends the session, for it may have been stolen.
#[utoipa::path(
    post, path = "/v1/sessions/refresh", operation_id = "refresh_session", tag = "sessions", security(()),
    request_body = Refresh,
    responses(
        (status = 200, description = "The session's new tokens", body = SessionTokens),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn refresh_session(
    State(app): State<App>,
    Json(request): Json<Refresh>,
) -> Result<Uncached<SessionTokens>, Problem> {
    let tokens = refresh::refresh(&app, &request).await?;
    Ok((NO_STORE, Json(tokens)))
}

/// Signs out: the session of the access token ends, and its refresh token with it. The access token
/// itself lives out its minutes.
#[utoipa::path(
    delete, path = "/v1/sessions/current", operation_id = "end_session", tag = "sessions",
    responses(
        (status = 204, description = "The session has ended"),
        (status = "default", description = "Problem", body = Problem, content_type = "application/problem+json"),
    )
)]
async fn end_session(
    State(app): State<App>,
    SignedIn(principal): SignedIn,
    headers: HeaderMap,
) -> Result<StatusCode, Problem> {
    // a token of another issuer names no session of ours: there is nothing to end
    if let Some(session) = current(&headers) {
        let mut tx = app.db.platform().await?;
        scope::user(&mut tx, principal.user).await?;
        store::end(&mut tx, session, EndReason::SignedOut).await?;
        tx.commit().await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// The session of a request's access token, which an extractor has verified before.
pub(crate) fn current(headers: &HeaderMap) -> Option<SessionId> {
    let token = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?.1.trim();
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Claims = serde_json::from_slice(&payload).ok()?;
    session_of_jti(&claims.jti)
}
