//! Claims on devices (dynamic resource allocation), and the mirrors of storages that units with claims need.

use crds::names;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::PersistentVolume;
use k8s_openapi::api::resource::v1::ResourceClaim;
use kube::ResourceExt as _;

use super::{ANNOTATION_MIRRORS, ANNOTATION_TEMPLATE, only_node};

/// The resource name of units in the reservation of a claim.
pub const UNITS: &str = "gpuunits";

/// Whether devices can be claimed in this cluster, the worst first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum DraSupport {
    /// The cluster does not serve `resource.k8s.io/v1`.
    #[default]
    NotServed,
    /// The operator is not allowed to read claims or volumes.
    Forbidden,
    /// The cluster serves claims and the operator can read them.
    Served,
}

/// A `ResourceClaim` of a unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedDeviceClaim {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
    /// Name of the unit.
    pub unit: String,
    /// Hash of its requests.
    pub template: String,
    /// It has a deletion timestamp.
    pub deleting: bool,
    /// It has devices.
    pub allocated: bool,
    /// Its devices, as `driver/pool/device`.
    pub devices: Vec<String>,
    /// The node of its devices.
    pub node: Option<String>,
    /// UID of the unit that it is reserved for.
    pub reserved_for: Option<String>,
}

impl ObservedDeviceClaim {
    /// Reads a claim. `None` if it belongs to no unit.
    #[must_use]
    pub fn of(claim: &ResourceClaim) -> Option<Self> {
        let status = claim.status.as_ref();
        let allocation = status.and_then(|status| status.allocation.as_ref());
        let results = allocation.and_then(|allocation| allocation.devices.as_ref()?.results.as_ref());
        let consumers = status.and_then(|status| status.reserved_for.as_ref()).into_iter().flatten();
        Some(Self {
            namespace: claim.namespace()?,
            name: claim.name_any(),
            uid: claim.uid().unwrap_or_default(),
            unit: claim.labels().get(names::LABEL_UNIT)?.clone(),
            template: claim.annotations().get(ANNOTATION_TEMPLATE).cloned().unwrap_or_default(),
            deleting: claim.metadata.deletion_timestamp.is_some(),
            allocated: allocation.is_some(),
            devices: results
                .into_iter()
                .flatten()
                .map(|result| format!("{}/{}/{}", result.driver, result.pool, result.device))
                .collect(),
            node: allocation.and_then(|allocation| only_node(allocation.node_selector.as_ref()?)),
            reserved_for: consumers
                .filter(|consumer| {
                    consumer.api_group.as_deref() == Some(names::GROUP) && consumer.resource == UNITS
                })
                .map(|consumer| consumer.uid.clone())
                .next(),
        })
    }

    /// Whether it has devices that a pod on the node can use.
    #[must_use]
    pub fn has_devices_for(&self, node: &str) -> bool {
        self.allocated && self.node.as_deref().is_none_or(|only| only == node)
    }

    /// A reference to exactly this claim.
    #[must_use]
    pub fn reference(&self) -> ClaimRef {
        ClaimRef { namespace: self.namespace.clone(), name: self.name.clone(), uid: self.uid.clone() }
    }
}

/// A reference to one claim on devices, and not to a later one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// UID.
    pub uid: String,
}

/// A mirror: a copy of a storage's volume for a claim in a unit's own namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedMirror {
    /// Name of the copy.
    pub name: String,
    /// Namespace of its claim.
    pub namespace: String,
    /// Name of the unit.
    pub unit: String,
    /// Name of the storage, and of the claim.
    pub storage: String,
    /// Name of the volume it was copied from.
    pub source: String,
    /// `Pending`, `Available`, `Bound`, `Released` or `Failed`.
    pub phase: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// It has a deletion timestamp.
    pub deleting: bool,
}

impl ObservedMirror {
    /// Reads a volume. `None` if it is not a mirror.
    #[must_use]
    pub fn of(volume: &PersistentVolume) -> Option<Self> {
        let claim = volume.spec.as_ref()?.claim_ref.as_ref()?;
        Some(Self {
            name: volume.name_any(),
            namespace: claim.namespace.clone()?,
            unit: volume.labels().get(names::LABEL_UNIT)?.clone(),
            storage: claim.name.clone()?,
            source: volume.annotations().get(ANNOTATION_MIRRORS)?.clone(),
            phase: volume.status.as_ref().and_then(|status| status.phase.clone()).unwrap_or_default(),
            created_at: volume.metadata.creation_timestamp.as_ref().map(|time| time.0).unwrap_or_default(),
            deleting: volume.metadata.deletion_timestamp.is_some(),
        })
    }
}
