//! Offers, and their availability by datacenter.

use rust_decimal::Decimal;
use serde::Serialize;
use utoipa::ToSchema;

use crate::stock::StockRow;
use stock_api::{DatacenterState, GpuSpec};

/// From this number of available units on there are many.
const MANY: i64 = 5;

/// Whether units can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Room {
    /// Several units are available.
    Many,
    /// The last units are available.
    Few,
    /// No unit is available now.
    None,
}

impl Room {
    fn of(row: &StockRow) -> Self {
        match (row.datacenter_state, row.available) {
            (DatacenterState::Draining, _) | (_, ..=0) => Self::None,
            (DatacenterState::Active, MANY..) => Self::Many,
            (DatacenterState::Active, _) => Self::Few,
        }
    }
}

/// A GPU specification that is for sale.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Offer {
    /// Name of the specification.
    #[schema(example = "3080-small-4-1")]
    pub name: String,
    /// GPU model.
    #[schema(example = "NVIDIA-GeForce-RTX-3080")]
    pub gpu_model: String,
    /// Number of GPUs.
    pub gpu_count: i32,
    /// Video memory of each GPU in MiB.
    pub video_memory_mib: i64,
    /// CPU in thousandths of a core.
    pub cpu_millis: i64,
    /// Memory in MiB.
    pub memory_mib: i64,
    /// Ephemeral disk in GiB.
    pub disk_gib: i64,
    /// Summary in one line.
    #[schema(example = "1 GPU / 1 x 10GB Video RAM / 4 CPU / 8GB Memory / 50GB Temporary Storage")]
    pub summary: String,
    /// Price per hour, a decimal number.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    #[schema(example = "USD")]
    pub currency: String,
    /// Where the platform has such units, by name.
    pub datacenters: Vec<OfferedIn>,
}

/// A datacenter that has units of a specification.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct OfferedIn {
    /// Name of the datacenter.
    #[schema(example = "uk-1")]
    pub name: String,
    /// Whether units can be claimed there.
    pub room: Room,
}

impl Offer {
    pub(super) fn new(spec: GpuSpec) -> Self {
        Self {
            name: spec.name,
            gpu_model: spec.gpu_model,
            gpu_count: spec.gpu_count,
            video_memory_mib: spec.video_memory_mib,
            cpu_millis: spec.cpu_millis,
            memory_mib: spec.memory_mib,
            disk_gib: spec.disk_gib,
            summary: spec.summary,
            price_per_hour: spec.price_per_hour,
            currency: spec.currency,
            datacenters: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, row: &StockRow) {
        self.datacenters.push(OfferedIn { name: row.datacenter.name.clone(), room: Room::of(row) });
    }
}
