//! The form of API keys: `atl_`, 32 random letters and digits, and a checksum, so that a scanner recognizes a leaked key
//! without asking the platform.
//!
//! The checksum is the CRC-32 (IEEE) of what precedes it, as six base-62 digits (0-9, A-Z, a-z), most significant first.

use ids::{ApiKeyId, SessionId};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// Begins every API key.
pub const API_KEY_PREFIX: &str = "atl_";
const RANDOM: usize = 32;
const CHECKSUM: usize = 6;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// An API key.
#[derive(Debug, Clone)]
pub struct ApiKey(SecretString);

impl ApiKey {
    /// Makes a key from random bytes; `random` fills its argument.
    ///
    /// # Errors
    /// The error of `random`.
    pub fn generate<E>(mut random: impl FnMut(&mut [u8]) -> Result<(), E>) -> Result<Self, E> {
        let mut text = API_KEY_PREFIX.to_owned();
        while text.len() < API_KEY_PREFIX.len() + RANDOM {
            let mut bytes = [0; RANDOM];
            random(&mut bytes)?;
            let missing = API_KEY_PREFIX.len() + RANDOM - text.len();
            // six bits each; the two values without a digit are left out, so that all digits are equally likely
            let digits = bytes.iter().filter_map(|byte| DIGITS.get(usize::from(byte & 63)));
            text.extend(digits.take(missing).map(|digit| char::from(*digit)));
        }
        text.push_str(&checksum(&text));
        Ok(Self(text.into()))
    }

    /// Reads a key. Returns none if the text has another form, or its checksum is wrong.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let random = text.strip_prefix(API_KEY_PREFIX)?;
        let well_formed =
            random.len() == RANDOM + CHECKSUM && random.bytes().all(|b| b.is_ascii_alphanumeric());
        if !well_formed {
            return None;
        }
        let (checked, sum) = text.split_at(text.len() - CHECKSUM);
        (checksum(checked) == sum).then(|| Self(text.into()))
    }

    /// Returns the SHA-256, by which the key is stored and found.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0.expose_secret().as_bytes()).into()
    }

    /// Returns the first characters, by which people recognize their keys.
    #[must_use]
    pub fn hint(&self) -> &str {
        &self.0.expose_secret()[..API_KEY_PREFIX.len() + 4]
    }

    /// Returns the key as sent to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

/// Returns the session that represents an API key in tokens and revocations: tickets, cookies of instances
/// and open streams end with the key as with a session.
#[must_use]
pub fn session_of(key: ApiKeyId) -> SessionId {
    SessionId::from_uuid(key.uuid())
}

fn checksum(text: &str) -> String {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECKSUM];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
    }
    digits.iter().map(|digit| char::from(*digit)).collect()
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn key(mut byte: u8) -> ApiKey {
        let made = ApiKey::generate::<Infallible>(|bytes| {
            for target in bytes {
                byte = byte.wrapping_mul(167).wrapping_add(13);
                *target = byte;
            }
            Ok(())
        });
        made.unwrap_or_else(|never| match never {})
    }

    #[test]
    fn a_key_has_the_documented_form() {
        // a fixed example for scanners: the checksum must never change
        assert_eq!(checksum("atl_00000000000000000000000000000000"), "2QkVzD");
        let key = key(1);
        assert_eq!(key.expose().len(), 42);
        assert_eq!(key.hint(), &key.expose()[..8]);
        assert_eq!(ApiKey::parse(key.expose()).unwrap().hash(), key.hash());
        assert!(!format!("{key:?}").contains(&key.expose()[8..]), "not in logs");
    }

    #[test]
    fn other_text_is_no_key() {
        let good = key(2).expose().to_owned();
        for at in API_KEY_PREFIX.len()..good.len() {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = if bytes[at] == b'x' { b'y' } else { b'x' };
            let changed = String::from_utf8(bytes).unwrap();
            assert!(ApiKey::parse(&changed).is_none(), "{changed}");
        }
        for bad in ["", "atl_", &good[1..], &good[..41], &format!("{good}0"), &good.replace("atl_", "ATL_")] {
            assert!(ApiKey::parse(bad).is_none(), "{bad}");
        }
        assert!(ApiKey::parse("atl_ünï").is_none());
    }
}
