//! The configuration.

use std::{collections::BTreeMap, net::SocketAddr, time::Duration};

use auth::{AuthConfig, Callers, Role};
use clients::Endpoint;
use db::DbConfig;
use encryption::EncryptionKey;
use ids::TenantId;
use secrecy::SecretString;
use serde::Deserialize;
use url::Url;

/// The service's configuration.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address to listen on. Only the gateway and the platform's services may reach it: the service believes their
    /// `X-Forwarded-For`.
    pub listen: SocketAddr,
    /// Connection to the service's schema.
    pub database: DbConfig,
    /// Issuer and audience of the tokens that the service issues and accepts. By default `jwks_url` is the service's
    /// own, over the loopback interface. Set it only to accept tokens of another issuer.
    pub auth: AuthConfig,
    /// Services that may call internal operations. Identity has none.
    #[serde(default)]
    pub callers: Callers,
    /// The services that own something of tenants, by name. They carry out a tenant's suspension and deletion.
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
    /// Passkeys. Without it, none can be registered or used.
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

/// Passkeys (WebAuthn).
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PasskeyConfig {
    /// The domain to which passkeys belong: that of the console's pages, or one above it. With another domain, all
    /// registered passkeys are useless.
    pub rp_id: String,
    /// Origins of the pages that use passkeys (default: that of `public_url`).
    #[serde(default)]
    pub origins: Vec<Url>,
}

/// An OpenID provider. Register `<public_url>/v1/sign-in/<id>/callback` there.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OidcProvider {
    /// Id, in paths: a-z, 0-9 and -.
    pub id: String,
    /// Name to show.
    pub name: String,
    /// The exact `issuer` of its discovery document. That of Entra ID for people of several directories has `{tenantid}`.
    pub issuer: String,
    /// The platform's client id there.
    pub client_id: String,
    /// The platform's client secret there.
    pub client_secret: SecretString,
    /// Scopes to request (default `openid`, `email`, `profile`).
    #[serde(default = "default_scopes")]
    pub scopes: Vec<String>,
    /// Whether a person with a verified e-mail address that no user has becomes a user at the first sign-in.
    #[serde(default)]
    pub just_in_time: bool,
    /// Whether a person becomes the user who has their verified e-mail address. The provider can then sign in as any user:
    /// set it only for a provider that is trusted with all addresses that it verifies.
    #[serde(default)]
    pub link_verified_email: bool,
    /// Memberships that its people get with a sign-in, unless they have one in the tenant or were removed from it.
    #[serde(default)]
    pub memberships: Vec<MembershipRule>,
    /// The claims in which it says who a person is.
    #[serde(default)]
    pub claims: OidcClaims,
    /// Claims that a person needs to sign in, such as `hd` (Google).
    #[serde(default)]
    pub required_claims: Vec<ClaimRule>,
    /// Directories of Entra ID (`tid`) whose people may sign in (default: all of the issuer).
    #[serde(default)]
    pub tenant_ids: Vec<String>,
}

/// Names of claims, or paths to them: `realm_access.roles` is `roles` in `realm_access`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OidcClaims {
    /// The e-mail address (default `email`; often `preferred_username` of Entra ID, `upn` of ADFS).
    pub email: String,
    /// Whether the provider has verified the address (default `email_verified`).
    pub email_verified: String,
    /// Whether the address counts.
    pub email_trust: EmailTrust,
    /// The name that others see (default `name`).
    pub name: String,
}

impl Default for OidcClaims {
    fn default() -> Self {
        let [email, email_verified, name] = ["email", "email_verified", "name"].map(str::to_owned);
        Self { email, email_verified, email_trust: EmailTrust::Claim, name }
    }
}

/// When the e-mail address of a provider proves whose account it is. With anything but `claim`, a person becomes whoever the
/// provider says: the provider's administrators, not its users, have to decide about addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EmailTrust {
    /// If it says that it has verified the address.
    Claim,
    /// Unless it says that it has not: for providers without such a claim.
    UnlessDenied,
    /// In any case.
    Always,
}

fn default_scopes() -> Vec<String> {
    ["openid", "email", "profile"].map(str::to_owned).to_vec()
}

/// A membership for people of a provider: those who fit all of its conditions, or everyone if it has none.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembershipRule {
    /// The tenant.
    pub tenant: TenantId,
    /// The role in it. If several rules fit, the highest counts.
    pub role: Role,
    /// The part after the `@` of the verified e-mail address.
    #[serde(default)]
    pub email_domain: Option<String>,
    /// A claim of the ID token, such as a group.
    #[serde(default)]
    pub claim: Option<ClaimRule>,
}

/// A claim with this value, or a list that has it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimRule {
    /// Name of the claim, or the path to it: `realm_access.roles`.
    pub name: String,
    /// The value.
    pub value: String,
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

/// Lifetimes of tokens and sessions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionConfig {
    /// Lifetime of an access token (default 600).
    pub access_token_seconds: u32,
    /// Lifetime of a session, regardless of refreshes (default 30 days).
    pub session_seconds: u32,
    /// How long a used refresh token is accepted again, because the response to its first use was lost or two tabs
    /// sent it at once (default 10). Afterwards it counts as stolen.
    pub reuse_grace_seconds: u32,
    /// Sessions of a user that are open at a time (default 100). A further sign-in ends those that were not used for longest.
    pub most_per_user: u32,
    /// How long after the sign-in a person may add and remove ways to sign in (default 900). Later, they sign in again first.
    pub recent_seconds: u32,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            access_token_seconds: 600,
            session_seconds: 30 * 24 * 3600,
            reuse_grace_seconds: 10,
            most_per_user: 100,
            recent_seconds: 900,
        }
    }
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

/// Password hashing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PasswordConfig {
    /// Hashes computed at the same time. Each takes a core and 19 MiB (default: the number of cores).
    pub concurrency: usize,
}

impl Default for PasswordConfig {
    fn default() -> Self {
        Self { concurrency: std::thread::available_parallelism().map_or(2, usize::from) }
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
