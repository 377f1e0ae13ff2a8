//! The gpu service: the catalogue of services and tenants' GPU instances, from order to deletion.
//!
//! - [`app`] wires the service; [`state`] is what handlers share.
//! - `catalogue`: the services that users choose from.
//! - `instance`: requests record the desired state (`http.rs`); a reconciler (`reconcile.rs`) carries it out, with a
//!   claim of the stock service, an attachment of the storage service and the `spec.instance` of a `GpuUnit`.
//! - `cluster`: the Kubernetes clusters, whose `GpuUnit` statuses are the actual state.
//! - `operation`, `usage`, `route`, `access`: long-running actions, the meter, what the gateway asks, the terminal.
//! - `log`: logs of instances, live and kept.
//! - `monitoring`: metrics of instances, from Prometheus or from the nodes.
//! - `event`: what happened to instances: an ordered log per tenant, followed as server-sent events or as a feed.
//! - `ssh`: the SSH endpoint of all instances.
//! - `quota`: what a tenant may use at a time.
//! - `budget`: what a tenant may spend in a month, and the allowances that starts are checked against.
//! - `isolation`: in which datacenters code of tenants runs, as their operators report it.
//! - `registry_credential`: with which tenants pull images from private registries.
//! - `idle`: stops instances that are idle, where their users have asked for it.
//! - `tenant`: what the suspension or end of a tenant means for its instances.
//! - `housekeeping`: periodic workers.

mod access;
mod app;
mod audit_log;
mod budget;
mod catalogue;
pub mod cluster;
mod config;
mod error;
pub mod event;
mod housekeeping;
mod idle;
pub mod instance;
mod isolation;
mod log;
mod maker;
mod monitoring;
mod operation;
mod quota;
mod registry_credential;
mod route;
mod share;
mod ssh;
mod state;
mod tenant;
pub mod usage;

use sqlx::migrate::Migrator;

pub use app::{App, metrics, openapi};
pub use catalogue::{EnvVar, Template, TemplatePort};
pub use config::{
    Apps, BudgetsConfig, Config, EventsConfig, HoldsConfig, IdleConfig, LogArchiveConfig, MonitoringConfig,
    PrometheusConfig, SshConfig, StreamsConfig, TerminalConfig,
};

/// The service's name: of its schema, its roles and its workers.
pub const NAME: &str = "gpu";

/// The schema's migrations.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/gpu");

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
    let secrets = instance::reencrypt(&mut tx, cipher, limit).await?;
    let credentials = registry_credential::reencrypt(&mut tx, cipher, limit).await?;
    tx.commit().await?;
    Ok(secrets + credentials)
}
