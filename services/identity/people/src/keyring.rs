//! The signing keys in use by this replica. The task `identity.signing_keys.reconcile` replaces them.

use std::sync::Arc;

use anyhow::Context;
use api::Problem;
use arc_swap::ArcSwap;
use auth::Claims;
use aws_lc_rs::{rand::SystemRandom, rsa::KeyPair, signature::RSA_PKCS1_SHA256};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::SigningKeyId;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

/// No key signs yet.
#[derive(Debug, thiserror::Error)]
#[error("no signing key is active")]
pub struct NoSigningKey;

impl From<NoSigningKey> for Problem {
    fn from(error: NoSigningKey) -> Self {
        Self::unavailable("The signing key", error)
    }
}

/// A key pair in use.
pub struct Key {
    pub id: SigningKeyId,
    pub public_jwk: Value,
    pub active_from: Timestamp,
    pub key_pair: KeyPair,
}

/// The keys in the order in which they sign. Clones share them.
#[derive(Clone, Default)]
pub struct Keyring(Arc<Shared>);

#[derive(Default)]
struct Shared {
    keys: ArcSwap<Vec<Key>>,
    changed: Notify,
}

impl Keyring {
    /// Replaces all keys, given in the order in which they sign.
    pub fn replace(&self, keys: Vec<Key>) {
        self.0.keys.store(Arc::new(keys));
    }

    /// Returns the access token with these claims, signed with the key that is active now.
    ///
    /// # Errors
    /// If no key is active yet.
    pub fn sign(&self, claims: &Claims, now: Timestamp) -> Result<String, Problem> {
        let keys = self.0.keys.load();
        let key = keys.iter().rfind(|key| key.active_from <= now).ok_or(NoSigningKey)?;
        sign_jwt(key, claims).map_err(Problem::internal)
    }

    /// Returns the published keys as a JWK Set (RFC 7517).
    ///
    /// # Errors
    /// Before the first keys are loaded.
    pub fn jwks(&self) -> Result<Value, NoSigningKey> {
        let keys = self.0.keys.load();
        if keys.is_empty() {
            return Err(NoSigningKey);
        }
        Ok(json!({ "keys": keys.iter().map(|key| &key.public_jwk).collect::<Vec<_>>() }))
    }

    /// Whether a key is active.
    pub fn can_sign(&self, now: Timestamp) -> bool {
        self.0.keys.load().iter().any(|key| key.active_from <= now)
    }

    /// Makes the worker load the stored keys now.
    pub fn request_reload(&self) {
        self.0.changed.notify_one();
    }

    /// Waits for [`Self::request_reload`].
    pub async fn reload_requested(&self) {
        self.0.changed.notified().await;
    }
}

/// A JWT (RFC 9068) in compact form. The JWT library would parse and check the key for each signature, which takes
/// several times as long as the signature.
fn sign_jwt(key: &Key, claims: &Claims) -> anyhow::Result<String> {
    let header = json!({ "typ": "at+jwt", "alg": "RS256", "kid": key.id });
    let mut token = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&header)?);
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(claims)?, &mut token);
    let mut signature = vec![0; key.key_pair.public_modulus_len()];
    key.key_pair
        .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature)
        .context("cannot sign a token")?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}
