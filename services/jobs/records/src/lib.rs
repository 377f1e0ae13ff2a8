//! The rows of jobs, of the pools and workers that run them, of events and costs, with the routes that show
//! them.
//!
//! No decisions may enter: about workers (`dispatch`), submissions (`submission`) or the end of attempts
//! (`attempts`). Rules are in `core`. No call of the storage service either: files are in `results`.
//!
//! Slices, each of which imports only those before it:
//! - [`rest`]: fewer queries while nothing is in progress;
//! - [`cost`]: prices of pools, cost of attempts, and its feed for other services; [`progress`]: the newest
//!   reports;
//! - [`pool`]: workers of one kind with one scheduler, for administrators; [`base_model`]: checkpoints and base models that workers
//!   have, and that jobs name; [`share`]: the shares of tenants in a pool; [`budget`]: tenants that have nothing left to spend, whose
//!   jobs are held;
//! - [`worker`]: units that run jobs;
//! - [`job`]: jobs of tenants; [`event`]: events of jobs; [`outbox`]: what is published at the message
//!   broker;
//! - `app`: what the routes need.

mod app;
pub mod base_model;
pub mod budget;
pub mod cost;
pub mod event;
pub mod job;
pub mod outbox;
pub mod pool;
pub mod progress;
pub mod rest;
pub mod share;
pub mod worker;

use sqlx::migrate::Migrator;

pub use app::{State, routes};

/// Name of the service, its schema and its roles.
pub const NAME: &str = "jobs";

/// Migrations of the service's schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../../migrations/jobs");
