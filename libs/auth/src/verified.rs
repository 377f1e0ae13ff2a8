//! Tokens that were verified before. The signature and the claims of a token never change, so they are checked once;
//! its expiry, its key and its revocation are checked at each use.

use std::sync::Arc;

use aws_lc_rs::digest;
use jiff::Timestamp;
use quick_cache::sync::Cache;

use crate::principal::Principal;

/// Maximum number of cached tokens, about 300 bytes each.
const CAPACITY: usize = 100_000;

/// SHA-256 of a whole token: any difference makes another token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct TokenHash([u8; 32]);

impl TokenHash {
    pub(crate) fn of(token: &str) -> Self {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        Self(hash)
    }
}

/// A token that was verified.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) principal: Principal,
    /// Number of the key set that verified it.
    pub(crate) keys: u64,
}

/// Recently verified tokens.
pub(crate) struct VerifiedTokens(Cache<TokenHash, Arc<Verified>>);

impl Default for VerifiedTokens {
    fn default() -> Self {
        Self(Cache::new(CAPACITY))
    }
}

impl VerifiedTokens {
    /// Returns the token, if a key of this key set verified it and it has not expired by `now`.
    pub(crate) fn get(&self, hash: TokenHash, keys: u64, now: Timestamp) -> Option<Arc<Verified>> {
        let verified = self.0.get(&hash)?;
        if verified.keys == keys && now < verified.principal.expires_at {
            return Some(verified);
        }
        self.0.remove(&hash);
        None
    }

    pub(crate) fn insert(&self, hash: TokenHash, verified: Verified) {
        self.0.insert(hash, Arc::new(verified));
    }
}
