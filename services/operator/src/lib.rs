//! The operator: turns `GpuUnit` and `GpuStorage` into pods and volumes that really hold and run.
//!
//! `unit`, `storage` and `tenant` decide and know no cluster; `view` reads objects into what they decide
//! on; `run` watches, applies and leads; `http` is the Operator API. Nothing but `run::apply` writes for
//! the custom resources.

pub mod app;
mod config;
pub mod controller;
pub mod http;
pub mod quantity;
pub mod settings;
pub mod storage;
pub mod tenant;
pub mod unit;
pub mod view;

pub use app::serve;
pub use config::Config;
pub use http::openapi;

/// The custom resource definitions as YAML documents, by name.
///
/// # Errors
/// Never in practice: the definitions are values of ours.
pub fn definitions_yaml() -> anyhow::Result<Vec<(String, String)>> {
    crds::definitions()
        .iter()
        .map(|definition| {
            let name = definition.metadata.name.clone().unwrap_or_default();
            Ok((name, serde_yaml_ng::to_string(definition)?))
        })
        .collect()
}
