//! Creating a session from a password.

use api::audit;
use auth::SessionSecret;
use axum::http::StatusCode;

use super::{
    attempt::Attempt,
    client::Client,
    device::Devices,
    model::{Credentials, SessionTokens},
    open::{NewSession, open},
    rights::Holder,
};
use crate::{
    error::Error,
    passkey, scope,
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
    devices: &Devices,
    request: &audit::Request,
    credentials: Credentials,
) -> Result<(SessionTokens, Option<SessionSecret>), Error> {
    // the permit comes first, so that concurrent attempts cannot pass the lock together
    let permit = state.hasher.permit().await?;
    let email = api::email::canonical(&credentials.email);
    let attempt = Attempt::begin(state, client.address, &email, devices).await?;
    let mut tx = state.db.platform().await?;
    let account = match user::find_account(&mut tx, &email).await? {
        // an earlier release stored addresses as they were typed
        None if email != credentials.email => user::find_account(&mut tx, &credentials.email).await?,
        found => found,
    };
    tx.commit().await?;
    let hash = account.as_ref().map(|account| account.password_hash.clone());
    let right = permit.verify(credentials.password, hash).await?;
    let Some(account) = account.filter(|_| right) else {
        attempt.failed(state).await?;
        return Err(Error::WrongCredentials);
    };
    let factor = match &credentials.passkey {
        Some(assertion) => passkey::check_second_factor(state, account.id, assertion).await?,
        None => totp::check(state, account.id, credentials.totp.as_deref()).await?,
    };
    match factor {
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
    opened.record(&mut tx, request, StatusCode::OK).await?;
    tx.commit().await?;
    opened.tokens(state)
}
