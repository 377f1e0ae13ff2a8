//! The caller's own sessions over HTTP. Signing out needs no `Idempotency-Key`: it can be repeated.

use api::{Json, Page, PageParams, Path, Problem, ProblemType, Query, audit, openapi::OpenApiRouter};
use auth::{HasAuth, Person, Principal, User};
use axum::{
    extract::{FromRef, State},
    http::{HeaderName, HeaderValue, StatusCode, header},
};
use db::Db;
use db::Tx;
use ids::SessionId;
use utoipa_axum::routes;

use super::{
    model::{EndReason, Session},
    store,
};
use crate::{clock::Clock, cookie::Cookie, scope};

pub(super) fn routes<S: HasAuth>() -> OpenApiRouter<S>
where
    Db: FromRef<S>,
    Clock: FromRef<S>,
{
    OpenApiRouter::new()
        .routes(routes!(list_sessions, end_all_sessions))
        .routes(routes!(end_session))
        .routes(routes!(end_session_by_id))
}

/// Lists the caller's sessions, oldest first.
#[utoipa::path(
    get, path = "/v1/sessions", operation_id = "list_sessions", tag = "sessions", params(PageParams),
    responses((status = 200, description = "One page", body = Page<Session>)),
)]
async fn list_sessions(
    State(db): State<Db>,
    State(clock): State<Clock>,
    User(principal): User,
    Query(page): Query<PageParams>,
) -> Result<Json<Page<Session>>, Problem> {
    let asked = page.request()?;
    let mut tx = db.user(principal.user).await?;
    let now = clock.now();
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

/// Signs out everywhere: ends all sessions of the caller. Access tokens of API keys are revoked too; the keys stay
/// valid and are exchanged for new tokens.
#[utoipa::path(
    delete, path = "/v1/sessions", operation_id = "end_all_sessions", tag = "sessions",
    responses((status = 204, description = "All sessions have ended")),
    extensions(("x-problems" = json!([ProblemType::PersonRequired]))),
)]
async fn end_all_sessions(
    State(db): State<Db>,
    Person { principal, .. }: Person,
    cookie: Cookie,
    request: audit::Request,
) -> Result<SignedOut, Problem> {
    let mut tx = db.user(principal.user).await?;
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
    State(db): State<Db>,
    Person { principal, session }: Person,
    cookie: Cookie,
    request: audit::Request,
) -> Result<SignedOut, Problem> {
    let mut tx = db.user(principal.user).await?;
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
    State(db): State<Db>,
    Person { principal, .. }: Person,
    Path(id): Path<SessionId>,
    request: audit::Request,
) -> Result<StatusCode, Problem> {
    let mut tx = db.user(principal.user).await?;
    if !store::exists(&mut tx, principal.user, id).await? {
        return Err(Problem::not_found());
    }
    store::end(&mut tx, id, EndReason::SignedOut).await?;
    record(&mut tx, &request, &principal).await?;
    tx.commit().await?;
    Ok(StatusCode::NO_CONTENT)
}
