//! The writes that carry out a plan for a storage.

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;

use crate::observation::PodRef;

/// One write to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Add the finalizer that keeps the storage until its claim is gone.
    AddFinalizer,
    /// Remove that finalizer.
    RemoveFinalizer,
    /// Apply the tenant's namespace.
    EnsureNamespace(String),
    /// Apply the claim.
    ApplyClaim(Value),
    /// Delete the claim.
    DeleteClaim {
        /// Namespace of the claim.
        namespace: String,
        /// Name of the claim.
        name: String,
    },
    /// Create the pod of a download.
    CreatePod(Box<Pod>),
    /// Delete the pod of a download.
    DeletePod(PodRef),
}
