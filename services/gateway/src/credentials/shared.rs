//! Tokens that gateways share. A token is found by the SHA-256 of its credential, and is used only if it
//! verifies and is not revoked: each gateway follows the revocations itself, so a stored token is not used
//! after its revocation. Its age counts from its issue, whichever gateway exchanged it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use auth::Verifier;
use axum::http::HeaderValue;
use cache::{Area, Cache};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{FRESH, Hash, MARGIN, Token};

/// The stored value, encrypted.
#[derive(Serialize, Deserialize)]
struct Stored {
    access_token: String,
    limits: Vec<identity_api::KeyLimit>,
}

/// The tokens of all gateways.
pub(super) struct Shared(Area);

impl Shared {
    pub(super) fn new(cache: &Cache) -> Self {
        Self(cache.area("credentials"))
    }

    /// Returns the token of a credential, and for how long it may be used before the next exchange.
    #[expect(
        clippy::disallowed_methods,
        reason = "a token's age is measured by the clock that checks its expiry"
    )]
    pub(super) async fn find(&self, verifier: &Verifier, hash: &Hash) -> Option<(Arc<Token>, Duration)> {
        // before all revocations are known, the identity service decides
        verifier.revocations().ready().ok()?;
        let Stored { access_token, limits } = self.0.get(&hex::encode(hash)).await?;
        // refuses tokens that were revoked, or may have been
        let principal = verifier.verify(&access_token).await.ok()?;
        let now = Timestamp::now();
        let between =
            |from: Timestamp, to: Timestamp| Duration::try_from(from.duration_until(to)).unwrap_or_default();
        let life = between(principal.issued_at, principal.expires_at).saturating_sub(MARGIN);
        let left = between(now, principal.expires_at).saturating_sub(MARGIN);
        let fresh = (life / 2).min(FRESH).saturating_sub(between(principal.issued_at, now)).min(left);
        let mut authorization = HeaderValue::from_str(&format!("Bearer {access_token}")).ok()?;
        authorization.set_sensitive(true);
        let usable_until = Instant::now() + left;
        let token = Arc::new(Token { authorization, grant: principal.grant(), limits, usable_until });
        (!left.is_zero()).then_some((token, fresh))
    }

    /// Stores a token until it expires.
    pub(super) async fn put(&self, hash: &Hash, access_token: &str, token: &Token) {
        let stored = Stored { access_token: access_token.to_owned(), limits: token.limits.clone() };
        let life = token.usable_until.saturating_duration_since(Instant::now());
        self.0.put(&hex::encode(hash), &stored, life).await;
    }

    /// Removes a token that was revoked.
    pub(super) async fn remove(&self, hash: &Hash) {
        self.0.remove(&hex::encode(hash)).await;
    }
}
