//! Creating a session from a password.

use api::audit::{self, Actor};
use axum::http::StatusCode;
use ids::SessionId;
use jiff::{SignedDuration, Timestamp};

use super::{
    attempt::Attempt,
    model::{Credentials, SessionTokens},
    rights::{self, Holder},
    store,
    tokens::{Issued, RefreshToken},
};
use crate::{client_address::ClientAddress, error::Error, scope, state::AppState, user};

/// # Errors
/// If the e-mail address or password is wrong (indistinguishably), sign-in is locked, the user is disabled; and as
/// [`rights::membership`].
pub(super) async fn sign_in(
    state: &AppState,
    client: ClientAddress,
    request: &audit::Request,
    credentials: Credentials,
) -> Result<SessionTokens, Error> {
    // the permit comes first, so that concurrent attempts cannot pass the lock together
    let permit = state.hasher.permit().await?;
    let attempt = Attempt::begin(state, client, &credentials.email).await?;
    let mut tx = state.db.platform().await?;
    let account = user::find_account(&mut tx, &credentials.email).await?;
    tx.commit().await?;
    let hash = account.as_ref().map(|account| account.password_hash.clone());
    let right = permit.verify(credentials.password, hash).await?;
    let Some(account) = account.filter(|_| right) else {
        attempt.failed(state).await?;
        return Err(Error::WrongCredentials);
    };
    attempt.succeeded(state).await?;

    let session = SessionId::new();
    let refresh_token = RefreshToken::generate(session)?;
    // whole seconds, so that the response shows what is stored
    let now = Timestamp::from_second(state.now().as_second()).map_err(anyhow::Error::from)?;
    let session_expires_at = now + SignedDuration::from_secs(state.config.sessions.session_seconds.into());
    let mut tx = state.db.platform().await?;
    scope::user(&mut tx, account.id).await?;
    scope::session(&mut tx, session).await?;
    let holder = Holder::find(&mut tx, account.id).await?.ok_or(Error::WrongCredentials)?;
    // a concurrent change of the password has ended all sessions; this one must not outlive it
    if user::password_hash(&mut tx, account.id).await?.as_ref() != Some(&account.password_hash) {
        return Err(Error::WrongCredentials);
    }
    if holder.user.disabled {
        return Err(Error::UserDisabled);
    }
    let membership = rights::membership(&mut tx, holder.user.id, credentials.tenant_id).await?;
    let tenant = membership.as_ref().map(|m| m.tenant.id);
    store::insert(&mut tx, session, holder.user.id, tenant, session_expires_at).await?;
    store::insert_token(&mut tx, session, &refresh_token.hash()).await?;
    if let Some(tenant) = tenant {
        scope::tenant(&mut tx, tenant).await?;
    }
    let actor = Actor { user: holder.user.id, session: Some(session), is_admin: holder.user.admin };
    request.by(actor).record(&mut tx, StatusCode::OK, None, &()).await?;
    tx.commit().await?;
    Issued { holder, membership, refresh_token, session_expires_at }.tokens(state)
}
