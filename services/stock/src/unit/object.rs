//! A unit and its `GpuUnit` in the cluster: the desired object, and what an object reports. Pure functions.

use crds::{
    Gpu, GpuUnit, GpuUnitSpec, HeldReason, Resources,
    names::{CONDITION_HELD, LABEL_GPU_SPEC, LABEL_MANAGED_BY, MANAGED_BY_STOCK},
};
use ids::UnitId;
use kube::{ResourceExt, core::ObjectMeta};
use stock_api::{Allocation, GpuSpec};

use super::model::UnitStatus;
use crate::reason::UnitReason;

/// Returns the label selector of this service's units.
pub(crate) fn selector() -> String {
    format!("{LABEL_MANAGED_BY}={MANAGED_BY_STOCK}")
}

/// Returns the desired object of a unit, as this service's field manager applies it: all fields but
/// `spec.instance`.
pub(crate) fn desired(unit: UnitId, spec: &GpuSpec, datacenter: &str) -> GpuUnit {
    let metadata = ObjectMeta {
        name: Some(unit.k8s_name()),
        labels: Some(
            [(LABEL_MANAGED_BY, MANAGED_BY_STOCK), (LABEL_GPU_SPEC, &spec.name)]
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        ),
        ..ObjectMeta::default()
    };
    GpuUnit {
        metadata,
        spec: GpuUnitSpec {
            gpu_spec: spec.name.clone(),
            resources: Resources {
                cpu: format!("{}m", spec.cpu_millis),
                memory: format!("{}Mi", spec.memory_mib),
                ephemeral_storage: Some(format!("{}Gi", spec.disk_gib)),
            },
            gpu: Gpu {
                model: spec.gpu_model.clone(),
                count: spec.gpu_count.into(),
                allocation: allocation(spec.allocation.clone()),
            },
            node_selector: spec.node_selector.clone(),
            datacenter: datacenter.to_owned(),
            instance: None,
        },
        status: None,
    }
}

/// Whether an object differs from [`desired`] in fields of this service.
pub(crate) fn altered(object: &GpuUnit, desired: &GpuUnit) -> bool {
    let ours = GpuUnitSpec { instance: None, ..object.spec.clone() };
    let labelled = desired.labels().iter().all(|(key, value)| object.labels().get(key) == Some(value));
    ours != desired.spec || !labelled
}

/// How the cluster writes the allocation.
fn allocation(allocation: Allocation) -> crds::Allocation {
    match allocation {
        Allocation::Device { resource } => crds::Allocation::Device { resource },
        Allocation::Mig { resource } => crds::Allocation::Mig { resource },
        Allocation::TimeSlice { resource } => crds::Allocation::TimeSlice { resource },
        Allocation::Hami { memory_mib, cores } => crds::Allocation::Hami { memory_mib, cores },
        Allocation::Dra { device_class, selectors } => crds::Allocation::Dra { device_class, selectors },
    }
}

/// What an object reports about its unit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub(crate) unit: UnitId,
    /// Identifies the object: a recreated object has another.
    pub(crate) uid: String,
    /// `resourceVersion` of the object, which grows.
    pub(crate) version: i64,
    pub(crate) status: UnitStatus,
    /// Why the resources are not held.
    pub(crate) reason: Option<UnitReason>,
    pub(crate) message: Option<String>,
    pub(crate) node: Option<String>,
    pub(crate) gpu_uuids: Vec<String>,
}

/// Whether an instance occupies the object, by its desired or its actual state.
pub(crate) fn is_occupied(object: &GpuUnit) -> bool {
    object.spec.instance.is_some() || object.status.as_ref().is_some_and(|status| status.instance.is_some())
}

/// Reads an object. None if its name is not that of a unit, or the operator has not reported yet.
pub(crate) fn observe(object: &GpuUnit) -> Option<Observation> {
    let unit = UnitId::from_k8s_name(&object.name_any()).ok()?;
    let status = object.status.as_ref()?;
    let held = status.condition(CONDITION_HELD)?;
    let is_held = held.status == "True";
    let reason = (!is_held).then(|| UnitReason::from_condition(&held.reason));
    let message = reason.map(|reason| match reason {
        UnitReason::Unknown => storable(&format!("{}: {}", held.reason, held.message)),
        _ => storable(&held.message),
    });
    Some(Observation {
        unit,
        uid: object.uid().unwrap_or_default(),
        version: object.resource_version().and_then(|version| version.parse().ok()).unwrap_or(0),
        status: UnitStatus {
            held: is_held,
            occupied: is_occupied(object),
            undecided: held.reason == HeldReason::Scheduling.as_str(),
        },
        reason,
        message,
        node: status.node.as_deref().map(storable),
        gpu_uuids: status.gpu_uuids.iter().map(|uuid| storable(uuid)).collect(),
    })
}

