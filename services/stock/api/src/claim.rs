//! Claims: one unit for one instance.

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A request for one unit of a specification.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// Instance that gets the unit. The same instance always gets the same unit.
    pub instance_id: InstanceId,
    /// Tenant of the instance.
    pub tenant_id: TenantId,
    /// Specification of the unit.
    pub gpu_spec_id: GpuSpecId,
    /// Only units in this datacenter. By default, the one with the most free units of those whose cluster answers.
    #[serde(default)]
    pub datacenter_id: Option<DatacenterId>,
    /// A unit on this node, if one is free; otherwise any.
    #[serde(default)]
    pub preferred_node: Option<String>,
    /// Whether a claim that finds no free unit may take this unit. An interruptible claim only gets a unit that nobody
    /// waits for, beyond those that are held back for other claims, and has no preferred node.
    #[serde(default)]
    pub interruptible: bool,
    /// For an interruptible claim: claims with a lower rank lose their units first.
    #[serde(default)]
    pub recall_rank: i16,
}

/// A change of an interruptible claim.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimPatch {
    /// Time of the claim: a later one does not change.
    pub claimed_at: Timestamp,
    /// Claims with a lower rank lose their units first.
    pub recall_rank: i16,
}

/// The claim that this one has interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimRecall {
    /// The instance that has to leave the unit.
    pub instance_id: InstanceId,
    /// Time by which it leaves.
    pub leave_by: Timestamp,
}

/// A request for one unit of a specification, now or as soon as it is the instance's turn.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitRequest {
    /// Tenant of the instance.
    pub tenant_id: TenantId,
    /// Specification of the unit.
    pub gpu_spec_id: GpuSpecId,
    /// Only units in this datacenter; in any if absent.
    #[serde(default)]
    pub datacenter_id: Option<DatacenterId>,
    /// A unit on this node, if one is free now; otherwise any.
    #[serde(default)]
    pub preferred_node: Option<String>,
    /// Number of the instance's start. A release for an earlier start does not end the wait of a later one.
    #[serde(default)]
    pub attempt: i64,
    /// Higher is served first. -100 to 100.
    #[serde(default)]
    pub priority: i32,
}

/// The claim of an instance, or its wait in the queue.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Turn {
    /// The claim; null while the instance waits in the queue.
    pub claim: Option<Claim>,
}

/// A unit that an instance holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Claim {
    /// Instance that holds the unit.
    pub instance_id: InstanceId,
    /// Tenant of the instance.
    pub tenant_id: TenantId,
    /// The unit.
    pub unit_id: UnitId,
    /// Name of the unit's `GpuUnit` in the cluster.
    pub unit_name: String,
    /// Specification of the unit.
    pub gpu_spec_id: GpuSpecId,
    /// Name of the specification.
    pub gpu_spec_name: String,
    /// Datacenter of the unit.
    pub datacenter_id: DatacenterId,
    /// Name of the datacenter.
    pub datacenter_name: String,
    /// Cluster of the datacenter, by its configured name.
    pub cluster: String,
    /// Node on which the unit holds its resources.
    pub node: Option<String>,
    /// Current price per hour, a decimal number. The price at the time of the claim is the one to bill.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217 code of the currency.
    pub currency: String,
    /// Current part of the price for which the instance may keep the unit while it is stopped; null if it may not.
    #[serde(with = "rust_decimal::serde::str_option")]
    #[schema(value_type = Option<String>, example = "0.25")]
    pub hold_price_fraction: Option<Decimal>,
    /// Time of the claim.
    pub claimed_at: Timestamp,
    /// The interruptible claim whose unit this one has taken, or null.
    pub recall: Option<ClaimRecall>,
}

/// Units that interruptible claims would get now, and units that they should return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SpareUnits {
    /// Free units that exceed the hold-back, in datacenters for which no instance waits.
    #[schema(example = 3)]
    pub units: i64,
    /// For each datacenter with fewer free units than are held back: what its interruptible claims should return.
    pub wanted_back: Vec<WantedBack>,
}

/// Units of a datacenter that interruptible claims should return, to restore the hold-back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct WantedBack {
    /// How many are missing.
    #[schema(example = 1)]
    pub units: i64,
    /// Instances with interruptible claims there, at most 256, in the order in which they lose their units.
    pub instances: Vec<InstanceId>,
}
