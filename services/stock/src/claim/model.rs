//! Claims, and what a caller gets when no unit is free.

use std::sync::Arc;

use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::queue::Alternative;

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
    /// Whether a claim that finds no free unit may take this one. It gets a unit that nobody waits for, beyond those that are
    /// held back for other claims; it has no preferred node.
    #[serde(default)]
    pub interruptible: bool,
    /// Of an interruptible claim: lower is taken first.
    #[serde(default)]
    pub recall_rank: i16,
}

/// A change of an interruptible claim.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimPatch {
    /// Time of the claim: a later one does not change.
    pub claimed_at: Timestamp,
    /// Lower is taken first.
    pub recall_rank: i16,
}

/// The claim that this one has interrupted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ClaimRecall {
    /// The instance that has to leave the unit.
    pub instance_id: InstanceId,
    /// Until when it leaves.
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

/// Units that interruptible claims would get now, and those that they are wanted to return.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct SpareUnits {
    /// Free units that exceed the hold-back, in datacenters for which no instance waits.
    #[schema(example = 3)]
    pub(super) units: i64,
    /// Of each datacenter with fewer free units than are held back, what interruptible claims there are wanted to return.
    pub(super) wanted_back: Vec<WantedBack>,
}

/// Units of a datacenter that interruptible claims are wanted to return, so that it has its hold-back again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(super) struct WantedBack {
    /// How many are missing.
    #[schema(example = 1)]
    pub(super) units: i64,
    /// Instances with interruptible claims there, at most 256: those first that a claim would take first.
    pub(super) instances: Vec<InstanceId>,
}

/// What an instance that is ready to wait has now.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Turn {
    /// The claim; null while the instance waits in the queue.
    pub claim: Option<Claim>,
}

/// A unit that an instance holds.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
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

impl Claim {
    /// Whether the claim is what the request asks for.
    pub(super) fn fulfils(&self, request: &ClaimRequest) -> bool {
        self.gpu_spec_id == request.gpu_spec_id && self.tenant_id == request.tenant_id
    }
}

/// No unit is free.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhausted {
    pub(crate) alternatives: Vec<Alternative>,
    /// Instances in the queue of the specification.
    pub(crate) waiting: i64,
    /// The datacenter of the request is draining.
    pub(crate) draining: bool,
}

/// The outcome of one claim in a batch.
#[derive(Debug, Clone)]
pub(crate) enum ClaimOutcome {
    /// The instance holds this unit; `new` unless it did before.
    Claimed { claim: Box<Claim>, new: bool },
    /// No unit is free, and the instance waits in the queue.
    Queued,
    /// No unit is free.
    Exhausted(Arc<Exhausted>),
    /// The specification does not exist.
    UnknownSpec,
    /// The datacenter does not exist.
    UnknownDatacenter,
    /// The database failed. Repeating the claim shows whether a unit was claimed.
    Failed(Arc<sqlx::Error>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_fulfils_requests_for_its_specification_and_tenant_only() {
        let claim = Claim {
            instance_id: InstanceId::new(),
            tenant_id: TenantId::new(),
            unit_id: UnitId::new(),
            unit_name: "unit-1".to_owned(),
            gpu_spec_id: GpuSpecId::new(),
            gpu_spec_name: "small".to_owned(),
            datacenter_id: DatacenterId::new(),
            datacenter_name: "uk-1".to_owned(),
            cluster: "uk-1".to_owned(),
            node: None,
            price_per_hour: Decimal::ONE,
            currency: "EUR".to_owned(),
            hold_price_fraction: None,
            claimed_at: Timestamp::UNIX_EPOCH,
            recall: None,
        };
        // wherever it is: the instance keeps its unit
        let same = ClaimRequest {
            instance_id: claim.instance_id,
            tenant_id: claim.tenant_id,
            gpu_spec_id: claim.gpu_spec_id,
            datacenter_id: Some(DatacenterId::new()),
            preferred_node: None,
            interruptible: false,
            recall_rank: 0,
        };
        assert!(claim.fulfils(&same));
        assert!(!claim.fulfils(&ClaimRequest { tenant_id: TenantId::new(), ..same.clone() }));
        assert!(!claim.fulfils(&ClaimRequest { gpu_spec_id: GpuSpecId::new(), ..same }));
    }
}
