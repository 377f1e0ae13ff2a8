//! The operator: turns `GpuUnit` and `GpuStorage` into pods and volumes.
//!
//! | part | job |
//! |---|---|
//! | [`plans`] | a crate: observations, and the next step as a value; no clock, no client |
//! | [`controller`] | watches, election, reconciliation; the only part that writes for custom resources |
//! | [`http`] | the Operator API; its state is [`AppState`], its errors are [`Error`], its records are in `records` |
//! | `config` | the configuration |
//! | [`app`] | the wiring |
//!
//! No decision about an object may enter: it belongs in [`plans`], where it is tested without a cluster.

pub mod app;
mod config;
pub mod controller;
mod error;
pub mod http;
mod records;
mod state;

pub use app::{App, metrics};
pub use config::Config;
pub use error::Error;
pub use http::openapi;
pub use plans::settings;
pub use state::AppState;

/// The name of the service.
pub const NAME: &str = "operator";

/// The custom resource definitions as YAML documents, by name.
///
/// # Errors
/// If a definition cannot be serialized.
pub fn definitions_yaml() -> anyhow::Result<Vec<(String, String)>> {
    crds::definitions()
        .iter()
        .map(|definition| {
            let name = definition.metadata.name.clone().unwrap_or_default();
            Ok((name, serde_yaml_ng::to_string(definition)?))
        })
        .collect()
}
