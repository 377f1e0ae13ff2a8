//! Storages: volumes that scripts create, enlarge and delete. Calls for storage accessors belong to the storage service.

mod error;
pub(crate) mod http;
mod model;
mod store;

use crds::GpuStorage;
use kube::Api;

use crate::controller::Units;

/// The parts that requests about storages need.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The storages in the Kubernetes API.
    pub(crate) storages_api: Api<GpuStorage>,
    /// The observed units.
    pub(crate) units: Units,
}
