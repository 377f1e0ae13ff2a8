//! The jobs service: jobs for generation and training on the GPUs of pools.
//!
//! Rooms of the house, crates below `services/jobs`. Each imports only those before it:
//! - `core`: what jobs are, what they need, how attempts end and what they cost. Pure;
//! - `schedule`: which job runs on which GPU. Pure, and knows none of the others;
//! - `records`: what is stored of jobs, pools, workers, events and costs;
//! - `results`: what jobs make, what users bring for them, models and their deployment;
//! - `attempts`: tries of jobs on workers, and workers that the platform runs;
//! - `webhook`: events as signed requests to endpoints of tenants; `listener`: the listener for workers;
//! - `views`: pools as the scheduler sees them; `dispatch`: the scheduler of each pool, which carries out its decisions;
//! - `submission`: what tenants ask of jobs: to submit, change and cancel them, what they would cost, and why they wait;
//! - `mq`: jobs and events over RabbitMQ.
//!
//! This crate wires them, and has the slices that need several of them (`tests/structure` checks that they import each other in no
//! circle):
//! - `tenant`: what the suspension or end of a tenant means for its jobs; `maker`: what ends with its maker;
//! - `audit_log`: the audit log over HTTP; `config`: the parts of all rooms; `app` wires the service.
//!
//! Nothing may enter that can stand in a room: this crate is built again with each of them.

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

/// Encrypts the secrets of webhooks under the first key that are not: up to `limit`, in one transaction. Returns how many. For
/// an administrator of the database, whose search path is this service's schema.
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
