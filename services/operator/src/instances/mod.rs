//! Instances in units that were created through the Operator API.

mod error;
pub(crate) mod http;
mod model;
mod store;

use crds::GpuUnit;
use jiff::Timestamp;
use kube::Api;

use crate::controller::Units;
use crate::records::Records;

/// The parts that requests about instances need.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The units in the Kubernetes API.
    pub(crate) units_api: Api<GpuUnit>,
    /// The observed units.
    pub(crate) units: Units,
    pub(crate) records: Records,
    pub(crate) clock: fn() -> Timestamp,
}
