//! The unit of a start. Code of tenants gets one only where it runs (`isolation`).

use api::ProblemType;
use crds::Trust;
use gpu_core::{
    claim::{Claim, Displaced, Place},
    instance::{Event, Failure, Instance, State},
    reason::{Reason, ReasonCode},
    unit::{Observation, UnitRef},
};
use ids::DatacenterId;

use super::actions::{Actions, Blocked, concerns_instance, stock_unavailable};
use crate::isolation;

impl Actions {
    /// Claims a unit, or enters the instance into the queue.
    pub(super) async fn claim(&self, instance: &Instance) -> Result<Event, Blocked> {
        let claimed = match isolation::places(&self.clusters, &self.stock, &instance.order).await {
            Ok(places) => self.claim_in(instance, &places).await,
            Err(error) => Err(error),
        };
        match claimed {
            Ok(None) => Ok(Event::Queued),
            Ok(Some(claim)) if instance.storage_is_outside(&claim.cluster) => {
                let reason = Reason::new(
                    ReasonCode::StorageElsewhere,
                    "The free unit is in another cluster than a storage. Choose the datacenter of the storages.",
                );
                Ok(Event::Failed(Failure::new(reason)))
            }
            Ok(Some(claim)) => match self.why_not_isolated(instance, &claim) {
                Some(message) => {
                    Ok(Event::Failed(Failure::new(Reason::new(ReasonCode::RuntimeUnavailable, message))))
                }
                None => Ok(Event::Claimed(granted(claim))),
            },
            Err(peer::Error::Problem(problem)) if concerns_instance(&problem) => {
                let code = if problem.is(ProblemType::StockExhausted) {
                    ReasonCode::StockExhausted
                } else {
                    ReasonCode::ClaimRejected
                };
                let reason = Reason::new(code, &problem.detail);
                Ok(Event::Failed(Failure { problem: Some(problem), ..Failure::new(reason) }))
            }
            Err(error) => Err(stock_unavailable(&error)),
        }
    }

    /// Claims in the first place that has a free unit. An instance that may wait is queued in the first place if
    /// no unit is free. Returns none if it is queued.
    async fn claim_in(
        &self,
        instance: &Instance,
        places: &[Option<DatacenterId>],
    ) -> Result<Option<stock_api::Claim>, peer::Error> {
        let waits = matches!(instance.state, State::Pending { wait: true, .. });
        let tried = if waits && places.len() == 1 { &[][..] } else { places };
        let mut exhausted = None;
        for place in tried {
            let request = request(instance, *place);
            // as when it waits
            let interruptible = request.interruptible && !waits;
            match self.stock.claim(&stock_api::ClaimRequest { interruptible, ..request }).await {
                Ok(claim) => return Ok(Some(claim)),
                Err(peer::Error::Problem(problem)) if problem.is(ProblemType::StockExhausted) => {
                    exhausted.get_or_insert(peer::Error::Problem(problem));
                }
                Err(error) => return Err(error),
            }
        }
        if let (false, Some(error)) = (waits, exhausted) {
            return Err(error);
        }
        let stock_api::ClaimRequest { tenant_id, gpu_spec_id, datacenter_id, preferred_node, .. } =
            request(instance, places.first().copied().flatten());
        let attempt = instance.attempt;
        let request = stock_api::WaitRequest {
            tenant_id,
            gpu_spec_id,
            datacenter_id,
            preferred_node,
            attempt,
            priority: 0,
        };
        self.stock.claim_or_wait(instance.id, &request).await.map(|turn| turn.claim)
    }

    /// Why the claimed unit does not run the code of the instance; none if it does. The report of its
    /// operator may have changed, and units of a datacenter may differ.
    fn why_not_isolated(&self, instance: &Instance, claim: &stock_api::Claim) -> Option<String> {
        let unit = UnitRef { cluster: claim.cluster.clone(), name: claim.unit_name.clone() };
        match self.clusters.observation(&unit) {
            Observation::Unit(unit) if instance.order.trust() == Trust::Tenant => {
                let why = unit.refuses_tenant_code()?;
                Some(isolation::explain(&claim.datacenter_name, why, &isolation::datacenters(&self.clusters)))
            }
            _ => None,
        }
    }
}

fn request(instance: &Instance, datacenter_id: Option<DatacenterId>) -> stock_api::ClaimRequest {
    stock_api::ClaimRequest {
        instance_id: instance.id,
        tenant_id: instance.tenant,
        gpu_spec_id: instance.order.gpu_spec_id,
        datacenter_id,
        preferred_node: instance.last_place.as_ref().and_then(|place| place.node.clone()),
        interruptible: instance.order.interruptible,
        recall_rank: 0,
    }
}

/// A claim as the stock service grants it.
fn granted(claim: stock_api::Claim) -> Claim {
    Claim {
        unit_id: claim.unit_id,
        unit: UnitRef { cluster: claim.cluster, name: claim.unit_name },
        place: Place {
            datacenter_id: claim.datacenter_id,
            datacenter_name: claim.datacenter_name,
            node: claim.node,
        },
        price_per_hour: claim.price_per_hour,
        currency: claim.currency,
        hold_price_fraction: claim.hold_price_fraction,
        claimed_at: claim.claimed_at,
        displaced: claim
            .recall
            .map(|recall| Displaced { instance: recall.instance_id, leave_by: recall.leave_by }),
    }
}
