//! Storages and their volume claims.

use std::collections::BTreeMap;

use crds::names;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The volume claim of a storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObservedVolumeClaim {
    /// Namespace.
    pub namespace: String,
    /// `Pending`, `Bound` or `Lost`.
    pub phase: String,
    /// Name of its volume.
    pub volume: Option<String>,
    /// Actual size in bytes.
    pub capacity: Option<u64>,
    /// Requested size in bytes.
    pub requested: Option<u64>,
    /// It has a deletion timestamp.
    pub deleting: bool,
}

impl ObservedVolumeClaim {
    /// Reads a claim. Returns the name of its storage and the observation; `None` if it belongs to no storage.
    #[must_use]
    pub fn of(claim: &PersistentVolumeClaim) -> Option<(String, Self)> {
        let storage = claim.metadata.labels.as_ref()?.get(names::LABEL_STORAGE)?.clone();
        let status = claim.status.as_ref();
        let observed = Self {
            namespace: claim.metadata.namespace.clone().unwrap_or_default(),
            phase: status.and_then(|status| status.phase.clone()).unwrap_or_else(|| "Pending".to_owned()),
            volume: claim.spec.as_ref().and_then(|spec| spec.volume_name.clone()),
            capacity: bytes(status.and_then(|status| status.capacity.as_ref())),
            requested: bytes(claim.spec.as_ref().and_then(|spec| spec.resources.as_ref()?.requests.as_ref())),
            deleting: claim.metadata.deletion_timestamp.is_some(),
        };
        Some((storage, observed))
    }
}

fn bytes(quantities: Option<&BTreeMap<String, Quantity>>) -> Option<u64> {
    let quantity: crds::Quantity = quantities?.get("storage")?.0.parse().ok()?;
    Some(quantity.ceil())
}

/// A storage that an instance mounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedStorage {
    /// The tenant it belongs to.
    pub tenant: String,
    /// Its claim exists in the tenant's namespace and is not being deleted.
    pub mountable: bool,
    /// The volume that its claim is bound to.
    pub volume: Option<String>,
}
