//! Users, tenants and their members, sign-in sessions, and the keys that sign access tokens.
//!
//! The only service that handles passwords. It does not know what a tenant owns in other services.
//!
//! Crates below `services/identity`; each imports only those before it:
//! - `people`: users, tenants, members, and their sessions;
//! - `sign_in`: authentication of people.
//!
//! This crate wires them, and has the slices that need both. A slice imports only those above it in this
//! list:
//!
//! - [`config`]: the configuration;
//! - [`audit_log`]: who changed what, over HTTP;
//! - [`signing_key`]: the keys that sign access tokens, created, published and deleted;
//! - [`maker`]: whether makers still have the right to create their objects, for the other services;
//! - [`api_key`]: credentials of scripts;
//! - [`token_exchange`]: access tokens for API keys and cookies, for the gateway;
//! - [`invitation`]: how people become members;
//! - [`account`]: changes of users by administrators, themselves and operators, and their effects;
//! - [`clean_up`]: deletes old rows of several slices;
//! - [`app`]: the wiring.
//!
//! Nothing may enter that fits into one of the crates: this crate is rebuilt with each of them.

mod account;
mod api_key;
mod app;
mod audit_log;
mod clean_up;
mod config;
mod invitation;
mod maker;
mod signing_key;
mod token_exchange;

use sqlx::migrate::Migrator;

pub use app::{App, metrics, openapi};
pub use config::{BootstrapAdmin, Config, SigningConfig};
pub use people::{NAME, session::SessionConfig};
pub use sign_in::{
    passkey::PasskeyConfig,
    password::PasswordConfig,
    provider::{ClaimRule, EmailTrust, MembershipRule, OidcClaims, OidcProvider},
};

pub use account::{Administrator, PutAdministrator, put_administrator};
pub use signing_key::{SigningKeyStart, request_signing_key, signing_keys};

/// The program of the platform's operators, as the audit log names it.
const OPERATORS_PROGRAM: &str = "atelier-admin";

/// The migrations of the schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/identity");

/// Encrypts secrets under the first key that are not: up to `limit` of each kind, in one transaction. Returns
/// how many. For an administrator of the database, with this service's schema as the search path.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(
    conn: &mut sqlx::PgConnection,
    cipher: &encryption::Cipher,
    limit: i64,
) -> anyhow::Result<u64> {
    let mut tx = sqlx::Connection::begin(conn).await?;
    let factors = sign_in::totp::reencrypt(&mut tx, cipher, limit).await?;
    let keys = signing_key::reencrypt(&mut tx, cipher, limit).await?;
    tx.commit().await?;
    Ok(factors + keys)
}
