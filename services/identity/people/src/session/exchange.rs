//! The exchange of a cookie's secret for an access token.

use std::net::IpAddr;

use api::Problem;
use auth::SessionSecret;
use identity_api::TokenGrant;
use jiff::SignedDuration;

use super::{Sessions, model::SessionEnded, store};
use crate::{
    access::{self, Holder, Subject},
    scope,
};

/// Longest life of the token, in seconds.
const TOKEN_SECONDS: u32 = 300;
/// Uses within this time of the last one are not recorded.
const USE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// Returns a token with the rights that the session's user has now. If the user may no longer act for the
/// tenant, the token is for no tenant: it still allows the user to read why.
///
/// # Errors
/// If the session has ended, or its user is disabled.
pub async fn exchange(
    sessions: &Sessions,
    secret: &SessionSecret,
    client: IpAddr,
) -> Result<TokenGrant, Problem> {
    let (session, hash) = (secret.session(), secret.hash());
    let mut tx = sessions.db.platform().await?;
    scope::session(&mut tx, session).await?;
    let user = store::owner(&mut tx, session, &hash).await?.ok_or(SessionEnded)?;
    scope::user(&mut tx, user).await?;
    let holder = Holder::find(&mut tx, user).await?.filter(|holder| !holder.user.disabled);
    let holder = holder.ok_or(SessionEnded)?;
    // with the session locked, its end can only be later than the token
    let stored = store::lock_session(&mut tx, session, &hash).await?.ok_or(SessionEnded)?;
    let now = sessions.clock.now();
    if stored.ended || stored.expires_at <= now {
        return Err(SessionEnded.into());
    }
    let membership = match stored.tenant {
        None => None,
        tenant => access::membership(&mut tx, user, tenant).await?.ok().flatten(),
    };
    if stored.last_used_at + USE_INTERVAL <= now {
        store::record_use(&mut tx, session, &client.to_canonical().to_string()).await?;
    }
    tx.commit().await?;
    let left = stored.expires_at.as_second() - now.as_second();
    let seconds = u32::try_from(left).unwrap_or(TOKEN_SECONDS).min(TOKEN_SECONDS);
    let subject = Subject {
        admin: holder.user.admin,
        holder: &holder,
        membership: membership.as_ref(),
        session,
        scopes: None,
        api_key: None,
        limited: false,
        expires_at: now.as_second() + i64::from(seconds),
    };
    Ok(TokenGrant {
        access_token: subject.sign(&sessions.signer)?,
        expires_in: seconds,
        requests_per_second: None,
        creators: Vec::new(),
    })
}
