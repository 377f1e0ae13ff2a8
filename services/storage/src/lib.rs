//! The storage service: volumes and buckets of tenants, which outlive instances; their specifications and prices;
//! their attachments to instances; credentials of buckets.
//!
//! - [`storage_spec`]: what administrators offer;
//! - [`storage`]: what tenants own, and the row queue of it;
//! - [`attachment`]: which instances use a storage, written by the gpu service;
//! - [`credential`]: access keys of buckets;
//! - [`operation`]: the records of long-running actions;
//! - [`event`]: what happens to storages, as a stream;
//! - [`budget`]: whether a tenant has anything left to spend;
//! - [`tenant`]: what the suspension or end of a tenant means for its storages;
//! - [`adoption`]: what an operator's program needs;
//! - [`reconcile`]: brings volumes (`GpuStorage` resources of a cluster) and buckets (of the object store) to their
//!   desired state.
//!
//! A request records the desired state; the reconciler carries it out. Nothing here mounts, reads or writes a
//! tenant's files.

mod adoption;
mod app;
mod attachment;
mod audit_log;
mod budget;
mod config;
mod credential;
mod download;
mod error;
mod event;
mod faults;
mod object;
mod object_store;
mod operation;
mod quota;
mod reconcile;
mod state;
mod storage;
mod storage_spec;
mod tenant;

use sqlx::migrate::Migrator;

pub use adoption::{AdoptedVolume, Adoption, Inventory, Names, adopt};
pub use app::{App, metrics, openapi};
pub use config::{Config, LimitsConfig, ObjectStoreConfig, ReconcileConfig};
pub use faults::Faults;

/// Name of the service, its schema and its roles.
pub const NAME: &str = "storage";

/// Migrations of the service's schema.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/storage");
