//! The jobs service: jobs for generation and training on the GPUs of pools.
//!
//! Crates below `services/jobs`. Each imports only those before it:
//! - `core`: jobs and their needs, the end and cost of attempts. Pure;
//! - `schedule`: which job runs on which GPU. Pure, and independent of the others;
//! - `records`: the rows of jobs, pools, workers, events and costs;
//! - `results`: results of jobs, uploads of users, models and their deployment;
//! - `attempts`: tries of jobs on workers, and workers that the platform runs;
//! - `webhook`: events as signed requests to endpoints of tenants; `listener`: the listener for workers;
//! - `views`: pools as the scheduler sees them; `dispatch`: the scheduler of each pool, which carries out its decisions;
//! - `submission`: requests of tenants: submit, change and cancel jobs, quotes, and why jobs wait;
//! - `mq`: jobs and events over RabbitMQ.
//!
//! This crate wires them, and has the slices that need several of them (`tests/structure` checks that they import each other in no
//! circle):
//! - `tenant`: what the suspension or end of a tenant means for its jobs; `maker`: what ends with its maker;
//! - `audit_log`: the audit log over HTTP; `config`: the parts of all rooms; `app` wires the service.
//!
//! Nothing may enter that fits into one of the crates: this crate is rebuilt with each of them.

mod app;
mod audit_log;
mod config;
mod maker;
mod tenant;

pub use records::{MIGRATIONS, NAME};

pub use crate::app::{App, metrics, openapi};
pub use crate::config::{Config, EndedConfig, LimitsConfig};
pub use attempts::fleet::FleetConfig;
pub use jobs_core::scheduler::SchedulerConfig;
pub use mq::MqConfig;
pub use records::{event::StreamsConfig, progress::ProgressConfig};
pub use webhook::WebhooksConfig;

/// Encrypts the secrets of webhooks under the first key that are not: up to `limit`, in one transaction.
/// Returns how many. For an administrator of the database, with this service's schema as the search path.
///
/// # Errors
/// If one cannot be decrypted with the configured keys.
pub async fn reencrypt(
    conn: &mut sqlx::PgConnection,
    cipher: &encryption::Cipher,
    limit: i64,
) -> anyhow::Result<u64> {
    let mut tx = sqlx::Connection::begin(conn).await?;
    let webhooks = webhook::reencrypt(&mut tx, cipher, limit).await?;
    tx.commit().await?;
    Ok(webhooks)
}
