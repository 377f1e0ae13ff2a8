//! Secrets at rest, and fingerprints of secrets that must not be stored even as a plain hash.

use anyhow::Context;
use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    hmac,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::ExposeSecret;

use crate::config::EncryptionKey;

/// The configured keys, ready for use.
pub(crate) struct Vault {
    keys: Vec<Key>,
}

struct Key {
    id: String,
    seal: RandomizedNonceKey,
    fingerprint: hmac::Key,
}

/// Encrypted bytes, and the id of the key that did it.
#[derive(Debug)]
pub(crate) struct Sealed {
    pub(crate) key_id: String,
    /// Nonce, ciphertext, tag.
    pub(crate) bytes: Vec<u8>,
}

impl Vault {
    /// # Errors
    /// When there is no key, or one is not 32 bytes in base64.
    pub(crate) fn new(keys: &[EncryptionKey]) -> anyhow::Result<Self> {
        anyhow::ensure!(!keys.is_empty(), "encryption_keys: at least one key is needed");
        let keys = keys
            .iter()
            .map(|key| {
                let bytes = STANDARD
                    .decode(key.key.expose_secret())
                    .ok()
                    .filter(|bytes| bytes.len() == 32)
                    .with_context(|| {
                    format!("encryption_keys: {:?} is not 32 bytes in base64", key.id)
                })?;
                // one configured secret, one derived key for each use
                let root = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
                let derived = |purpose: &str| hmac::sign(&root, purpose.as_bytes());
                Ok(Key {
                    id: key.id.clone(),
                    seal: RandomizedNonceKey::new(&AES_256_GCM, derived("atelier identity seal").as_ref())?,
                    fingerprint: hmac::Key::new(
                        hmac::HMAC_SHA256,
                        derived("atelier identity fingerprint").as_ref(),
                    ),
                })
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { keys })
    }

    /// Encrypts `secret`; only with the same `context` it opens again.
    pub(crate) fn seal(&self, secret: &[u8], context: &str) -> anyhow::Result<Sealed> {
        let key = self.keys.first().context("no encryption key")?;
        let mut sealed = secret.to_vec();
        let nonce = key.seal.seal_in_place_append_tag(Aad::from(context.as_bytes()), &mut sealed)?;
        let mut bytes = nonce.as_ref().to_vec();
        bytes.append(&mut sealed);
        Ok(Sealed { key_id: key.id.clone(), bytes })
    }

    /// # Errors
    /// When the key is not configured, or the bytes or the context are not what was sealed.
    pub(crate) fn open(&self, sealed: &Sealed, context: &str) -> anyhow::Result<Vec<u8>> {
        let key = self
            .keys
            .iter()
            .find(|key| key.id == sealed.key_id)
            .with_context(|| format!("the encryption key {:?} is not configured", sealed.key_id))?;
        let (nonce, rest) = sealed.bytes.split_at_checked(NONCE_LEN).context("too short to be sealed")?;
        let mut rest = rest.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce)?;
        let secret = key.seal.open_in_place(nonce, Aad::from(context.as_bytes()), &mut rest)?;
        Ok(secret.to_vec())
    }

    /// What stands for a password in the stored hash of a request: a plain hash could be guessed from.
    pub(crate) fn fingerprint(&self, secret: &str) -> String {
        self.keys
            .first()
            .map_or_else(String::new, |key| STANDARD.encode(hmac::sign(&key.fingerprint, secret.as_bytes())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str, byte: u8) -> EncryptionKey {
        EncryptionKey { id: id.to_owned(), key: STANDARD.encode([byte; 32]).into() }
    }

    #[test]
    fn a_secret_opens_with_its_own_key_and_context_only() {
        let old = Vault::new(&[key("a", 1)]).unwrap();
        let sealed = old.seal(b"secret", "here").unwrap();
        assert_eq!(old.open(&sealed, "here").unwrap(), b"secret");
        assert!(old.open(&sealed, "there").is_err());
        assert!(!sealed.bytes.windows(6).any(|w| w == b"secret"));

        let both = Vault::new(&[key("b", 2), key("a", 1)]).unwrap();
        assert_eq!(both.open(&sealed, "here").unwrap(), b"secret", "an old key still opens");
        assert_eq!(both.seal(b"x", "").unwrap().key_id, "b", "the first key seals");
        assert!(Vault::new(&[key("a", 9)]).unwrap().open(&sealed, "here").is_err(), "another key, same name");
        let mut broken = sealed;
        broken.bytes[14] ^= 1;
        assert!(both.open(&broken, "here").is_err());
        assert!(Vault::new(&[]).is_err());
    }
}
