//! Exchanging a refresh token for new tokens.

use api::{Problem, ProblemType};
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;

use super::{
    model::{EndReason, Refresh, RefreshToken, SessionTokens, choose, tokens},
    store,
};
use crate::{app::App, membership, scope, user};

fn ended() -> Problem {
    Problem::new(ProblemType::SessionEnded, "The refresh token is not known, or its session has ended.")
}

/// # Errors
/// 401 when the session has ended or ends by this; 403 as for signing in.
pub(super) async fn refresh(app: &App, request: &Refresh) -> Result<SessionTokens, Problem> {
    let shown = RefreshToken::parse(request.refresh_token.expose_secret()).ok_or_else(ended)?;
    let (session, hash) = (shown.session, shown.hash());
    let now = Timestamp::now();
    let grace = SignedDuration::from_secs(app.config.sessions.reuse_grace_seconds.into());

    let mut tx = app.db.platform().await?;
    scope::session(&mut tx, session).await?;
    let token = store::lock_token(&mut tx, session, &hash).await?.ok_or_else(ended)?;
    if token.ended || token.expires_at <= now {
        return Err(ended());
    }
    if token.replaced_at.is_some_and(|at| at + grace <= now) {
        store::end(&mut tx, session, EndReason::TokenReused).await?;
        tx.commit().await?;
        tracing::warn!(session.id = %session, user.id = %token.user, "refresh token came again; session ended");
        return Err(ended());
    }
    scope::user(&mut tx, token.user).await?;
    let user = user::find(&mut tx, token.user).await?.ok_or_else(ended)?;
    let memberships = membership::of_user(&mut tx, token.user).await?;
    let lost = token.tenant.is_some_and(|tenant| memberships.iter().all(|m| m.tenant.id != tenant));
    let end = match (user.disabled, lost && request.tenant_id.is_none()) {
        (true, _) => Some(EndReason::UserDisabled),
        (false, true) => Some(EndReason::MembershipEnded),
        (false, false) => None,
    };
    if let Some(reason) = end {
        store::end(&mut tx, session, reason).await?;
        tx.commit().await?;
        return Err(ended());
    }
    let membership = choose(memberships, request.tenant_id.or(token.tenant))?;
    let next = RefreshToken::generate(session)?;
    store::replace_token(&mut tx, &hash, now).await?;
    store::insert_token(&mut tx, session, &next.hash()).await?;
    store::touch(&mut tx, session, membership.as_ref().map(|m| m.tenant.id)).await?;
    tx.commit().await?;
    tokens(app, user, membership, &next, token.expires_at)
}
