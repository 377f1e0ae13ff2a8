//! What a plan may ask for: the writes to the cluster, as values.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::resource::v1::ResourceClaim;

use crate::view::{ClaimRef, MirrorView, PodRef};

/// One write to the cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Keep the unit from vanishing before its pods.
    AddFinalizer,
    /// Let the unit go.
    RemoveFinalizer,
    /// The tenant's namespace with its policies, quota and security level.
    EnsureTenant {
        /// Name of the namespace.
        namespace: String,
        /// Some container inside needs to be root in its user namespace.
        root_inside: bool,
    },
    /// The unit's own namespace, confined like a tenant's.
    EnsureHome {
        /// The instance inside needs to be root in its user namespace.
        root_inside: bool,
    },
    /// Make this claim on devices.
    CreateClaim(Box<ResourceClaim>),
    /// Reserve the claim's devices for the unit itself.
    ReserveClaim(ClaimRef),
    /// Take that reservation back.
    UnreserveClaim(ClaimRef),
    /// Delete this very claim.
    DeleteClaim(ClaimRef),
    /// Bring a storage's volume to the unit's home.
    MirrorVolume {
        /// Name of the storage.
        storage: String,
        /// Name of its volume.
        volume: String,
    },
    /// Take it away again.
    DropMirror(MirrorView),
    /// Make this pod.
    CreatePod(Box<Pod>),
    /// Nominate the node for the pod.
    Nominate {
        /// The pod.
        pod: PodRef,
        /// The node.
        node: String,
    },
    /// Delete this very pod.
    DeletePod {
        /// The pod.
        pod: PodRef,
        /// Seconds of grace; the pod's own when absent.
        grace: Option<u32>,
    },
    /// Take our finalizer from an instance pod.
    ReleasePod(PodRef),
}

impl Action {
    /// Short word for logs, metrics and tests.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::AddFinalizer => "add_finalizer",
            Self::RemoveFinalizer => "remove_finalizer",
            Self::EnsureTenant { .. } => "ensure_tenant",
            Self::EnsureHome { .. } => "ensure_home",
            Self::CreateClaim(_) => "create_claim",
            Self::ReserveClaim(_) => "reserve_claim",
            Self::UnreserveClaim(_) => "unreserve_claim",
            Self::DeleteClaim(_) => "delete_claim",
            Self::MirrorVolume { .. } => "mirror_volume",
            Self::DropMirror(_) => "drop_mirror",
            Self::CreatePod(_) => "create_pod",
            Self::Nominate { .. } => "nominate",
            Self::DeletePod { .. } => "delete_pod",
            Self::ReleasePod(_) => "release_pod",
        }
    }
}

/// Whose last lines to keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOf {
    /// The pod.
    pub pod: PodRef,
    /// The container before the present one.
    pub previous: bool,
}
