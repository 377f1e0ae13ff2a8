//! Who is who: users, tenants and their members, sign-in, and the keys that sign access tokens.
//!
//! The only part of the platform that sees passwords. Nothing here knows what a tenant owns.

mod app;
mod config;
mod membership;
mod password;
mod scope;
mod session;
mod signing_key;
mod tenant;
mod user;
mod vault;

use sqlx::migrate::Migrator;

pub use app::{App, openapi};
pub use config::{BootstrapAdmin, Config, EncryptionKey, PasswordConfig, SessionConfig, SigningConfig};

/// The service's name: of its schema, its roles and its log.
pub const NAME: &str = "identity";

/// The schema, step by step.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/identity");

/// Serves until `shutdown` begins.
///
/// # Errors
/// When the configuration is not right or the address cannot be bound.
pub async fn serve(config: Config, process: service::Process) -> anyhow::Result<()> {
    let shutdown = process.shutdown;
    let listen = config.listen;
    let app = App::new(config)?;
    app.start_workers(&shutdown);
    service::serve(listen, app.router(), &shutdown).await
}
