//! Jobs: generation and training, as tasks on the GPUs of pools.
//!
//! - [`application`]: what can be asked for, and its parameters;
//! - [`job`]: jobs of tenants and their states;
//! - [`event`]: what happened to jobs;
//! - [`attempt`]: tries of jobs on workers: the worker's side of a job;
//! - [`budget`]: tenants that have nothing left to spend, whose jobs are held;
//! - [`cost`]: what attempts cost, and the feed of it for other services;
//! - [`worker`]: units that run jobs, and the listener for them;
//! - [`upload`], [`artifact`], [`model`]: what users bring for jobs, what jobs make, and the results of trainings;
//! - [`base_model`]: checkpoints and base models that workers have, and that jobs name;
//! - [`fleet`]: workers that the platform runs itself, as instances;
//! - [`pool`]: workers of one kind with one scheduler, for administrators;
//! - [`share`]: what tenants are entitled to in a pool;
//! - [`schedule`]: which job runs where. No clock, no I/O and no randomness;
//! - [`dispatch`]: the scheduler of a pool: turns rows into events of [`schedule`], and carries out its decisions;
//! - [`rest`]: fewer looks at the database while nothing is in progress;
//! - [`mq`]: the same by RabbitMQ;
//! - [`webhook`]: events as signed requests to endpoints of tenants;
//! - [`tenant`]: what the suspension or end of a tenant means for its jobs.

mod app;
mod application;
mod artifact;
mod attempt;
mod audit_log;
mod base_model;
mod budget;
mod config;
mod cost;
mod deployment;
mod dispatch;
mod error;
mod event;
mod fleet;
mod job;
mod maker;
mod metrics;
mod model;
mod mq;
mod pool;
mod rest;
pub mod schedule;
mod share;
mod state;
mod tenant;
mod upload;
mod webhook;
mod worker;

use sqlx::migrate::Migrator;

pub use app::{App, metrics, openapi};
pub use config::{
    Config, EndedConfig, FleetConfig, LimitsConfig, MqConfig, ProgressConfig, SchedulerConfig, StreamsConfig,
    WebhooksConfig,
};

/// Name of the service, its schema and its roles.
pub const NAME: &str = "jobs";

/// Migrations of the service's schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/jobs");

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
