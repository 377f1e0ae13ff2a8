//! What an administrator sets.

use std::{net::SocketAddr, time::Duration};

use auth::{AuthConfig, Callers};
use db::DbConfig;
use secrecy::SecretString;
use serde::Deserialize;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where to listen.
    pub listen: SocketAddr,
    /// The service's schema.
    pub database: DbConfig,
    /// Issuer and audience of the tokens it issues, and of those it accepts. `jwks_url` is by default its
    /// own, over the loopback interface; it is set only where another issuer's tokens are to be accepted.
    pub auth: AuthConfig,
    /// Services that may call internal operations (there are none yet).
    #[serde(default)]
    pub callers: Callers,
    /// Keys that encrypt the signing keys at rest. The first encrypts, all decrypt: to replace one, put
    /// the new one before it, and remove the old one after a rotation of the signing keys has run out.
    pub encryption_keys: Vec<EncryptionKey>,
    /// The first administrator, made when there is none.
    #[serde(default)]
    pub bootstrap_admin: Option<BootstrapAdmin>,
    /// Sign-in sessions.
    #[serde(default)]
    pub sessions: SessionConfig,
    /// Signing keys.
    #[serde(default)]
    pub signing: SigningConfig,
    /// Passwords.
    #[serde(default)]
    pub passwords: PasswordConfig,
}

/// A key that encrypts secrets at rest.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EncryptionKey {
    /// Its name, stored beside what it encrypted.
    pub id: String,
    /// 32 random bytes in base64.
    pub key: SecretString,
}

/// The first administrator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapAdmin {
    /// Address to sign in with.
    pub email: String,
    /// Initial password.
    pub password: SecretString,
}

/// Life of tokens and sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// An access token's life (default 600).
    pub access_token_seconds: u32,
    /// A session's life, however often it is refreshed (default 30 days).
    pub session_seconds: u32,
    /// For how long a refresh token that was replaced may come again, because the answer to its first use
    /// was lost or two tabs sent it at once (default 10). Later it counts as stolen.
    pub reuse_grace_seconds: u32,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self { access_token_seconds: 600, session_seconds: 30 * 24 * 3600, reuse_grace_seconds: 10 }
    }
}

/// Life of signing keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SigningConfig {
    /// A key signs for this long, then the next one does (default 30 days).
    pub rotate_every_seconds: u32,
    /// The next key is published this long before it signs (default 600). Verifiers may keep the
    /// published keys for half of it.
    pub publish_before_seconds: u32,
    /// How often each replica looks for changed keys (default 15).
    pub poll_seconds: u32,
}

impl Default for SigningConfig {
    fn default() -> Self {
        Self { rotate_every_seconds: 30 * 24 * 3600, publish_before_seconds: 600, poll_seconds: 15 }
    }
}

impl SigningConfig {
    pub(crate) fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.max(1).into())
    }
}

/// Password hashing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PasswordConfig {
    /// Hashes computed at once (each takes a core and 19 MiB; default: the number of cores).
    pub concurrency: usize,
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self { concurrency: std::thread::available_parallelism().map_or(2, usize::from) }
    }
}
