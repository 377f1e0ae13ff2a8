//! The devices of a unit whose GPUs are allocated by claim (dynamic resource allocation), as values: the claim, and the
//! mirrors of storages.
//!
//! A claim can be used in its own namespace only. Such a unit has a namespace of its own for the claim, the placeholder
//! and the instance's pod, and an instance's storages are mirrored into it.

use std::collections::BTreeMap;

use crds::{Allocation, GpuUnit, GpuUnitSpec};
use k8s_openapi::api::core::v1::{
    ObjectReference, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeSpec, VolumeResourceRequirements,
};
use k8s_openapi::api::resource::v1::{
    CELDeviceSelector, DeviceClaim, DeviceRequest, DeviceSelector, ExactDeviceRequest, ResourceClaim,
    ResourceClaimSpec,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;

use super::meta::{labels, owner_reference, short_hash};
use crate::observation::{ANNOTATION_MIRRORS, ANNOTATION_TEMPLATE};

/// Name of the only request of a claim, and of the claim in pods.
pub const REQUEST: &str = "gpu";
/// Most devices of one claim.
const DEVICES_MOST: i64 = 32;
/// Prefix of the name of a unit with its own namespace, which must not collide with other namespaces.
const NAME_PREFIX: &str = "unit-";

/// The unit's own namespace, if it has one.
#[must_use]
pub fn namespace(unit: &GpuUnit) -> Option<String> {
    unit.spec.claims_devices().then(|| unit.name_any())
}

/// Checks constraints that the schema cannot express.
///
/// # Errors
/// Why the unit cannot have a claim.
pub(super) fn check(unit: &GpuUnit) -> Result<(), String> {
    if unit.spec.gpu.count > DEVICES_MOST {
        return Err(format!("gpu.count: a claim can have at most {DEVICES_MOST} devices"));
    }
    if !unit.name_any().starts_with(NAME_PREFIX) {
        return Err(format!(
            "the name of a unit with claimed devices must start with {NAME_PREFIX}: it is also the name of its namespace"
        ));
    }
    Ok(())
}

/// The requests of the unit's claim.
fn claim_spec(spec: &GpuUnitSpec) -> Option<ResourceClaimSpec> {
    let Allocation::Dra { device_class, selectors } = &spec.gpu.allocation else { return None };
    let selectors = selectors
        .iter()
        .map(|expression| DeviceSelector { cel: Some(CELDeviceSelector { expression: expression.clone() }) });
    let selectors: Vec<_> = selectors.collect();
    let exactly = ExactDeviceRequest {
        device_class_name: device_class.clone(),
        allocation_mode: Some("ExactCount".to_owned()),
        count: Some(spec.gpu.count),
        selectors: (!selectors.is_empty()).then_some(selectors),
        ..ExactDeviceRequest::default()
    };
    let request =
        DeviceRequest { name: REQUEST.to_owned(), exactly: Some(exactly), ..DeviceRequest::default() };
    Some(ResourceClaimSpec {
        devices: Some(DeviceClaim { requests: Some(vec![request]), ..DeviceClaim::default() }),
    })
}

/// Hash of the requests of the unit's claim; `None` if nothing is claimed.
#[must_use]
pub fn template_hash(spec: &GpuUnitSpec) -> Option<String> {
    let claim = serde_json::json!(claim_spec(spec).filter(|_| spec.claims_devices())?);
    Some(short_hash(claim.to_string().as_bytes()))
}

/// A claim of the unit.
#[must_use]
pub fn claim(unit: &GpuUnit, name: &str) -> ResourceClaim {
    let annotation = template_hash(&unit.spec).map(|hash| (ANNOTATION_TEMPLATE.to_owned(), hash));
    ResourceClaim {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: namespace(unit),
            labels: Some(labels(unit)),
            annotations: Some(annotation.into_iter().collect()),
            owner_references: Some(vec![owner_reference(unit)]),
            ..ObjectMeta::default()
        },
        spec: claim_spec(&unit.spec).unwrap_or_default(),
        status: None,
    }
}

/// A mirror of a storage's volume: a second `PersistentVolume` of the same storage, for a claim in the unit's namespace.
/// Its deletion keeps the data.
#[must_use]
pub fn mirror(unit: &GpuUnit, storage: &str, source: &PersistentVolume) -> PersistentVolume {
    let claim = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("PersistentVolumeClaim".to_owned()),
        namespace: namespace(unit),
        name: Some(storage.to_owned()),
        ..ObjectReference::default()
    };
    PersistentVolume {
        metadata: ObjectMeta {
            name: Some(mirror_name(unit, storage)),
            labels: Some(labels(unit)),
            annotations: Some(BTreeMap::from([(ANNOTATION_MIRRORS.to_owned(), source.name_any())])),
            owner_references: Some(vec![owner_reference(unit)]),
            ..ObjectMeta::default()
        },
        spec: source.spec.clone().map(|spec| PersistentVolumeSpec {
            claim_ref: Some(claim),
            persistent_volume_reclaim_policy: Some("Retain".to_owned()),
            ..spec
        }),
        status: None,
    }
}

/// The claim in the unit's namespace that is bound to a mirror. It has the storage's name.
#[must_use]
pub fn mirror_claim(unit: &GpuUnit, storage: &str, source: &PersistentVolume) -> PersistentVolumeClaim {
    let spec = source.spec.clone().unwrap_or_default();
    PersistentVolumeClaim {
        metadata: ObjectMeta {
            name: Some(storage.to_owned()),
            namespace: namespace(unit),
            labels: Some(labels(unit)),
            owner_references: Some(vec![owner_reference(unit)]),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            access_modes: spec.access_modes,
            // an empty class prevents provisioning
            storage_class_name: Some(spec.storage_class_name.unwrap_or_default()),
            volume_mode: spec.volume_mode,
            volume_name: Some(mirror_name(unit, storage)),
            resources: Some(VolumeResourceRequirements {
                requests: spec.capacity,
                ..VolumeResourceRequirements::default()
            }),
            ..PersistentVolumeClaimSpec::default()
        }),
        status: None,
    }
}

fn mirror_name(unit: &GpuUnit, storage: &str) -> String {
    format!("{}-{storage}", unit.name_any())
}
