//! Creating a session from a password.

use api::audit::{self, Actor};
use auth::SessionSecret;
use axum::http::StatusCode;

use super::{
    attempt::Attempt,
    client::Client,
    model::{Credentials, SessionTokens},
    open::{NewSession, open},
    rights::Holder,
};
use crate::{
    error::Error,
    scope,
    state::AppState,
    totp::{self, SecondFactor},
    user,
};

/// # Errors
/// If the e-mail address or password is wrong (indistinguishably), sign-in is locked, the user is disabled; and as
/// [`open`].
pub(super) async fn sign_in(
    state: &AppState,
    client: &Client,
    request: &audit::Request,
    credentials: Credentials,
) -> Result<(SessionTokens, Option<SessionSecret>), Error> {
    // the permit comes first, so that concurrent attempts cannot pass the lock together
    let permit = state.hasher.permit().await?;
    let attempt = Attempt::begin(state, client.address, &credentials.email).await?;
    let mut tx = state.db.platform().await?;
    let account = user::find_account(&mut tx, &credentials.email).await?;
    tx.commit().await?;
    let hash = account.as_ref().map(|account| account.password_hash.clone());
    let right = permit.verify(credentials.password, hash).await?;
    let Some(account) = account.filter(|_| right) else {
        attempt.failed(state).await?;
        return Err(Error::WrongCredentials);
    };
    match totp::check(state, account.id, credentials.totp.as_deref()).await? {
        SecondFactor::Passed => {}
        SecondFactor::Missing => return Err(Error::SecondFactorMissing),
        SecondFactor::Wrong => {
            attempt.failed(state).await?;
            return Err(Error::SecondFactorWrong);
        }
    }
    attempt.succeeded(state).await?;

    let mut tx = state.db.platform().await?;
    scope::user(&mut tx, account.id).await?;
    let holder = Holder::find(&mut tx, account.id).await?.ok_or(Error::WrongCredentials)?;
    // a concurrent change of the password has ended all sessions; this one must not outlive it
    if user::password_hash(&mut tx, account.id).await?.as_ref() != Some(&account.password_hash) {
        return Err(Error::WrongCredentials);
    }
    let new = NewSession { tenant: credentials.tenant_id, cookie: credentials.cookie, client };
    let opened = open(&mut tx, state, holder, &new).await?;
    let issued = &opened.issued;
    if let Some(membership) = &issued.membership {
        scope::tenant(&mut tx, membership.tenant.id).await?;
    }
    let user = &issued.holder.user;
    let actor = Actor {
        user: Some(user.id),
        session: Some(issued.session),
        is_admin: user.admin,
        ..Actor::default()
    };
    request.by(actor).record(&mut tx, StatusCode::OK, None, &()).await?;
    tx.commit().await?;
    Ok((opened.issued.tokens(state)?, opened.secret))
}
