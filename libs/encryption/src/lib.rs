//! Encryption of secrets at rest, and keyed fingerprints of secrets, for which not even a plain hash may be
//! stored. Each service derives its own keys from the configured ones.

use anyhow::Context;
use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey},
    hmac,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// A configured key.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptionKey {
    /// Name of the key, stored with the data that it encrypted.
    pub id: String,
    /// 32 random bytes in base64.
    pub key: SecretString,
}

/// Encrypts with the first configured key, decrypts with all of them.
pub struct Cipher {
    keys: Vec<Key>,
}

struct Key {
    id: String,
    aead: RandomizedNonceKey,
    fingerprint: hmac::Key,
}

/// Encrypted bytes, and the id of the key that encrypted them.
#[derive(Debug)]
pub struct Encrypted {
    /// Id of the key.
    pub key_id: String,
    /// Nonce, ciphertext, tag.
    pub bytes: Vec<u8>,
}

impl Cipher {
    /// The cipher of a service.
    ///
    /// # Errors
    /// If there is no key, or one is not 32 bytes in base64.
    pub fn new(service: &str, keys: &[EncryptionKey]) -> anyhow::Result<Self> {
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
                // a separate key for each purpose, derived from the configured one
                let root = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
                let derived =
                    |purpose: &str| hmac::sign(&root, format!("atelier {service} {purpose}").as_bytes());
                Ok(Key {
                    id: key.id.clone(),
                    aead: RandomizedNonceKey::new(&AES_256_GCM, derived("seal").as_ref())?,
                    fingerprint: hmac::Key::new(hmac::HMAC_SHA256, derived("fingerprint").as_ref()),
                })
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { keys })
    }

    /// Id of the key that encrypts.
    #[must_use]
    pub fn current_key(&self) -> &str {
        self.keys.first().map_or("", |key| &key.id)
    }

    /// Decrypts, and encrypts under the first key.
    ///
    /// # Errors
    /// As [`Self::decrypt`].
    pub fn renew(&self, encrypted: &Encrypted, context: &str) -> anyhow::Result<Encrypted> {
        self.encrypt(&self.decrypt(encrypted, context)?, context)
    }

    /// Encrypts `secret`. Decryption needs the same `context`.
    ///
    /// # Errors
    /// If no nonce can be generated.
    pub fn encrypt(&self, secret: &[u8], context: &str) -> anyhow::Result<Encrypted> {
        let key = self.keys.first().context("no encryption key")?;
        let mut ciphertext = secret.to_vec();
        let nonce = key.aead.seal_in_place_append_tag(Aad::from(context.as_bytes()), &mut ciphertext)?;
        let mut bytes = nonce.as_ref().to_vec();
        bytes.append(&mut ciphertext);
        Ok(Encrypted { key_id: key.id.clone(), bytes })
    }

    /// Decrypts data that was encrypted with this `context`.
    ///
    /// # Errors
    /// If the key is not configured, or the bytes or the context are not the original ones.
    pub fn decrypt(&self, encrypted: &Encrypted, context: &str) -> anyhow::Result<Vec<u8>> {
        let key = self
            .keys
            .iter()
            .find(|key| key.id == encrypted.key_id)
            .with_context(|| format!("the encryption key {:?} is not configured", encrypted.key_id))?;
        let (nonce, rest) =
            encrypted.bytes.split_at_checked(NONCE_LEN).context("the ciphertext is too short")?;
        let mut rest = rest.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce)?;
        let secret = key.aead.open_in_place(nonce, Aad::from(context.as_bytes()), &mut rest)?;
        Ok(secret.to_vec())
    }

    /// A keyed hash that replaces a password in the stored hash of a request. A plain hash would allow
    /// guessing the password.
    #[must_use]
    pub fn fingerprint(&self, secret: &str) -> String {
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
    fn a_secret_is_decrypted_with_its_own_key_and_context_only() {
        let cipher = Cipher::new("test", &[key("a", 1)]).unwrap();
        let encrypted = cipher.encrypt(b"secret", "here").unwrap();
        assert_eq!(cipher.decrypt(&encrypted, "here").unwrap(), b"secret");
        assert!(cipher.decrypt(&encrypted, "there").is_err());
        assert!(!encrypted.bytes.windows(6).any(|w| w == b"secret"));
        let other = Cipher::new("test", &[key("a", 9)]).unwrap();
        assert!(other.decrypt(&encrypted, "here").is_err(), "another key with the same id");
        let of_another_service = Cipher::new("other", &[key("a", 1)]).unwrap();
        assert!(of_another_service.decrypt(&encrypted, "here").is_err(), "the same key in another service");
        let mut changed = encrypted;
        changed.bytes[14] ^= 1;
        assert!(cipher.decrypt(&changed, "here").is_err());
    }

    #[test]
    fn after_a_rotation_the_new_key_encrypts_and_the_old_one_still_decrypts() {
        let encrypted = Cipher::new("test", &[key("a", 1)]).unwrap().encrypt(b"secret", "here").unwrap();
        let rotated = Cipher::new("test", &[key("b", 2), key("a", 1)]).unwrap();
        assert_eq!(rotated.decrypt(&encrypted, "here").unwrap(), b"secret");
        assert_eq!(rotated.encrypt(b"x", "").unwrap().key_id, "b");
        let renewed = rotated.renew(&encrypted, "here").unwrap();
        assert_eq!((rotated.current_key(), renewed.key_id.as_str()), ("b", "b"));
        let without_old = Cipher::new("test", &[key("b", 2)]).unwrap();
        assert_eq!(without_old.decrypt(&renewed, "here").unwrap(), b"secret");
        assert!(without_old.renew(&encrypted, "here").is_err());
    }

    /// Stored data stays readable.
    #[test]
    fn the_derivation_of_keys_does_not_change() {
        let bytes = STANDARD.decode("AAECAwQFBgcICQoLj/MmnljgNynepQDm+zmZfFddqIzHwA==").unwrap();
        let cipher = Cipher::new("identity", &[key("a", 1)]).unwrap();
        let encrypted = Encrypted { key_id: "a".to_owned(), bytes };
        assert_eq!(cipher.decrypt(&encrypted, "here").unwrap(), b"secret");
    }

    #[test]
    fn keys_must_be_32_bytes() {
        assert!(Cipher::new("test", &[]).is_err());
        for length in [0, 31, 33] {
            let key = EncryptionKey { id: "a".to_owned(), key: STANDARD.encode(vec![1; length]).into() };
            assert!(Cipher::new("test", &[key]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_fingerprint_depends_on_the_secret_and_the_key() {
        let cipher = Cipher::new("test", &[key("a", 1)]).unwrap();
        assert_eq!(cipher.fingerprint("one"), cipher.fingerprint("one"));
        assert_ne!(cipher.fingerprint("one"), cipher.fingerprint("two"));
        assert_ne!(
            cipher.fingerprint("one"),
            Cipher::new("test", &[key("a", 2)]).unwrap().fingerprint("one")
        );
    }
}
