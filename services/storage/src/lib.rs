//! The storage service: volumes and buckets of tenants, which outlive instances; their specifications and prices;
//! their attachments to instances; credentials of buckets.
//!
//! Slices, each of which uses only those before it:
//! - [`config`]: the configuration; [`object_store`]: calls to the object store;
//! - [`budget`]: whether a tenant has anything left to spend; [`operation`]: the records of long-running actions;
//! - [`storage_spec`]: specifications and prices, which administrators manage; [`quota`]: limits of tenants;
//! - [`storage`]: storages of tenants, and their row queue;
//! - [`attachment`]: which instances use a storage, written by the gpu service;
//! - [`credential`]: access keys of buckets; [`event`]: events of storages, as a stream;
//! - [`object`]: objects in buckets, for the jobs service; [`download`]: files of buckets that are copied onto volumes;
//! - [`tenant`]: the suspension and the end of a tenant; [`faults`]: interruptions of reconciles, for tests;
//! - [`reconcile`]: brings volumes (`GpuStorage` resources of a cluster) and buckets (of the object store) to their
//!   desired state;
//! - [`adoption`]: functions for the operators' program; [`audit_log`]: the audit log over HTTP;
//! - [`app`]: the wiring.
//!
//! A request records the desired state; the reconciler carries it out. Nothing may enter that moves the bytes of files: those
//! pass between their users and the object store or the volume.

mod adoption;
mod app;
mod attachment;
mod audit_log;
mod budget;
mod config;
mod credential;
mod download;
mod event;
mod faults;
mod object;
mod object_store;
mod operation;
mod quota;
mod reconcile;
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
