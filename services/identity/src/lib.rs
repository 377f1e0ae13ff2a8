//! Users, tenants and their members, sign-in sessions, and the keys that sign access tokens.
//!
//! The only service that handles passwords. It knows nothing of what a tenant owns in other services.
//!
//! [`App`] is the wiring. The slices are `user`, `tenant`, `membership`, `invitation`, `session`,
//! `api_key`, `oidc`, `passkey`, `token_exchange`, `totp`, `revocation` and `signing_key`. Below them:
//! `state` (what they share), `scope` (whose rows a transaction sees), `authority` (what a
//! caller may do by the tables), `client_address` (where a request comes from), `password` (hashing), `keyring`
//! (the keys in use) and `error`.

mod api_key;
mod app;
mod audit_log;
mod authority;
mod client_address;
mod config;
mod error;
mod invitation;
mod keyring;
mod maker;
mod membership;
mod oidc;
mod passkey;
mod password;
mod revocation;
mod scope;
mod session;
mod signing_key;
mod state;
mod tenant;
mod token_exchange;
mod totp;
mod user;

use sqlx::migrate::Migrator;

pub use app::{App, metrics, openapi};
pub use config::{
    BootstrapAdmin, ClaimRule, Config, EmailTrust, MembershipRule, OidcClaims, OidcProvider, PasskeyConfig,
    PasswordConfig, SessionConfig, SigningConfig,
};

pub use signing_key::{SigningKeyStart, request_signing_key, signing_keys};
pub use user::{Administrator, PutAdministrator, put_administrator};

/// The program of the platform's operators, as the audit log names it.
const OPERATORS_PROGRAM: &str = "atelier-admin";

/// Name of the service, its schema, its roles and its workers.
pub const NAME: &str = "identity";

/// The migrations of the schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/identity");

/// Encrypts secrets under the first key that are not: up to `limit` of each kind, in one transaction. Returns how many. For an
/// administrator of the database, whose search path is this service's schema.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(
    conn: &mut sqlx::PgConnection,
    cipher: &encryption::Cipher,
    limit: i64,
) -> anyhow::Result<u64> {
    let mut tx = sqlx::Connection::begin(conn).await?;
    let factors = totp::reencrypt(&mut tx, cipher, limit).await?;
    let keys = signing_key::reencrypt(&mut tx, cipher, limit).await?;
    tx.commit().await?;
    Ok(factors + keys)
}
