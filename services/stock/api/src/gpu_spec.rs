//! GPU specifications.

use std::collections::BTreeMap;

use api::money;
use ids::GpuSpecId;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether a specification is for sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum GpuSpecState {
    /// For sale.
    Active,
    /// Takes no new stock and no new instances. Instances that use it keep it.
    Retired,
}

/// How the cluster allocates GPUs to a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Allocation {
    /// Whole GPUs from a device plugin.
    Device {
        /// Name of the extended resource, for example `nvidia.com/gpu`.
        resource: String,
    },
    /// Slices of a MIG profile.
    Mig {
        /// Name of the extended resource, for example `nvidia.com/mig-1g.10gb`.
        resource: String,
    },
    /// Time-sliced GPUs.
    TimeSlice {
        /// Name of the extended resource, for example `nvidia.com/gpu.shared`.
        resource: String,
    },
    /// Shares of GPUs from HAMi.
    Hami {
        /// Memory per GPU in MiB.
        memory_mib: i64,
        /// Share of each GPU's cores in percent, 0 to 100.
        cores: i64,
    },
    /// Devices of a class from dynamic resource allocation.
    Dra {
        /// Name of the `DeviceClass`.
        device_class: String,
        /// CEL expressions that each device must satisfy, at most 8.
        #[serde(default)]
        selectors: Vec<String>,
    },
}

/// A GPU specification: the resources of one unit and its price per hour.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct GpuSpec {
    /// Specification id.
    pub id: GpuSpecId,
    /// Unique name.
    #[schema(example = "3080-small-4-1")]
    pub name: String,
    /// GPU model.
    #[schema(example = "NVIDIA-GeForce-RTX-3080")]
    pub gpu_model: String,
    /// Number of GPUs.
    pub gpu_count: i32,
    /// Cores of each GPU.
    pub gpu_cores: i32,
    /// Video memory of each GPU in MiB.
    pub video_memory_mib: i64,
    /// CPU in thousandths of a core.
    pub cpu_millis: i64,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// Ephemeral disk in GiB.
    pub disk_gib: i64,
    /// Price per hour, a decimal number.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    #[schema(example = "USD")]
    pub currency: String,
    /// Part of the price, 0 to 1, for which a stopped instance may keep its unit; null if it may not.
    #[serde(with = "money::option")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub hold_price_fraction: Option<Decimal>,
    /// How the cluster allocates the GPUs.
    pub allocation: Allocation,
    /// Labels that the node of a unit must have.
    pub node_selector: BTreeMap<String, String>,
    /// Whether the specification is for sale.
    pub state: GpuSpecState,
    /// Summary in one line.
    #[schema(example = "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage")]
    pub summary: String,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Time of the last change.
    pub updated_at: Timestamp,
    /// Counter of changes: the ETag.
    #[serde(skip)]
    pub generation: i64,
}

/// Id and name of a GPU specification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GpuSpecRef {
    /// GPU specification id.
    pub id: GpuSpecId,
    /// Name.
    pub name: String,
}
