//! What a claim is, and what is said when there is nothing to claim.

use api::{Problem, ProblemType};
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::unit::model::{DatacenterRef, GpuSpecRef};

/// Asks for one unit of a specification.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRequest {
    /// For whom; the same instance always gets the same unit.
    pub instance_id: InstanceId,
    /// Whose it is.
    pub tenant_id: TenantId,
    /// Of which specification.
    pub gpu_spec_id: GpuSpecId,
    /// Only there; without it, in the datacenter that has most.
    #[serde(default)]
    pub datacenter_id: Option<DatacenterId>,
    /// There, if it has a unit that is free; else anywhere.
    #[serde(default)]
    pub preferred_node: Option<String>,
}

/// Hands a unit over to another instance.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferRequest {
    /// Who gets it.
    pub to_instance_id: InstanceId,
    /// Whose that is.
    pub to_tenant_id: TenantId,
}

/// A unit held by an instance.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Claim {
    /// The holder.
    pub instance_id: InstanceId,
    /// The holder's tenant.
    pub tenant_id: TenantId,
    /// The unit.
    pub unit_id: UnitId,
    /// The name of its `GpuUnit`.
    pub unit_name: String,
    /// Its specification.
    pub gpu_spec_id: GpuSpecId,
    /// The specification's name.
    pub gpu_spec_name: String,
    /// Where it is.
    pub datacenter_id: DatacenterId,
    /// The datacenter's name.
    pub datacenter_name: String,
    /// The configured name of the datacenter's cluster.
    pub cluster: String,
    /// The node on which it holds its place.
    pub node: Option<String>,
    /// Price per hour, as it is now: at the claim, the one to bill by.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
    /// Since when it is held.
    pub claimed_at: Timestamp,
}

/// What could be had instead.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Alternative {
    /// Of which specification.
    pub gpu_spec: GpuSpecRef,
    /// Where.
    pub datacenter: DatacenterRef,
    /// How many are free.
    pub available: i64,
    /// Price per hour.
    #[serde(with = "rust_decimal::serde::str")]
    #[schema(value_type = String, example = "0.2")]
    pub price_per_hour: Decimal,
    /// ISO 4217.
    pub currency: String,
}

/// Nothing is free: what would help.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exhausted {
    pub(crate) alternatives: Vec<Alternative>,
    pub(crate) waiting: i64,
    pub(crate) draining: bool,
}

/// The answer to one request.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    /// A unit; `fresh` if the instance did not hold it before.
    Claimed { claim: Box<Claim>, fresh: bool },
    /// None is free.
    Exhausted(std::sync::Arc<Exhausted>),
    /// There is no such specification.
    NoSpec,
    /// There is no such datacenter.
    NoDatacenter,
    /// The database failed; whether anything was claimed, asking again will tell.
    Failed(std::sync::Arc<sqlx::Error>),
}

impl Exhausted {
    pub(crate) fn problem(&self) -> Problem {
        let detail = if self.draining {
            "The datacenter gives out no units: it is draining."
        } else {
            "No unit of this GPU specification is free at the moment."
        };
        Problem::new(ProblemType::StockExhausted, detail)
            .with("alternatives", &self.alternatives)
            .with("waiting", self.waiting)
    }
}

/// The instance has a unit of another kind, or is said to be another tenant's.
pub(crate) fn holds_another() -> Problem {
    Problem::new(
        ProblemType::AlreadyClaimed,
        "The instance already holds a unit, of another specification or for another tenant.",
    )
}
