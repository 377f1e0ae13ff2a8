//! Metadata of the objects that belong to a unit.

use std::collections::BTreeMap;

use crds::{GpuUnit, names};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource as _, ResourceExt as _};
use sha2::{Digest as _, Sha256};

/// Labels of every object that belongs to the unit.
#[must_use]
pub fn labels(unit: &GpuUnit) -> BTreeMap<String, String> {
    BTreeMap::from([
        ("app.kubernetes.io/managed-by".to_owned(), names::MANAGER_OPERATOR.to_owned()),
        (names::LABEL_UNIT.to_owned(), unit.name_any()),
    ])
}

/// The owner reference of objects that the cluster deletes with the unit, even if somebody removes the unit's finalizer.
#[must_use]
pub fn owner_reference(unit: &GpuUnit) -> OwnerReference {
    OwnerReference {
        api_version: GpuUnit::api_version(&()).into_owned(),
        kind: GpuUnit::kind(&()).into_owned(),
        name: unit.name_any(),
        uid: unit.uid().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: None,
    }
}

/// The first sixteen hex digits of the SHA-256.
#[must_use]
pub fn short_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
