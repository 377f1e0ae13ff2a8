//! The gpu service: tenants' GPU instances, from order to deletion.
//!
//! Requests record what is wanted (`instance/http.rs`); reconcilers make it so (`instance/decide.rs`,
//! `instance/reconcile.rs`) by way of the stock service (a unit), the storage service (a volume) and the
//! `GpuUnit` of the unit's cluster (`cluster/`), whose status says what is so. The meter (`usage/`) counts
//! confirmed running only.

mod access;
mod app;
mod catalogue;
pub mod cluster;
mod config;
mod error;
pub mod instance;
pub mod operation;
mod route;
mod usage;

pub use app::{App, MIGRATIONS, app, openapi, serve};
pub use catalogue::{EnvVar, Template, TemplatePort};
pub use config::{Apps, Config, TerminalConfig};
pub use usage::amount;
