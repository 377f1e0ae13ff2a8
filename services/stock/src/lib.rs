//! The stock service: GPU specifications and their prices, datacenters, the units of stock in their clusters, and
//! which instance holds which unit.
//!
//! Slices, each of which uses only those before it:
//! - [`datacenter`], [`gpu_spec`]: the catalogue;
//! - [`operation`]: additions and removals of stock as long-running operations;
//! - [`repair`]: the record of repaired drift;
//! - [`queue`]: instances that wait for a unit;
//! - [`mod@unit`]: units, their objects in the clusters, and what the clusters report;
//! - `comparison`: the full comparison of a cluster with its units;
//! - [`stock`]: the list of stock, additions and removals;
//! - [`capacity`]: how many units there were over time;
//! - [`hold_back`]: how many units interruptible claims leave;
//! - [`claim`]: claims and releases;
//! - [`event`]: what happens to the stock, as a stream.
//!
//! What runs in a unit is decided by the gpu service.

pub mod capacity;
pub mod claim;
pub mod datacenter;
pub mod event;
pub mod gpu_spec;
pub mod hold_back;
pub mod offer;
pub mod operation;
pub mod queue;
pub mod reason;
pub mod repair;
pub mod stock;
pub mod unit;

mod app;
mod audit_log;
mod batch;
mod clean_up;
mod comparison;
mod config;
mod error;
mod metrics;
mod silence;
mod state;

use sqlx::migrate::Migrator;

pub use app::{App, metrics, openapi};
pub use config::{Config, StockConfig};
pub use error::Error;
pub use state::AppState;

/// Name of the service: of its schema, its roles and its OpenAPI document.
pub const NAME: &str = "stock";

/// Migrations of the schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/stock");
