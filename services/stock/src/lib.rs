//! The stock service: GPU specifications and their prices, datacenters, the units of stock in their clusters, and
//! which instance holds which unit.
//!
//! Slices, each of which uses only those before it:
//! - `config`: the configuration;
//! - `batch`: batches of items that arrive together;
//! - [`reason`]: reason codes of units;
//! - [`repair`]: the record of repaired drift;
//! - `metrics`: the service's metrics;
//! - `silence`: clusters that do not answer;
//! - `catalogue`: cached answers about specifications and datacenters;
//! - [`datacenter`]: sites with a cluster each;
//! - [`gpu_spec`]: GPU specifications and their prices;
//! - `interruptible`: claims whose units other claims may take;
//! - [`queue`]: instances that wait for a unit;
//! - [`operation`]: the records of additions and removals of stock as long-running operations;
//! - [`mod@unit`]: units, their objects in the clusters, and what the clusters report;
//! - `settle`: ends operations whose units are done or late;
//! - `comparison`: the full comparison of a cluster with its units;
//! - [`stock`]: the list of stock, additions and removals;
//! - [`offer`]: what is for sale, for everybody;
//! - [`capacity`]: the number of units over time;
//! - [`hold_back`]: free units that interruptible claims do not get;
//! - [`claim`]: claims and releases;
//! - [`event`]: events of the stock, as a stream;
//! - `audit_log`: who changed the stock and its catalogue;
//! - `clean_up`: periodic work that belongs to no single slice;
//! - `app`: the wiring. Only it knows all slices: it builds what they need, and each takes its part.
//!
//! Nothing may enter that decides what runs in a unit: the gpu service does.

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
mod catalogue;
mod clean_up;
mod comparison;
mod config;
mod interruptible;
mod metrics;
mod settle;
mod silence;

use sqlx::migrate::Migrator;

pub use crate::app::{App, metrics, openapi};
pub use crate::config::{Config, StockConfig};

/// Name of the service: of its schema, its roles and its OpenAPI document.
pub const NAME: &str = "stock";

/// Migrations of the schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/stock");
