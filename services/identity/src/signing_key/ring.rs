//! The keys as this replica holds them, and what it does with them: sign, and publish.

use std::sync::Arc;

use api::Problem;
use arc_swap::ArcSwap;
use auth::Claims;
use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::{KeyPair, KeySize, PublicKeyComponents},
    signature::{KeyPair as _, RSA_PKCS1_SHA256},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::SigningKeyId;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::store::Stored;
use crate::vault::Vault;

/// This replica's copy of the keys. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Ring(Arc<Shared>);

#[derive(Default)]
struct Shared {
    keys: ArcSwap<Vec<Held>>,
    changed: Notify,
}

struct Held {
    id: SigningKeyId,
    jwk: Value,
    active_from: Timestamp,
    signer: KeyPair,
}

impl Ring {
    fn keys(&self) -> Arc<Vec<Held>> {
        self.0.keys.load_full()
    }

    /// Takes over what is stored. A key that does not open is left out, and named in the error.
    pub(super) fn hold(&self, stored: Vec<Stored>, vault: &Vault) -> anyhow::Result<()> {
        let mut failed = None;
        let keys = stored
            .into_iter()
            .filter_map(|key| match open(&key, vault) {
                Ok(signer) => {
                    Some(Held { id: key.id, jwk: key.public_jwk, active_from: key.active_from, signer })
                }
                Err(error) => {
                    failed = Some(error.context(format!("the signing key {}", key.id)));
                    None
                }
            })
            .collect();
        self.0.keys.store(Arc::new(keys));
        failed.map_or(Ok(()), Err)
    }

    /// The access token that says `claims`.
    ///
    /// # Errors
    /// 503 before the first key is there.
    pub(crate) fn sign(&self, claims: &Claims) -> Result<String, Problem> {
        let (keys, now) = (self.keys(), Timestamp::now());
        let key = keys
            .iter()
            .rfind(|key| key.active_from <= now)
            .ok_or_else(|| Problem::unavailable("The signing key", "no key is active yet"))?;
        jws(key, claims).map_err(Problem::internal)
    }

    /// The published keys (a JWK Set). The keeper removes those whose tokens have ended.
    pub(crate) fn jwks(&self) -> Result<Value, Problem> {
        let keys = self.keys();
        if keys.is_empty() {
            return Err(Problem::unavailable("The signing key", "no key is held yet"));
        }
        Ok(json!({ "keys": keys.iter().map(|key| &key.jwk).collect::<Vec<_>>() }))
    }

    /// Whether it can sign.
    pub(crate) fn ready(&self) -> Result<(), &'static str> {
        let now = Timestamp::now();
        if self.keys().iter().any(|key| key.active_from <= now) {
            Ok(())
        } else {
            Err("waiting for a signing key")
        }
    }

    /// Says that the stored keys have changed.
    pub(super) fn nudge(&self) {
        self.0.changed.notify_one();
    }

    /// Waits for a [`Ring::nudge`].
    pub(super) async fn nudged(&self) {
        self.0.changed.notified().await;
    }
}

fn open(key: &Stored, vault: &Vault) -> anyhow::Result<KeyPair> {
    Ok(KeyPair::from_pkcs8(&vault.open(&key.private, &key.id.to_string())?)?)
}

/// A JWT (RFC 9068) in the compact form. By hand, since the JWT library reads and checks the key anew for
/// each signature, which takes several times as long as signing.
fn jws(key: &Held, claims: &Claims) -> anyhow::Result<String> {
    let header = json!({ "typ": "at+jwt", "alg": "RS256", "kid": key.id });
    let mut token = URL_SAFE_NO_PAD.encode(serde_json::to_vec(&header)?);
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(serde_json::to_vec(claims)?, &mut token);
    let mut signature = vec![0; key.signer.public_modulus_len()];
    key.signer.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature)?;
    token.push('.');
    URL_SAFE_NO_PAD.encode_string(signature, &mut token);
    Ok(token)
}

/// Makes a key that signs from `active_from` on. Takes a good part of a second of one core.
pub(super) fn generate(vault: &Vault, active_from: Timestamp) -> anyhow::Result<Stored> {
    let id = SigningKeyId::new();
    let pair = KeyPair::generate(KeySize::Rsa2048)?;
    let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
    let public_jwk = json!({
        "kty": "RSA", "use": "sig", "alg": "RS256", "kid": id,
        "n": URL_SAFE_NO_PAD.encode(&public.n),
        "e": URL_SAFE_NO_PAD.encode(&public.e),
    });
    let pkcs8: Pkcs8V1Der<'_> = pair.as_der()?;
    let private = vault.seal(pkcs8.as_ref(), &id.to_string())?;
    Ok(Stored { id, public_jwk, private, active_from })
}
