//! The cookie of a browser in which somebody has signed in to an account: its attempts at that account are
//! counted separately, so that guesses from elsewhere do not lock its owner out (OWASP: device cookies).
//!
//! It grants no access. Its content is encrypted, so it cannot be forged, and names no account.

use std::sync::Arc;

use anyhow::Context;
use api::Problem;
use axum::{
    extract::{FromRef, FromRequestParts},
    http::{HeaderMap, HeaderValue, header, request::Parts},
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use encryption::{Cipher, Encrypted};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::lane::{self, KNOWN_FOR};
use crate::{clock::Clock, cookie::Cookie};

/// Maximum number of accounts that a browser remembers.
const MOST: usize = 5;
const CONTEXT: &str = "device cookie";

/// A sign-in to an account in this browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Device {
    /// Hash of the account, in base64.
    account: String,
    /// Id by which its attempts are counted.
    id: String,
    /// Unix time in seconds of the last sign-in.
    at: i64,
}

/// The accounts to which somebody has signed in in this browser, the latest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devices(Vec<Device>);

impl<S: Send + Sync> FromRequestParts<S> for Devices
where
    Arc<Cipher>: FromRef<S>,
    Clock: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let cookie = Cookie::from_request_parts(parts, state).await?;
        Ok(Self::read(
            &parts.headers,
            &Arc::from_ref(state),
            cookie.is_secure(),
            Clock::from_ref(state).now(),
        ))
    }
}

impl Devices {
    /// Reads the cookie. An unreadable one counts as missing.
    pub fn read(headers: &HeaderMap, cipher: &Cipher, secure: bool, now: Timestamp) -> Self {
        let name = auth::device_cookie_name(secure);
        let mut cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let value = cookies.find_map(|cookies| {
            let mut pairs = cookies.split(';');
            pairs.find_map(|pair| pair.trim().strip_prefix(name)?.strip_prefix('='))
        });
        let mut devices = value.and_then(|value| decrypt(value, cipher).ok()).unwrap_or_default();
        let since = (now - KNOWN_FOR).as_second();
        devices.retain(|device| device.at > since);
        Self(devices)
    }

    /// Returns the id by which attempts at an account are counted in this browser; none if nobody has signed
    /// in to it here.
    pub(super) fn id(&self, account: &[u8]) -> Option<&str> {
        let account = URL_SAFE_NO_PAD.encode(account);
        self.0.iter().find(|device| device.account == account).map(|device| device.id.as_str())
    }

    /// Remembers a sign-in to the account with this e-mail address. Returns `Set-Cookie`.
    ///
    /// # Errors
    /// If there are no random numbers.
    pub fn remember(
        mut self,
        cipher: &Cipher,
        now: Timestamp,
        cookie: Cookie,
        email: &str,
    ) -> Result<HeaderValue, Problem> {
        let hash = lane::account(email);
        let id = match self.id(&hash) {
            Some(id) => id.to_owned(),
            None => {
                let mut bytes = [0; 16];
                aws_lc_rs::rand::fill(&mut bytes).map_err(Problem::internal)?;
                URL_SAFE_NO_PAD.encode(bytes)
            }
        };
        let account = URL_SAFE_NO_PAD.encode(hash);
        self.0.retain(|device| device.account != account);
        self.0.insert(0, Device { account, id, at: now.as_second() });
        self.0.truncate(MOST);
        let text = serde_json::to_vec(&self.0).map_err(Problem::internal)?;
        let Encrypted { key_id, bytes } = cipher.encrypt(&text, CONTEXT).map_err(Problem::internal)?;
        let value = format!("{}.{}", URL_SAFE_NO_PAD.encode(key_id), URL_SAFE_NO_PAD.encode(bytes));
        cookie.device(&value, KNOWN_FOR.as_secs())
    }
}

fn decrypt(value: &str, cipher: &Cipher) -> anyhow::Result<Vec<Device>> {
    let (key_id, bytes) = value.split_once('.').context("not two parts")?;
    let key_id = String::from_utf8(URL_SAFE_NO_PAD.decode(key_id)?)?;
    let encrypted = Encrypted { key_id, bytes: URL_SAFE_NO_PAD.decode(bytes)? };
    Ok(serde_json::from_slice(&cipher.decrypt(&encrypted, CONTEXT)?)?)
}
