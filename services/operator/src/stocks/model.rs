//! The JSON of stocks, and its translation to units.

use std::collections::BTreeMap;

use api::{Checks, Invalid};
use crds::{Allocation, Gpu, GpuUnit, GpuUnitSpec, Quantity, Resources, names};
use plans::object_names::digest;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::text::require_text;

/// Most units that one call creates or deletes.
const UNITS_MAX: u32 = 1000;
/// Most GPUs of a unit.
const GPUS_MAX: u32 = 64;

/// Units to create.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewStocks {
    /// Number of units.
    #[schema(minimum = 1, maximum = 1000)]
    number: u32,
    /// Idempotency key of this call, known for a week.
    #[serde(rename = "operationID")]
    pub(super) operation_id: String,
    /// Name of the GPU specification.
    #[serde(rename = "specName")]
    spec_name: String,
    /// CPU of each unit, a Kubernetes quantity (`4`, `3500m`).
    cpu: String,
    /// Memory of each unit, a Kubernetes quantity (`16Gi`).
    memory: String,
    /// GPU model.
    #[serde(rename = "gpuType")]
    gpu_type: String,
    /// Number of GPUs of each unit.
    #[serde(rename = "gpuNum")]
    #[schema(minimum = 0, maximum = 64)]
    gpu_num: u32,
}

/// Units to delete.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OldStocks {
    /// Number of units.
    #[schema(minimum = 1, maximum = 1000)]
    pub(super) number: u32,
    /// Idempotency key of this call, known for a week.
    #[serde(rename = "operationID")]
    pub(super) operation_id: String,
    /// Name of the GPU specification.
    #[serde(rename = "specName")]
    pub(super) spec_name: String,
}

/// The units that a call created or deleted.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct StocksResult {
    /// Idempotency key of the call.
    #[serde(rename = "operationID")]
    operation_id: String,
    /// Number of units.
    number: usize,
    /// Names of the units.
    units: Vec<String>,
}

impl StocksResult {
    pub(super) fn new(operation_id: String, units: Vec<String>) -> Self {
        Self { operation_id, number: units.len(), units }
    }
}

impl NewStocks {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        let mut checks = check_common(self.number, &self.operation_id, &self.spec_name);
        require_text(&mut checks, "/gpuType", &self.gpu_type, 63);
        for (pointer, value) in [("/cpu", &self.cpu), ("/memory", &self.memory)] {
            let is_positive = value.parse().is_ok_and(|quantity: Quantity| quantity.milli() > 0);
            checks.require(
                value.len() <= 32 && is_positive && Quantity::canonical(value).is_some(),
                pointer,
                "must be a positive Kubernetes quantity such as 4, 3500m or 16Gi",
            );
        }
        checks.require(self.gpu_num <= GPUS_MAX, "/gpuNum", format!("must be at most {GPUS_MAX}"));
        checks.finish()
    }

    /// The names of the units: the same for each repetition of the call.
    pub(super) fn unit_names(&self) -> Vec<String> {
        (0..self.number)
            .map(|index| format!("unit-{}", digest(&[&self.operation_id, &index.to_string()])))
            .collect()
    }

    /// One unit. `gpu_resource` is the extended resource of its GPUs.
    pub(super) fn unit(&self, name: &str, gpu_resource: &str) -> GpuUnit {
        let spec = GpuUnitSpec {
            gpu_spec: self.spec_name.clone(),
            resources: Resources {
                cpu: Quantity::canonical(&self.cpu).unwrap_or_default(),
                memory: Quantity::canonical(&self.memory).unwrap_or_default(),
                ephemeral_storage: None,
            },
            gpu: Gpu {
                model: self.gpu_type.clone(),
                count: i64::from(self.gpu_num),
                allocation: Allocation::Device { resource: gpu_resource.to_owned() },
            },
            node_selector: BTreeMap::new(),
            datacenter: String::new(),
            instance: None,
        };
        let mut unit = GpuUnit::new(name, spec);
        unit.metadata.labels = Some(BTreeMap::from([
            (names::LABEL_GPU_SPEC.to_owned(), self.spec_name.clone()),
            (names::LABEL_MANAGED_BY.to_owned(), names::MANAGED_BY_OPERATOR_API.to_owned()),
        ]));
        unit
    }
}

impl OldStocks {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_common(self.number, &self.operation_id, &self.spec_name).finish()
    }
}

fn check_common(number: u32, operation_id: &str, spec_name: &str) -> Checks {
    let mut checks = Checks::default();
    checks.within("/number", number, 1, UNITS_MAX);
    require_text(&mut checks, "/operationID", operation_id, 253);
    // the name is also the value of a label
    checks.label_value("/specName", spec_name);
    checks
}
