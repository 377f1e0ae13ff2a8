//! The caller's own sessions over HTTP. Signing out needs no `Idempotency-Key`: it can be repeated.

use api::{Json, Page, PageParams, Path, Problem, ProblemType, Query, audit, openapi::OpenApiRouter};
use auth::{Person, Principal, User};
use axum::{
    extract::State,
    http::{HeaderName, HeaderValue, StatusCode, header},
};
use db::Tx;
use ids::{SessionId, TenantId};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::routes;

use super::{cookie::Cookie, model::EndReason, store};
use crate::{scope, state::AppState};

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list_sessions, end_all_sessions))
        .routes(routes!(end_session))
        .routes(routes!(end_session_by_id))
}

/// A session of the caller.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Session {
    /// Id of the session.
    pub(super) id: SessionId,
    /// Whether the request is of this session.
    pub(super) current: bool,
    /// Whether it is a browser's, with a cookie instead of tokens.
    pub(super) cookie: bool,
    /// The tenant for which the session acts, or null.
    pub(super) tenant_id: Option<TenantId>,
    /// `User-Agent` of the client at sign-in, or null.
    pub(super) user_agent: Option<String>,
    /// Address of the client that last used the session, or null.
    pub(super) address: Option<String>,
    /// When the user signed in.
    pub(super) created_at: Timestamp,
    /// When the session was last used: to the minute with a cookie, else when it was last refreshed.
    pub(super) last_used_at: Timestamp,
    /// When the session ends, regardless of use.
    pub(super) expires_at: Timestamp,
}

/// Lists the caller's sessions, oldest first.
#[utoipa::path(
    get, path = "/v1/sessions", operation_id = "list_sessions", tag = "sessions", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Session>)),
)]
async fn list_sessions(
    State(state): State<AppState>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Session>>, Problem> {
    let asked = page.request()?;
    let mut tx = state.db.user(principal.user).await?;
    let now = state.now();
    let rows = store::list(&mut tx, &principal, now, asked.after, asked.rows()).await?;
    Ok(Json(asked.page(rows, |session| session.id)))
}

type SignedOut = (StatusCode, [(HeaderName, HeaderValue); 1]);

/// Records a sign-out in the audit log of the tenant for which the caller acts.
async fn record(tx: &mut Tx, request: &audit::Request, caller: &Principal) -> Result<(), Problem> {
    if let Some((tenant, _)) = caller.tenant {
        scope::tenant(tx, tenant).await?;
    }
    Ok(request.record(tx, StatusCode::NO_CONTENT, None, &()).await?)
}

/// Signs out everywhere: ends all sessions of the caller, and revokes the tokens of API keys as well, which are exchanged
/// for new ones. API keys stay.
#[utoipa::path(
    delete, path = "/v1/sessions", operation_id = "end_all_sessions", tag = "sessions",
    responses((status = 204, description = "All sessions have ended")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn end_all_sessions(
    State(state): State<AppState>,
    Person { principal, .. }: Person,
    cookie: Cookie,
    request: audit::Request,
) -> Result<SignedOut, Problem> {
    let mut tx = state.db.user(principal.user).await?;
    store::end_all(&mut tx, principal.user, None, EndReason::SignedOut).await?;
    record(&mut tx, &request, &principal).await?;
    tx.commit().await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie.clear()?)]))
}

/// Signs out: ends the session of the request and removes its cookie. Its refresh tokens become invalid at once, its access
/// tokens and cookie within a second.
#[utoipa::path(
    delete, path = "/v1/sessions/current", operation_id = "end_session", tag = "sessions",
    responses(
        (status = 204, description = "The session has ended"),
    ),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn end_session(
    State(state): State<AppState>,
    Person { principal, session }: Person,
    cookie: Cookie,
    request: audit::Request,
) -> Result<SignedOut, Problem> {
    let mut tx = state.db.user(principal.user).await?;
    store::end(&mut tx, session, EndReason::SignedOut).await?;
    record(&mut tx, &request, &principal).await?;
    tx.commit().await?;
    Ok((StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie.clear()?)]))
}

/// Signs out elsewhere: ends one of the caller's sessions.
#[utoipa::path(
    delete, path = "/v1/sessions/{id}", operation_id = "end_session_by_id", tag = "sessions",
    params(("id" = SessionId, Path, description = "Session id")),
    responses((status = 204, description = "The session has ended")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn end_session_by_id(
    State(state): State<AppState>,
    Person { principal, .. }: Person,
    Path(id): Path<SessionId>,
    request: audit::Request,
) -> Result<StatusCode, Problem> {
    let mut tx = state.db.user(principal.user).await?;
    if !store::exists(&mut tx, principal.user, id).await? {
        return Err(Problem::not_found());
    }
    store::end(&mut tx, id, EndReason::SignedOut).await?;
    record(&mut tx, &request, &principal).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
