//! The configuration.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use auth::{AuthConfig, Callers};
use db::DbConfig;
use encryption::EncryptionKey;
use peer::Endpoint;
use people::session::SessionConfig;
use secrecy::SecretString;
use serde::Deserialize;
use sign_in::{passkey::PasskeyConfig, password::PasswordConfig, provider::OidcProvider};
use url::Url;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on. Only the gateway and the platform's services may reach it: the service trusts
    /// their `X-Forwarded-For`.
    pub listen: SocketAddr,
    /// Connection to the service's schema.
    pub database: DbConfig,
    /// Issuer and audience of the tokens that the service issues and accepts. By default `jwks_url` is the service's
    /// own, over the loopback interface. Set it only to accept tokens of another issuer.
    pub auth: AuthConfig,
    /// Services that may call internal operations. Identity has none.
    #[serde(default)]
    pub callers: Callers,
    /// The services that own data of tenants, by name. They carry out the suspension and deletion of a tenant.
    #[serde(default)]
    pub participants: BTreeMap<String, Endpoint>,
    /// Keys that encrypt the signing keys at rest. The first encrypts, all decrypt. To replace one, insert the new key
    /// first and rotate the signing keys; remove the old one when no signing key depends on it.
    pub encryption_keys: Vec<EncryptionKey>,
    /// The first administrator, created if the platform has none.
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
    /// How browsers reach the gateway. Needed with `oidc_providers`.
    #[serde(default)]
    pub public_url: Option<Url>,
    /// Passkeys. Without this section, none can be registered or used.
    #[serde(default)]
    pub passkeys: Option<PasskeyConfig>,
    /// OpenID providers with whose accounts people can sign in.
    #[serde(default)]
    pub oidc_providers: Vec<OidcProvider>,
    /// How long entries of the audit log are kept.
    #[serde(default)]
    pub audit: audit::RetentionConfig,
    /// Where spans are exported to.
    #[serde(default)]
    pub telemetry: Option<service::TelemetryConfig>,
}

/// The first administrator.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BootstrapAdmin {
    /// E-mail address to sign in with.
    pub email: String,
    /// Initial password.
    pub password: SecretString,
}

/// Lifetimes of signing keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SigningConfig {
    /// How long a key signs before the next one replaces it (default 30 days).
    pub rotate_every_seconds: u32,
    /// How long a key is published before it signs (default 600). Verifiers may cache the published keys for half of
    /// this time.
    pub publish_before_seconds: u32,
    /// How often each replica reads the keys (default 60).
    pub poll_seconds: u32,
}

impl Default for SigningConfig {
    fn default() -> Self {
        Self { rotate_every_seconds: 30 * 24 * 3600, publish_before_seconds: 600, poll_seconds: 60 }
    }
}

impl SigningConfig {
    /// # Errors
    /// If a key could sign before every replica has read it.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.publish_before_seconds >= self.poll_seconds.saturating_mul(2),
            "signing.publish_before_seconds must be at least twice signing.poll_seconds: every replica has to know a \
             key before it signs"
        );
        Ok(())
    }

    pub(crate) fn poll(&self) -> Duration {
        Duration::from_secs(self.poll_seconds.max(1).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_published_for_at_least_two_polls() {
        let signing = |publish_before_seconds, poll_seconds| SigningConfig {
            publish_before_seconds,
            poll_seconds,
            ..SigningConfig::default()
        };
        assert!(SigningConfig::default().check().is_ok());
        assert!(signing(20, 10).check().is_ok());
        assert!(signing(19, 10).check().is_err());
        assert!(signing(600, u32::MAX).check().is_err());
    }

    #[test]
    fn the_poll_interval_is_never_zero() {
        let signing = SigningConfig { poll_seconds: 0, ..SigningConfig::default() };
        assert_eq!(signing.poll(), Duration::from_secs(1));
    }
}
