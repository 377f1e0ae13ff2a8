//! Words and values of the custom resources that rules of services need: reasons, states, runs, failures of downloads.
//!
//! Nothing may enter that needs a Kubernetes client or its derive macros: those, and the resources themselves, are `libs/crds`.

mod download;
mod reason;
mod status;

pub use download::DownloadFailure;
pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
pub use reason::{
    DownloadReason, FailureReason, HeldReason, InstanceReason, RunEndReason, StorageReason, TenantCodeReason,
};
pub use status::{InstanceStatus, LastFailure, Protocol, Run, Trust, UnitState};
