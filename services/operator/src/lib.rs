//! The operator: turns `GpuUnit` and `GpuStorage` into pods and volumes.
//!
//! | part | job |
//! |---|---|
//! | [`observation`] | the parts of the cluster's objects that decisions depend on |
//! | [`unit`], [`storage`], [`tenant`] | the next step as a value; no clock, no client |
//! | [`controller`] | watches, election, reconciliation; the only part that writes for custom resources |
//! | [`http`] | the Operator API |
//! | [`app`] | the wiring |

pub mod app;
mod conditions;
mod config;
pub mod controller;
pub mod http;
pub mod observation;
pub mod settings;
pub mod storage;
pub mod tenant;
pub mod unit;

pub use app::serve;
pub use config::Config;
pub use http::openapi;

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
