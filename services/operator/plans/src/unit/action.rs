//! The writes of a plan, as values.

use std::time::Duration;

use crds::GpuUnitStatus;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;

use crate::observation::{ClaimRef, ObservedMirror, PodRef};

/// The next step for a unit: `before_status`, then the status if it differs, then `after_status`.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Writes that precede the status.
    pub before_status: Vec<Action>,
    /// The desired status.
    pub status: GpuUnitStatus,
    /// The source of `status.lastFailure.logTail`.
    pub log_source: Option<LogSource>,
    /// Writes that require the status to be stored.
    pub after_status: Vec<Action>,
    /// A node on which another pod may have taken the unit's place: check whether the unit still fits there,
    /// then plan again.
    pub check_place: Option<String>,
    /// Time after which to reconcile again even if nothing changes.
    pub requeue_after: Option<Duration>,
}

/// One write to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Add the finalizer that keeps the unit until its pods have ended.
    AddFinalizer,
    /// Remove that finalizer.
    RemoveFinalizer,
    /// Apply the tenant's namespace with its security level, until pods can be created in it. No pod in it is bound
    /// before [`Action::EnsureTenantNamespace`].
    CreateTenantNamespace {
        /// Name of the namespace.
        namespace: String,
        /// A container inside is root in its user namespace.
        root_inside: bool,
    },
    /// Apply the tenant's namespace with its policies, quota and security level.
    EnsureTenantNamespace {
        /// Name of the namespace.
        namespace: String,
        /// A container inside is root in its user namespace.
        root_inside: bool,
    },
    /// Apply the unit's own namespace, confined like a tenant's.
    EnsureUnitNamespace {
        /// The instance inside is root in its user namespace.
        root_inside: bool,
    },
    /// Create a claim on devices.
    CreateClaim(Box<ResourceClaim>),
    /// Reserve the claim for the unit itself.
    ReserveClaim(ClaimRef),
    /// Remove that reservation.
    UnreserveClaim(ClaimRef),
    /// Delete exactly this claim.
    DeleteClaim(ClaimRef),
    /// Mirror a storage's volume into the unit's namespace.
    CreateMirror {
        /// Name of the storage.
        storage: String,
        /// Name of its volume.
        volume: String,
    },
    /// Delete the mirror and its claim.
    DeleteMirror(ObservedMirror),
    /// Create a pod.
    CreatePod(Box<Pod>),
    /// Nominate the node for the pod.
    Nominate {
        /// The pod.
        pod: PodRef,
        /// The node.
        node: String,
    },
    /// Bind the pod to the node, as the scheduler does for other pods.
    Bind {
        /// The pod.
        pod: PodRef,
        /// The node.
        node: String,
        /// The claim on its devices, which is reserved for the pod first.
        claim: Option<ClaimRef>,
    },
    /// Delete exactly this pod.
    DeletePod {
        /// The pod.
        pod: PodRef,
        /// Grace period in seconds; the pod's own if absent.
        grace: Option<u32>,
    },
    /// Remove the run finalizer from an instance pod.
    ReleasePod(PodRef),
}

/// The container whose last log lines are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSource {
    /// The pod.
    pub pod: PodRef,
    /// The container before its last restart.
    pub previous: bool,
}