/// Replaces NUL, which JSON can carry and Postgres cannot store: one object must not block the records of others.
pub(crate) fn storable(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(unit: UnitId, held: &str, reason: &str) -> GpuUnit {
        let mut object: GpuUnit = serde_json::from_value(json!({
            "metadata": { "name": unit.k8s_name(), "uid": "u", "resourceVersion": "7" },
            "spec": {
                "gpuSpec": "a", "resources": { "cpu": "1", "memory": "1Gi" },
                "gpu": { "model": "x", "count": 1, "allocation": { "kind": "device", "resource": "nvidia.com/gpu" } },
            },
        }))
        .unwrap();
        object.status = serde_json::from_value(json!({
            "state": "init", "node": "node-1", "gpuUuids": ["GPU-1"],
            "conditions": [{ "type": "Held", "status": held, "reason": reason, "message": "why",
                             "lastTransitionTime": "2026-01-01T00:00:00Z" }],
        }))
        .unwrap();
        object
    }

    #[test]
    fn a_condition_becomes_an_observation() {
        let unit = UnitId::new();
        let seen = observe(&object(unit, "True", "Holding")).unwrap();
        assert_eq!(seen.status, UnitStatus { held: true, occupied: false, undecided: false });
        assert_eq!((seen.unit, seen.version, seen.uid.as_str()), (unit, 7, "u"));
        assert_eq!((seen.reason, seen.message, seen.node.as_deref()), (None, None, Some("node-1")));
        assert_eq!(seen.gpu_uuids, ["GPU-1"]);
        let seen = observe(&object(unit, "False", "Scheduling")).unwrap();
        assert_eq!(seen.status, UnitStatus { held: false, occupied: false, undecided: true });
        assert_eq!((seen.reason, seen.message.as_deref()), (Some(UnitReason::Scheduling), Some("why")));
        let mut odd = object(unit, "False", "NodeLost");
        odd.status.as_mut().unwrap().conditions[0].message = "a\0b".into();
        assert_eq!(observe(&odd).unwrap().message.as_deref(), Some("a\u{fffd}b"));
        let seen = observe(&object(unit, "False", "FromTheFuture")).unwrap();
        assert_eq!(
            (seen.reason, seen.message.as_deref()),
            (Some(UnitReason::Unknown), Some("FromTheFuture: why"))
        );
    }

    #[test]
    fn an_object_without_a_report_or_a_units_name_is_no_observation() {
        let mut silent = object(UnitId::new(), "True", "Holding");
        silent.status = None;
        assert_eq!(observe(&silent), None);
        let mut stranger = object(UnitId::new(), "True", "Holding");
        stranger.metadata.name = Some("stranger".into());
        assert_eq!(observe(&stranger), None);
    }

    #[test]
    fn an_object_is_altered_if_a_field_or_label_of_ours_differs() {
        let wanted = object(UnitId::new(), "True", "Holding");
        let mut labelled = wanted.clone();
        labelled.labels_mut().insert("a".into(), "b".into());
        assert!(!altered(&wanted, &wanted) && !altered(&labelled, &wanted));
        assert!(altered(&wanted, &labelled));
        let mut occupied = wanted.clone();
        occupied.spec.instance = Some(
            serde_json::from_value(json!({
                "id": "inst-01939f0a7c3d7e6b8a1f4f0d5c2b1a00", "attempt": 1, "image": "x",
                "tenantId": "ten-01939f0a7c3d7e6b8a1f4f0d5c2b1a00",
            }))
            .unwrap(),
        );
        assert!(!altered(&occupied, &wanted), "another field manager owns the instance");
        assert!(is_occupied(&occupied) && !is_occupied(&wanted));
        let mut smaller = wanted.clone();
        smaller.spec.resources.cpu = "2".into();
        assert!(altered(&smaller, &wanted));
    }
}
