//! The program of a platform's operators: verifies invariants that span several services, and does what no service may
//! do.
//!
//! - [`check`]: the invariants of Postgres, the clusters and the object store (docs/INVARIANTS.md);
//! - [`backup`], [`restore`]: the database, and what a restore needs in addition (docs/BACKUP.md);
//! - [`adopt`], [`evict`]: objects that clusters have and a restored database does not know;
//! - [`rotate`]: encryption keys; [`administrator`]: access of an administrator; [`drain`]: datacenters; [`bundle`]: a
//!   report for support;
//! - [`availability`]: whether the API met its objectives in a month.

pub mod administrator;
pub mod adopt;
pub mod availability;
pub mod backup;
pub mod bundle;
pub mod check;
pub mod config;
pub mod drain;
pub mod evict;
mod gateway;
mod postgres;
pub mod restore;
pub mod rotate;
pub mod schemas;

pub use config::Config;
pub use gateway::Gateway;
