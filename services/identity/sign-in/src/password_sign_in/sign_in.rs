//! Creating a session from a password.

use api::{Problem, audit};
use auth::SessionSecret;
use axum::http::StatusCode;
use people::{
    access::Holder,
    scope,
    session::{Client, NewSession, SessionTokens, Sessions, open},
    throttle::{Devices, Throttle},
    user,
};

use super::{Error, model::Credentials};
use crate::{
    passkey::{self, Passkeys},
    password::Hasher,
    totp::{SecondFactor, SecondFactors},
};

/// The parts that sign-in with a password needs.
#[derive(Clone)]
pub struct SignIn {
    pub hasher: Hasher,
    pub passkeys: Passkeys,
    pub second_factors: SecondFactors,
    pub sessions: Sessions,
    pub throttle: Throttle,
}

impl SignIn {
    /// # Errors
    /// If the e-mail address or password is wrong (indistinguishably), sign-in is locked, the user is disabled; and as
    /// [`open`].
    pub(super) async fn sign_in(
        &self,
        client: &Client,
        devices: &Devices,
        request: &audit::Request,
        credentials: Credentials,
    ) -> Result<(SessionTokens, Option<SessionSecret>), Problem> {
        // the permit comes first, so that concurrent attempts cannot pass the lock together
        let permit = self.hasher.permit().await?;
        let email = api::email::canonical(&credentials.email);
        let attempt = self.throttle.begin(client.address, &email, devices).await?;
        let mut tx = self.sessions.db.platform().await?;
        let account = user::find_account(&mut tx, &email).await?;
        tx.commit().await?;
        let hash = account.as_ref().map(|account| account.password_hash.clone());
        let right = permit.verify(credentials.password, hash).await?;
        let Some(account) = account.filter(|_| right) else {
            attempt.failed().await?;
            return Err(Error::WrongCredentials.into());
        };
        let factor = match &credentials.passkey {
            Some(assertion) => passkey::check_second_factor(&self.passkeys, account.id, assertion).await?,
            None => self.second_factors.check(account.id, credentials.totp.as_deref()).await?,
        };
        match factor {
            SecondFactor::Passed => {}
            SecondFactor::Missing => return Err(Error::SecondFactorMissing.into()),
            SecondFactor::Wrong => {
                attempt.failed().await?;
                return Err(Error::SecondFactorWrong.into());
            }
        }
        attempt.succeeded().await?;

        let mut tx = self.sessions.db.platform().await?;
        scope::user(&mut tx, account.id).await?;
        let holder = Holder::find(&mut tx, account.id).await?.ok_or(Error::WrongCredentials)?;
        // a concurrent change of the password has ended all sessions; this one must not outlive it
        if user::password_hash(&mut tx, account.id).await?.as_ref() != Some(&account.password_hash) {
            return Err(Error::WrongCredentials.into());
        }
        let new = NewSession { tenant: credentials.tenant_id, cookie: credentials.cookie, client };
        let opened = open(&mut tx, &self.sessions, holder, &new).await?;
        opened.record(&mut tx, request, StatusCode::OK).await?;
        tx.commit().await?;
        opened.tokens(&self.sessions)
    }
}
