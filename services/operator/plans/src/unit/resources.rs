//! The resources of a unit: requests and limits of its pods, and the hash that changes with them.

use std::collections::BTreeMap;

use crds::{Allocation, GpuUnitSpec};
use k8s_openapi::api::core::v1::{ResourceClaim, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::devices;
use super::meta::short_hash;
use crate::settings::Settings;

/// Requests and limits of a unit, the same for both of its pods.
fn requirements(spec: &GpuUnitSpec) -> ResourceRequirements {
    let mut all = BTreeMap::from([
        ("cpu".to_owned(), Quantity(spec.resources.cpu.clone())),
        ("memory".to_owned(), Quantity(spec.resources.memory.clone())),
    ]);
    if let Some(disk) = &spec.resources.ephemeral_storage {
        all.insert("ephemeral-storage".to_owned(), Quantity(disk.clone()));
    }
    let count = Quantity(spec.gpu.count.to_string());
    if spec.gpu.count > 0 {
        match &spec.gpu.allocation {
            Allocation::Device { resource }
            | Allocation::Mig { resource }
            | Allocation::TimeSlice { resource } => {
                all.insert(resource.clone(), count);
            }
            Allocation::Hami { memory_mib, cores } => {
                all.insert("nvidia.com/gpu".to_owned(), count);
                all.insert("nvidia.com/gpumem".to_owned(), Quantity(memory_mib.to_string()));
                all.insert("nvidia.com/gpucores".to_owned(), Quantity(cores.to_string()));
            }
            Allocation::Dra { .. } => {}
        }
    }
    ResourceRequirements { requests: Some(all.clone()), limits: Some(all), claims: None }
}

/// The requests and limits, with the devices of the claim.
pub(super) fn requirements_with(spec: &GpuUnitSpec, claim: Option<&str>) -> ResourceRequirements {
    let claims = claim.map(|_| vec![ResourceClaim { name: devices::REQUEST.to_owned(), request: None }]);
    ResourceRequirements { claims, ..requirements(spec) }
}

/// The requests and limits without the overhead of a runtime: with it they add up to the unit's.
///
/// # Errors
/// Why no resources are left for the container.
pub(super) fn without_overhead(
    mut requirements: ResourceRequirements,
    overhead: &BTreeMap<String, Quantity>,
) -> Result<ResourceRequirements, String> {
    let milli = |quantity: &Quantity| quantity.0.parse().map(crds::Quantity::milli).unwrap_or(0);
    for quantities in [&mut requirements.requests, &mut requirements.limits].into_iter().flatten() {
        for (resource, taken) in overhead {
            let Some(own) = quantities.get_mut(resource) else { continue };
            let left = milli(own) - milli(taken);
            if left <= 0 {
                return Err(format!(
                    "the unit has {} of {resource}, of which the runtime takes {}",
                    own.0, taken.0
                ));
            }
            *own = Quantity(crds::Quantity::from_milli(left).to_string());
        }
    }
    Ok(requirements)
}

/// Hash of the resources that a placeholder holds. It changes with the size of the unit.
#[must_use]
pub fn template_hash(spec: &GpuUnitSpec, settings: &Settings) -> String {
    let mut held = vec![
        serde_json::json!(requirements(spec)),
        serde_json::json!(spec.node_selector),
        serde_json::json!(settings.scheduler),
        serde_json::json!(settings.tolerated_taints),
    ];
    held.extend(devices::template_hash(spec).map(serde_json::Value::from));
    let held = serde_json::Value::from(held);
    short_hash(held.to_string().as_bytes())
}
