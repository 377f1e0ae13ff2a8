//! The program of a platform's operators: verifies what no service can see alone, and does what no service may do.
//!
//! - [`check`]: the invariants of Postgres, the clusters and the object store (docs/INVARIANTS.md);
//! - [`backup`], [`restore`]: the database, and what a restore needs beside it (docs/BACKUP.md);
//! - [`adopt`], [`evict`]: what clusters have and a restored database does not know;
//! - [`rotate`]: encryption keys; [`administrator`]: a way in; [`drain`]: a datacenter; [`bundle`]: a report for support;
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
mod schemas;

pub use config::Config;
pub use gateway::Gateway;
