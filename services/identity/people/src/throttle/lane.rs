//! Keys by which attempts are counted, and how long they are kept.

use jiff::SignedDuration;
use sha2::{Digest, Sha256};

/// How long a network or a browser counts as known after a sign-in.
pub(super) const KNOWN_FOR: SignedDuration = SignedDuration::from_hours(90 * 24);

/// The key by which attempts are counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lane {
    /// Hash of the account; empty for all accounts.
    pub(super) account: Vec<u8>,
    /// The client or its network, or a placeholder.
    pub(super) network: String,
}

/// SHA-256 of the e-mail address, regardless of its case.
pub(super) fn account(email: &str) -> Vec<u8> {
    Sha256::digest(email.to_lowercase().as_bytes()).to_vec()
}
