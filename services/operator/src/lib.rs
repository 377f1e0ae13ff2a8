//! The operator: turns `GpuUnit` and `GpuStorage` into pods and volumes, and serves the Operator API, for scripts and
//! other internal services.
//!
//! [`plans`] decides, in a crate: observations, and the next step as a value; no clock, no client. No decision about an object
//! may enter here: there it is tested without a cluster.
//!
//! Slices, each of which uses only those before it:
//! - [`controller`]: watches, election, reconciliation; the only part that writes for custom resources;
//! - `config`: the configuration;
//! - `caller`: who may call the Operator API;
//! - `text`: checks of text that several requests have;
//! - `write`: why an object is not written;
//! - [`records`]: the records of operations, which make calls idempotent;
//! - `stocks`: units, created and deleted by number;
//! - `instances`: instances in these units;
//! - `storages`: volumes;
//! - `app`: the wiring. Only it knows all slices: it builds what they need, and each takes its part.
//!
//! The Operator API uses the same custom resources as the services, and only units that were created through it, so that it
//! never uses a unit that the stock service manages. Every call can be repeated: stocks by `operationID`, instances by
//! `instanceID`, storages by `storageID`.

pub mod controller;
pub mod records;

mod app;
mod caller;
mod config;
mod instances;
mod stocks;
mod storages;
mod text;
mod write;

pub use app::{App, AppState, metrics, openapi};
pub use config::Config;
pub use plans::settings;

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
