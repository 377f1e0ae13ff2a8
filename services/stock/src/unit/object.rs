//! Between a unit and its `GpuUnit` in the cluster: the object that should be, and what an object says.
//! Pure: nothing is asked and nothing is written here.

use crds::{
    Gpu, GpuUnit, GpuUnitSpec, HeldReason, Resources,
    names::{CONDITION_HELD, LABEL_GPU_SPEC, LABEL_MANAGED_BY, MANAGED_BY_STOCK},
};
use ids::UnitId;
use kube::{ResourceExt, core::ObjectMeta};

use super::model::Sight;
use crate::spec::model::{Allocation, GpuSpec};

/// The label selector of this service's units.
#[must_use]
pub fn selector() -> String {
    format!("{LABEL_MANAGED_BY}={MANAGED_BY_STOCK}")
}

/// The object that a unit should have, as this service's field manager applies it: all but
/// `spec.instance`.
#[must_use]
pub fn desired(unit: UnitId, spec: &GpuSpec, datacenter: &str) -> GpuUnit {
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
                allocation: spec.allocation.clone().into(),
            },
            node_selector: spec.node_selector.clone(),
            datacenter: datacenter.to_owned(),
            instance: None,
        },
        status: None,
    }
}

/// Whether an object has lost what [`desired`] gave it.
#[must_use]
pub fn altered(object: &GpuUnit, desired: &GpuUnit) -> bool {
    let ours = GpuUnitSpec { instance: None, ..object.spec.clone() };
    let labelled = desired.labels().iter().all(|(key, value)| object.labels().get(key) == Some(value));
    ours != desired.spec || !labelled
}

impl From<Allocation> for crds::Allocation {
    fn from(allocation: Allocation) -> Self {
        match allocation {
            Allocation::Device { resource } => Self::Device { resource },
            Allocation::Mig { resource } => Self::Mig { resource },
            Allocation::TimeSlice { resource } => Self::TimeSlice { resource },
            Allocation::Hami { memory_mib, cores } => Self::Hami { memory_mib, cores },
            Allocation::Dra { device_class, selectors } => Self::Dra { device_class, selectors },
        }
    }
}

/// What an object says of its unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    /// Which unit.
    pub unit: UnitId,
    /// Which object: one made again under the same name has another.
    pub uid: String,
    /// Its `resourceVersion`, by which later is told from earlier.
    pub version: i64,
    /// How its resources stand.
    pub sight: Sight,
    /// Why they are not held.
    pub reason: Option<String>,
    /// The same for people.
    pub message: Option<String>,
    /// Where its place is.
    pub node: Option<String>,
    /// Its GPUs.
    pub gpu_uuids: Vec<String>,
}

/// Whether an instance stands in an object, by its intent or in fact.
#[must_use]
pub fn is_occupied(object: &GpuUnit) -> bool {
    object.spec.instance.is_some() || object.status.as_ref().is_some_and(|status| status.instance.is_some())
}

/// Reads an object. None for one that is no unit of ours by its name, or of which the operator has not
/// spoken yet.
#[must_use]
pub fn observe(object: &GpuUnit) -> Option<Observation> {
    let unit = UnitId::from_k8s_name(&object.name_any()).ok()?;
    let status = object.status.as_ref()?;
    let held = status.condition(CONDITION_HELD)?;
    let is_held = held.status == "True";
    Some(Observation {
        unit,
        uid: object.uid().unwrap_or_default(),
        version: object.resource_version().and_then(|version| version.parse().ok()).unwrap_or(0),
        sight: Sight {
            held: is_held,
            occupied: is_occupied(object),
            undecided: held.reason == HeldReason::Scheduling.as_str(),
        },
        reason: (!is_held).then(|| held.reason.clone()),
        message: (!is_held).then(|| held.message.clone()),
        node: status.node.clone(),
        gpu_uuids: status.gpu_uuids.clone(),
    })
}
