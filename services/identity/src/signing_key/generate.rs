//! Key pairs: generated and encrypted to be stored, decrypted to be used.

use std::sync::Arc;

use anyhow::Context;
use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rsa::{KeyPair, KeySize, PublicKeyComponents},
    signature::KeyPair as _,
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use encryption::Cipher;
use ids::SigningKeyId;
use jiff::Timestamp;
use people::keyring::Key;
use serde_json::json;

use super::store::StoredKey;

/// Generates a key that signs from `active_from` on.
pub(super) async fn generate(
    cipher: Arc<Cipher>,
    id: SigningKeyId,
    active_from: Timestamp,
) -> anyhow::Result<StoredKey> {
    // takes a considerable part of a second of CPU time
    tokio::task::spawn_blocking(move || generate_blocking(&cipher, id, active_from)).await?
}

fn generate_blocking(cipher: &Cipher, id: SigningKeyId, active_from: Timestamp) -> anyhow::Result<StoredKey> {
    let pair = KeyPair::generate(KeySize::Rsa2048)?;
    let public = PublicKeyComponents::<Vec<u8>>::from(pair.public_key());
    let public_jwk = json!({
        "kty": "RSA", "use": "sig", "alg": "RS256", "kid": id,
        "n": URL_SAFE_NO_PAD.encode(&public.n),
        "e": URL_SAFE_NO_PAD.encode(&public.e),
    });
    let pkcs8: Pkcs8V1Der<'_> = pair.as_der()?;
    let private_key = cipher.encrypt(pkcs8.as_ref(), &id.to_string())?;
    Ok(StoredKey { id, public_jwk, private_key, active_from })
}

/// Decrypts a stored key.
pub(super) fn decrypt(key: StoredKey, cipher: &Cipher) -> anyhow::Result<Key> {
    let StoredKey { id, public_jwk, private_key, active_from } = key;
    let decrypted = cipher
        .decrypt(&private_key, &id.to_string())
        .and_then(|pkcs8| Ok(KeyPair::from_pkcs8(&pkcs8)?))
        .with_context(|| format!("cannot decrypt the signing key {id}"));
    Ok(Key { key_pair: decrypted?, id, public_jwk, active_from })
}
