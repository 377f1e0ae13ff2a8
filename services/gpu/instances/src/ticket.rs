//! The secrets of tickets and share links: random, and stored as hashes.

use api::Problem;
use aws_lc_rs::{digest, rand};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::SignedDuration;

/// How long a ticket can be redeemed.
pub const TICKET_LIFETIME: SignedDuration = SignedDuration::from_secs(60);

/// The operating system returns no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("no random bytes")]
pub struct NoRandomness;

impl From<NoRandomness> for Problem {
    fn from(error: NoRandomness) -> Self {
        Self::internal(error)
    }
}

/// The secret of a ticket or link: 256 random bits.
pub struct Secret(String);

impl Secret {
    /// Returns a new secret.
    ///
    /// # Errors
    /// If the operating system returns no random bytes.
    pub fn generate() -> Result<Self, NoRandomness> {
        let mut bytes = [0u8; 32];
        rand::fill(&mut bytes).map_err(|_| NoRandomness)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Returns the secret, 43 characters of base64url.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Returns the hash under which a secret is stored.
pub fn hash(secret: &str) -> Vec<u8> {
    digest::digest(&digest::SHA256, secret.as_bytes()).as_ref().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_random_and_stored_as_a_hash() {
        let (first, second) = (Secret::generate().unwrap(), Secret::generate().unwrap());
        assert_ne!(first.as_str(), second.as_str());
        assert_eq!(first.as_str().len(), 43, "256 bits");
        assert_eq!(hash(first.as_str()), hash(first.as_str()));
        assert_ne!(hash(first.as_str()), first.as_str().as_bytes());
    }
}
