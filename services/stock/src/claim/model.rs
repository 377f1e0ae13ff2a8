//! Claims, and the answer when no unit is free.

use std::sync::Arc;

use stock_api::{Alternative, Claim, ClaimRequest};

/// Whether the claim matches the request.
pub(super) fn fulfils(claim: &Claim, request: &ClaimRequest) -> bool {
    claim.gpu_spec_id == request.gpu_spec_id && claim.tenant_id == request.tenant_id
}

/// No unit is free.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exhausted {
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
    use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
    use jiff::Timestamp;
    use rust_decimal::Decimal;

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
        assert!(fulfils(&claim, &same));
        assert!(!fulfils(&claim, &ClaimRequest { tenant_id: TenantId::new(), ..same.clone() }));
        assert!(!fulfils(&claim, &ClaimRequest { gpu_spec_id: GpuSpecId::new(), ..same }));
    }
}
