//! The secret in the console's cookie: the session, and random text. Its prefix is that of session ids.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use ids::SessionId;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

/// Length of the random part: 32 bytes in base64.
const RANDOM: usize = 43;

/// Name of the console's cookie. With `https`, browsers accept the prefix `__Host-` only from the host itself and for it
/// alone.
#[must_use]
pub fn session_cookie_name(https: bool) -> &'static str {
    if https { "__Host-atelier_session" } else { "atelier_console" }
}

/// Name of the cookie with which a browser completes the sign-in that it began.
#[must_use]
pub fn sign_in_cookie_name(https: bool) -> &'static str {
    if https { "__Host-atelier_sign_in" } else { "atelier_sign_in" }
}

/// Name of the cookie of a browser in which somebody has signed in before.
#[must_use]
pub fn device_cookie_name(https: bool) -> &'static str {
    if https { "__Host-atelier_device" } else { "atelier_device" }
}

/// The secret of a browser's session.
#[derive(Debug, Clone)]
pub struct SessionSecret {
    session: SessionId,
    text: SecretString,
}

impl SessionSecret {
    /// Makes a secret from random bytes; `random` fills its argument.
    ///
    /// # Errors
    /// The error of `random`.
    pub fn generate<E>(
        session: SessionId,
        random: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut bytes = [0; 32];
        random(&mut bytes)?;
        Ok(Self { session, text: format!("{session}.{}", URL_SAFE_NO_PAD.encode(bytes)).into() })
    }

    /// Reads a secret. Returns none if the text has another form.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (session, random) = text.split_once('.')?;
        let valid = random.len() == RANDOM
            && random.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
        Some(Self { session: session.parse().ok()?, text: text.into() }).filter(|_| valid)
    }

    /// Returns the session.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the SHA-256, which is stored.
    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.expose_secret().as_bytes()).into()
    }

    /// Returns the secret as the cookie has it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.text.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn a_secret_is_read_back_and_other_text_is_not() {
        let made = SessionSecret::generate::<Infallible>(SessionId::new(), |bytes| {
            bytes.fill(7);
            Ok(())
        });
        let secret = made.unwrap_or_else(|never| match never {});
        let parsed = SessionSecret::parse(secret.expose()).unwrap();
        assert_eq!((parsed.session(), parsed.hash()), (secret.session(), secret.hash()));
        let text = secret.expose();
        assert!(!format!("{secret:?}").contains(&text[40..]), "not in logs");
        for bad in
            ["", ".", &text[1..], &text[..text.len() - 1], &format!("{text}a"), &text.replace('.', "/")]
        {
            assert!(SessionSecret::parse(bad).is_none(), "{bad}");
        }
    }
}
