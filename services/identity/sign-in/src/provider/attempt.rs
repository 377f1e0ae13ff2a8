//! A sign-in between its two requests: an encrypted cookie, for ten minutes.

use anyhow::Context;
use api::Problem;
use axum::http::{HeaderMap, HeaderValue, header};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use encryption::{Cipher, Encrypted};
use ids::{SessionId, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const SECONDS: i64 = 600;
const CONTEXT: &str = "OpenID sign-in";

/// The state of a sign-in.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct SignInAttempt {
    pub provider: String,
    state: String,
    pub nonce: String,
    /// Proves to the provider that the code was requested here (PKCE).
    pub code_verifier: String,
    /// Where the browser goes afterwards.
    pub return_to: String,
    /// Set if the account is to be linked to a user who is signed in. None: the account signs in.
    #[serde(default)]
    pub link: Option<LinkIntent>,
    expires_at: i64,
}

/// The user who links an account, and the session. Part of the encrypted cookie of the browser that began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkIntent {
    pub user: UserId,
    pub session: SessionId,
}

impl LinkIntent {
    /// The intent of a person.
    pub fn of(person: &auth::Person) -> Self {
        Self { user: person.principal.user, session: person.session }
    }
}

impl SignInAttempt {
    /// # Errors
    /// If no random numbers are available.
    pub fn begin(provider: &str, return_to: &str, now: Timestamp) -> Result<Self, Problem> {
        Ok(Self {
            provider: provider.to_owned(),
            state: random()?,
            nonce: random()?,
            code_verifier: random()?,
            return_to: return_to.to_owned(),
            link: None,
            expires_at: now.as_second() + SECONDS,
        })
    }

    /// The parameters of the request to the provider.
    pub fn parameters(&self) -> [(&'static str, String); 4] {
        [
            ("state", self.state.clone()),
            ("nonce", self.nonce.clone()),
            ("code_challenge", URL_SAFE_NO_PAD.encode(Sha256::digest(self.code_verifier.as_bytes()))),
            ("code_challenge_method", "S256".to_owned()),
        ]
    }

    /// `Set-Cookie` that keeps it.
    ///
    /// # Errors
    /// If it cannot be encrypted.
    pub fn cookie(&self, cipher: &Cipher, secure: bool) -> Result<HeaderValue, Problem> {
        let text = serde_json::to_vec(self).map_err(Problem::internal)?;
        let Encrypted { key_id, bytes } = cipher.encrypt(&text, CONTEXT).map_err(Problem::internal)?;
        let value = format!("{}.{}", URL_SAFE_NO_PAD.encode(key_id), URL_SAFE_NO_PAD.encode(bytes));
        set_cookie(&value, SECONDS, secure)
    }

    /// Reads the sign-in from the request's cookie, if it is for this provider and has this state.
    pub fn resume(
        headers: &HeaderMap,
        cipher: &Cipher,
        secure: bool,
        provider: &str,
        state: &str,
        now: Timestamp,
    ) -> Option<Self> {
        let name = auth::sign_in_cookie_name(secure);
        let mut cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let value = cookies.find_map(|cookies| {
            let mut pairs = cookies.split(';');
            pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
        })?;
        let attempt = decrypt(value, cipher).ok()?;
        let is_this = bool::from(attempt.state.as_bytes().ct_eq(state.as_bytes()));
        Some(attempt).filter(|it| is_this && it.provider == provider && it.expires_at > now.as_second())
    }
}

/// `Set-Cookie` that deletes the sign-in: each can be completed once.
pub fn forget(secure: bool) -> Result<HeaderValue, Problem> {
    set_cookie("", 0, secure)
}

fn set_cookie(value: &str, seconds: i64, secure: bool) -> Result<HeaderValue, Problem> {
    let name = auth::sign_in_cookie_name(secure);
    let secure = if secure { "; Secure" } else { "" };
    let text = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&text).map_err(Problem::internal)
}

fn decrypt(value: &str, cipher: &Cipher) -> anyhow::Result<SignInAttempt> {
    let (key_id, bytes) = value.split_once('.').context("not two parts")?;
    let key_id = String::from_utf8(URL_SAFE_NO_PAD.decode(key_id)?)?;
    let encrypted = Encrypted { key_id, bytes: URL_SAFE_NO_PAD.decode(bytes)? };
    Ok(serde_json::from_slice(&cipher.decrypt(&encrypted, CONTEXT)?)?)
}

fn random() -> Result<String, Problem> {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).map_err(Problem::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use encryption::EncryptionKey;

    use super::*;

    #[test]
    fn no_two_attempts_share_a_secret() {
        let begin = || SignInAttempt::begin("corp", "/", Timestamp::UNIX_EPOCH).unwrap();
        let (one, other) = (begin(), begin());
        let secrets =
            [&one.state, &one.nonce, &one.code_verifier, &other.state, &other.nonce, &other.code_verifier];
        let distinct: std::collections::BTreeSet<_> = secrets.into_iter().collect();
        assert_eq!(distinct.len(), secrets.len());
        assert!(secrets.iter().all(|secret| secret.len() == 43), "256 bits");
    }

    #[test]
    fn a_sign_in_is_resumed_with_its_state_provider_and_time_only() {
        let key = EncryptionKey { id: "a/1".to_owned(), key: STANDARD.encode([7; 32]).into() };
        let cipher = Cipher::new("test", &[key]).unwrap();
        let at = |seconds| Timestamp::from_second(1_700_000_000 + seconds).unwrap();
        let attempt = SignInAttempt::begin("corp", "/x", at(0)).unwrap();
        let cookie = attempt.cookie(&cipher, true).unwrap();
        let cookie = cookie.to_str().unwrap();
        assert!(cookie.starts_with("__Host-atelier_sign_in=") && cookie.ends_with("; Secure"), "{cookie}");
        assert!(!cookie.contains(&attempt.state));
        let pair = cookie.split(';').next().unwrap().to_owned();
        let resume = |cookie: &str, provider: &str, state: &str, seconds: i64| {
            let headers = HeaderMap::from_iter([(header::COOKIE, HeaderValue::from_str(cookie).unwrap())]);
            SignInAttempt::resume(&headers, &cipher, true, provider, state, at(seconds))
        };
        let state = attempt.state.as_str();
        assert_eq!(resume(&format!("a=b; {pair}"), "corp", state, 599).as_ref(), Some(&attempt));
        for (what, cookie, provider, state, seconds) in [
            ("too late", pair.as_str(), "corp", state, 600),
            ("another provider", &pair, "other", state, 0),
            ("another state", &pair, "corp", "x", 0),
            ("no cookie", "a=b", "corp", state, 0),
            ("changed", &format!("{pair}A"), "corp", state, 0),
            ("no ciphertext", "__Host-atelier_sign_in=x", "corp", state, 0),
        ] {
            assert_eq!(resume(cookie, provider, state, seconds), None, "{what}");
        }
    }
}
