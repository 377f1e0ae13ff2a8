//! Tokens of workers.

use rand::RngExt as _;
use secrecy::SecretString;
use sha2::{Digest, Sha256};

/// Makes a token. Its hash is stored.
pub fn token() -> SecretString {
    let random: [u8; 32] = rand::rng().random();
    format!("awt_{}", hex::encode(random)).into()
}

/// The hash by which a token is stored and found.
pub fn hash(token: &str) -> Vec<u8> {
    Sha256::digest(token.as_bytes()).to_vec()
}
