//! The operator: turns `GpuUnit` and `GpuStorage` into pods and volumes.
//!
//! | part | job |
//! |---|---|
//! | [`observation`] | the parts of the cluster's objects that decisions depend on |
//! | [`mod@unit`], [`storage`], [`download`], [`tenant`] | the next step as a value; no clock, no client |
//! | [`controller`] | watches, election, reconciliation; the only part that writes for custom resources |
//! | [`http`] | the Operator API; its state is [`AppState`] |
//! | [`app`] | the wiring |

pub mod app;
mod conditions;
mod config;
pub mod controller;
pub mod download;
mod error;
pub mod http;
mod object_names;
pub mod observation;
mod records;
pub mod settings;
mod state;
pub mod storage;
pub mod tenant;
pub mod unit;

pub use app::{App, metrics};
pub use config::Config;
pub use error::Error;
pub use http::openapi;
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
