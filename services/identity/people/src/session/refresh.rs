//! Exchanging a refresh token for new tokens.

use api::Problem;
use ids::TenantId;
use jiff::SignedDuration;
use secrecy::ExposeSecret;

use super::{
    Sessions,
    client::Client,
    model::{EndReason, Refresh, SessionEnded, SessionTokens},
    store,
    tokens::{Issued, RefreshToken},
};
use crate::{
    access::{self, Holder},
    membership::{self, Membership},
    scope,
    user::User,
};

/// # Errors
/// If the session has ended, or ends by this; and as [`access::membership`].
pub(super) async fn refresh(
    sessions: &Sessions,
    client: &Client,
    request: &Refresh,
) -> Result<SessionTokens, Problem> {
    let used = RefreshToken::parse(request.refresh_token.expose_secret()).ok_or(SessionEnded)?;
    let (session, hash) = (used.session, used.hash());
    let now = sessions.clock.now();
    let grace = SignedDuration::from_secs(sessions.config.reuse_grace_seconds.into());

    let mut tx = sessions.db.platform().await?;
    scope::session(&mut tx, session).await?;
    let stored = store::lock_token(&mut tx, session, &hash).await?.ok_or(SessionEnded)?;
    if stored.ended || stored.expires_at <= now {
        return Err(SessionEnded.into());
    }
    if stored.replaced_at.is_some_and(|at| at + grace <= now) {
        store::end(&mut tx, session, EndReason::TokenReused).await?;
        tx.commit().await?;
        tracing::warn!(session.id = %session, user.id = %stored.user, "refresh token reused, session ended");
        return Err(SessionEnded.into());
    }
    scope::user(&mut tx, stored.user).await?;
    let holder = Holder::find(&mut tx, stored.user).await?.ok_or(SessionEnded)?;
    let memberships = membership::of_user(&mut tx, stored.user).await?;
    if let Some(reason) = end_reason(&holder.user, &memberships, stored.tenant, request.tenant_id) {
        store::end(&mut tx, session, reason).await?;
        tx.commit().await?;
        return Err(SessionEnded.into());
    }
    let membership = access::membership(&mut tx, stored.user, request.tenant_id.or(stored.tenant)).await??;
    let refresh_token = RefreshToken::generate(session)?;
    store::replace_token(&mut tx, &hash, now).await?;
    store::insert_token(&mut tx, session, &refresh_token.hash()).await?;
    store::touch(&mut tx, session, membership.as_ref().map(|m| m.tenant.id), &client.ip()).await?;
    tx.commit().await?;
    let session_expires_at = stored.expires_at;
    Issued { holder, membership, session, refresh_token: Some(refresh_token), session_expires_at }
        .tokens(sessions)
}

/// Returns why the session ends instead of being refreshed. A lost membership is no reason if another tenant
/// is requested.
fn end_reason(
    user: &User,
    memberships: &[Membership],
    current: Option<TenantId>,
    requested: Option<TenantId>,
) -> Option<EndReason> {
    if user.disabled {
        return Some(EndReason::UserDisabled);
    }
    let lost = current.is_some_and(|tenant| memberships.iter().all(|m| m.tenant.id != tenant));
    (lost && requested.is_none()).then_some(EndReason::MembershipEnded)
}
