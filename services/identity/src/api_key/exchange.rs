//! The exchange of an API key for an access token.

use std::net::IpAddr;

use api::Problem;
use auth::{ApiKey, Scope, session_of};
use db::Db;
use identity_api::TokenGrant;
use jiff::SignedDuration;
use people::{
    access::{Holder, NoAccess, Signer, Subject, membership},
    clock::Clock,
    scope,
};

use super::{Error, model::token_seconds, store};

/// Uses within this time of the last one are not recorded.
const USE_INTERVAL: SignedDuration = SignedDuration::from_secs(60);

/// The parts that the exchange of API keys needs.
#[derive(Clone)]
pub(crate) struct ApiKeys {
    pub(crate) db: Db,
    pub(crate) clock: Clock,
    pub(crate) signer: Signer,
}

/// Returns a token with the rights that the key and its user have now.
///
/// # Errors
/// If the key is unknown or has expired, its user is disabled or no longer a member of the tenant, or the tenant is
/// suspended.
pub(crate) async fn exchange(keys: &ApiKeys, key: &ApiKey, client: IpAddr) -> Result<TokenGrant, Problem> {
    let hash = key.hash();
    let mut tx = keys.db.platform().await?;
    scope::api_key(&mut tx, &hash).await?;
    let owner = store::presented(&mut tx, &hash).await?.ok_or(Error::Invalid)?.user_id;
    scope::user(&mut tx, owner).await?;
    let holder = Holder::find(&mut tx, owner).await?.filter(|holder| !holder.user.disabled);
    let holder = holder.ok_or(Error::Invalid)?;
    // read again: any later deletion is later than the token
    let stored = store::lock_presented(&mut tx, &hash).await?.ok_or(Error::Invalid)?;
    let now = keys.clock.now();
    let seconds = token_seconds(stored.expires_at, now).ok_or(Error::Invalid)?;
    let membership = match stored.tenant_id {
        None => None,
        Some(tenant) => match membership(&mut tx, owner, Some(tenant)).await? {
            Err(NoAccess::NotAMember) => return Err(Error::Invalid.into()),
            found => found?,
        },
    };
    let creators = store::limits_of_creators(&mut tx, stored.id).await?;
    if stored.last_used_at.is_none_or(|at| at + USE_INTERVAL <= now) {
        store::record_use(&mut tx, stored.id, now, client).await?;
    }
    tx.commit().await?;
    let administers = stored.scopes.iter().any(|s| matches!(s, Scope::PlatformRead | Scope::PlatformWrite));
    let subject = Subject {
        admin: holder.user.admin && administers,
        holder: &holder,
        membership: membership.as_ref(),
        session: session_of(stored.id),
        scopes: Some(stored.scopes.into_iter().collect()),
        api_key: Some(stored.id),
        limited: stored.requests_per_second.is_some() || !creators.is_empty(),
        // verifiers accept a token for a while after its end: an expired key must not benefit from that
        expires_at: match stored.expires_at {
            Some(at) => (now.as_second() + seconds).min(at.as_second() - auth::LEEWAY.cast_signed()),
            None => now.as_second() + seconds,
        },
    };
    Ok(TokenGrant {
        access_token: subject.sign(&keys.signer)?,
        expires_in: u32::try_from(seconds).map_err(Problem::internal)?,
        requests_per_second: stored.requests_per_second,
        creators,
    })
}
