//! Instances that wait for a unit.

use ids::{InstanceId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{DatacenterRef, GpuSpecRef};

/// A unit was given to an instance that waited for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Grant {
    /// Instance that holds the unit now.
    pub instance_id: InstanceId,
    /// The unit.
    pub unit_id: UnitId,
}

/// Units that could be claimed instead.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Alternative {
    /// Specification of the units.
    pub gpu_spec: GpuSpecRef,
    /// Datacenter of the units.
    pub datacenter: DatacenterRef,
    /// Free units.
    pub available: i64,
    /// Price per hour, a decimal number.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    pub currency: String,
}

/// When a unit is expected, if units are released as often as recently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Estimate {
    /// Expected time.
    pub starts_at: Timestamp,
    /// Releases of units of the specification (in the required datacenter) on which the estimate is based.
    pub releases: i64,
    /// Seconds in which these releases happened, until now.
    pub period_seconds: i64,
}

/// An instance that waits for a unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct QueueEntry {
    /// Instance that waits.
    pub instance_id: InstanceId,
    /// Its place among those that wait for the same units; 1 is next.
    pub position: i64,
    /// Instances that wait for the specification.
    pub length: i64,
    /// Specification of the units.
    pub gpu_spec: GpuSpecRef,
    /// Required datacenter; null if any will do.
    pub datacenter: Option<DatacenterRef>,
    /// Whether the required datacenter is draining: its units are not given to anybody.
    pub draining: bool,
    /// Priority; higher is first.
    pub priority: i32,
    /// Time since which it waits.
    pub since: Timestamp,
    /// When a unit is expected; null if too few were released recently.
    pub estimate: Option<Estimate>,
    /// Units that could be claimed now instead.
    pub alternatives: Vec<Alternative>,
}

/// What a claim would get now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Quote {
    /// Free units. With at least one, a claim succeeds.
    pub available: i64,
    /// Whether the required datacenter is draining: its units cannot be claimed.
    pub draining: bool,
    /// Instances that wait for such a unit.
    pub waiting: i64,
    /// When a unit is expected for one more instance that waits; null if one is free, or too few were released recently.
    pub estimate: Option<Estimate>,
    /// Units that could be claimed now instead; empty if one is free.
    pub alternatives: Vec<Alternative>,
}

/// The entries of instances that wait.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct QueueEntries {
    /// Instances that do not wait are missing.
    pub items: Vec<QueueEntry>,
}
