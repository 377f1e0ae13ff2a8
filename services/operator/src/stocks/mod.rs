//! Stocks: units that scripts create and delete, many in one call.

mod error;
pub(crate) mod http;
mod model;
mod store;

use crds::GpuUnit;
use kube::Api;

use crate::controller::Units;
use crate::records::Records;

/// The parts that requests about stocks need.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The units in the Kubernetes API.
    pub(crate) units_api: Api<GpuUnit>,
    /// The observed units.
    pub(crate) units: Units,
    pub(crate) records: Records,
    /// The extended resource of the created units.
    pub(crate) gpu_resource: String,
}
