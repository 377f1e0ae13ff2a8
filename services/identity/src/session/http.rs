//! Sessions over HTTP. Exempt from `Idempotency-Key`: a stored response would contain tokens.

use api::{Json, Problem, ProblemType};
use auth::User as SignedIn;
use axum::{
    extract::State,
    http::{HeaderName, StatusCode, header},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::{
    model::{Credentials, EndReason, Refresh, SessionTokens},
    refresh, sign_in, store,
};
use crate::{client_address::ClientAddress, scope, state::AppState};

pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(create_session))
        .routes(routes!(refresh_session))
        .routes(routes!(end_session))
}

type Uncached<T> = ([(HeaderName, &'static str); 1], Json<T>);

const NO_STORE: [(HeaderName, &str); 1] = [(header::CACHE_CONTROL, "no-store")];

/// Creates a session with a password.
///
/// An unknown e-mail address and a wrong password get the same 401. After several failures, sign-in is locked
/// for up to a minute (429): for the account in the client's network, or for all accounts from the client's address.
/// After many from elsewhere, it is locked for the account in networks from which nobody has signed in to it.
#[utoipa::path(
    post, path = "/v1/sessions", operation_id = "create_session", tag = "sessions", security(()),
    request_body = Credentials,
    responses(
        (status = 200, description = "The session's tokens", body = SessionTokens),
    ),
    extensions(("x-problems" = json!([ProblemType::WrongCredentials, ProblemType::UserDisabled, ProblemType::NotAMember, ProblemType::TenantSuspended, ProblemType::TooManyAttempts]))),
)]
async fn create_session(
    State(state): State<AppState>,
    client: ClientAddress,
    request: api::audit::Request,
    Json(credentials): Json<Credentials>,
) -> Result<Uncached<SessionTokens>, Problem> {
    let tokens = sign_in::sign_in(&state, client, &request, credentials).await?;
    Ok((NO_STORE, Json(tokens)))
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
    Json(request): Json<Refresh>,
) -> Result<Uncached<SessionTokens>, Problem> {
    let tokens = refresh::refresh(&state, &request).await?;
    Ok((NO_STORE, Json(tokens)))
}

/// Signs out: ends the session of the access token. Its refresh tokens become invalid at once, its access
/// tokens within a second.
#[utoipa::path(
    delete, path = "/v1/sessions/current", operation_id = "end_session", tag = "sessions",
    responses(
        (status = 204, description = "The session has ended"),
    )
)]
async fn end_session(
    State(state): State<AppState>,
    SignedIn(principal): SignedIn,
    request: api::audit::Request,
) -> Result<StatusCode, Problem> {
    if let Some(session) = principal.session {
        let mut tx = state.db.platform().await?;
        scope::user(&mut tx, principal.user).await?;
        store::end(&mut tx, session, EndReason::SignedOut).await?;
        if let Some((tenant, _)) = principal.tenant {
            scope::tenant(&mut tx, tenant).await?;
        }
        request.record(&mut tx, StatusCode::NO_CONTENT, None, &()).await?;
        tx.commit().await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
