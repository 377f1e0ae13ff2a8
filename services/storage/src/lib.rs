//! Storages: volumes and buckets of tenants that outlive instances, what they cost, who uses them.
//!
//! A request records what is wanted; the reconciler makes it so: volumes as `GpuStorage` resources in a
//! cluster, buckets in the object store. Nothing here mounts, reads or writes a tenant's files.

mod app;
mod attachment;
mod cluster;
mod config;
mod credential;
mod faults;
mod object_store;
mod operation;
mod storage;
mod storage_spec;

use sqlx::migrate::Migrator;

pub use app::{App, openapi};
pub use config::{Config, ObjectStoreConfig, ReconcileConfig};
pub use faults::Faults;

/// The service's name: of its schema, its roles and its log.
pub const NAME: &str = "storage";

/// The schema, step by step.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations/storage");

/// Serves until `shutdown` begins.
///
/// # Errors
/// When the configuration is not right or the address cannot be bound.
pub async fn serve(config: Config, process: service::Process) -> anyhow::Result<()> {
    let shutdown = process.shutdown;
    let listen = config.listen;
    let app = App::new(config, Faults::default())?;
    app.start_workers(&shutdown);
    service::serve(listen, app.router(), &shutdown).await
}
