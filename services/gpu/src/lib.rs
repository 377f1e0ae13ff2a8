//! The gpu service: the catalogue of services and tenants' GPU instances, from order to deletion.
//!
//! Crates below `services/gpu`. Each imports only those before it, and none imports `access` or `observe`:
//! - `core`: the rules, without SQL, HTTP or clusters;
//! - `clusters`: the Kubernetes clusters; the statuses of their `GpuUnit`s are the actual state;
//! - `instances`: the rows of instances, what happened to them and what they cost;
//! - `keys`: public keys that open instances; `usage`: what tenants have used and may use;
//! - `orders`: orders of instances, and their execution;
//! - `routes`: how instances are reached from outside: calls of the gateway, tickets, share links;
//! - `access`: terminals and SSH; `observe`: logs, metrics and idle instances. Only this crate depends on
//!   them.
//!
//! This crate wires them, and has the slices that need several of them (`tests/structure` checks that they import each other in no
//! circle):
//! - `tenant`: what the suspension or end of a tenant means for its instances; `maker`: what ends with the rights of its maker;
//! - `audit_log`: the audit log over HTTP; `housekeeping`: deletes what is too old; `config`: the parts of all crates;
//! - [`app`] wires the service.
//!
//! Nothing may enter that fits into one of the crates: this crate is rebuilt with each of them.

mod app;
mod audit_log;
mod config;
mod housekeeping;
mod maker;
mod tenant;

pub use instances::{MIGRATIONS, NAME};

pub use crate::app::{App, metrics, openapi};
pub use crate::config::Config;
pub use access::{ssh::SshConfig, terminal::TerminalConfig};
pub use gpu_core::catalogue::{EnvVar, Template, TemplatePort};
pub use gpu_core::instance::IdleConfig;
pub use instances::{event::EventsConfig, instance::Apps, streams::StreamsConfig};
pub use observe::{
    log::LogArchiveConfig,
    monitoring::{MonitoringConfig, PrometheusConfig},
};
pub use orders::order::HoldsConfig;
pub use usage::budget::BudgetsConfig;

/// Encrypts secrets under the first key that are not: up to `limit` of each kind, in one transaction. Returns how many. For an
/// administrator of the database, with this service's schema as the search path.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(
    conn: &mut sqlx::PgConnection,
    cipher: &encryption::Cipher,
    limit: i64,
) -> anyhow::Result<u64> {
    let mut tx = sqlx::Connection::begin(conn).await?;
    let secrets = instances::instance::reencrypt(&mut tx, cipher, limit).await?;
    let credentials = orders::registry_credential::reencrypt(&mut tx, cipher, limit).await?;
    tx.commit().await?;
    Ok(secrets + credentials)
}
