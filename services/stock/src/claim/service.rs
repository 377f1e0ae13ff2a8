//! Claims and releases units, batch by batch.

use std::sync::Arc;

use api::checks::is_dns_subdomain;
use batch::Batcher;
use db::Db;
use ids::InstanceId;

use super::{
    claims::{Claimant, Claims, Entry, Target, silent_datacenters},
    error::Error,
    model::{ClaimOutcome, fulfils},
    releases::Releases,
    store::{self, Release},
};
use crate::{
    config::StockConfig,
    interruptible::{self, store::LackRow},
    metrics::StockMetrics,
    silence::Silence,
};
use stock_api::{Claim, ClaimRequest, SpareUnits, WaitRequest, WantedBack};

/// Batches of one specification in progress at a time: while one commits, the next is filled and begun.
const CONCURRENCY: usize = 2;
/// Priorities of instances that wait.
const PRIORITIES: std::ops::RangeInclusive<i32> = -100..=100;

/// Claims and releases units. Clones share the batches.
#[derive(Clone)]
pub(crate) struct ClaimService {
    db: Db,
    silence: Silence,
    config: Arc<StockConfig>,
    claims: Batcher<Claims>,
    releases: Batcher<Releases>,
}

/// A claim, and whether the instance did not hold the unit before.
pub(super) struct Granted {
    pub(super) claim: Claim,
    pub(super) new: bool,
}

impl ClaimService {
    pub(crate) fn new(db: Db, metrics: StockMetrics, silence: Silence, config: Arc<StockConfig>) -> Self {
        let claims =
            Claims { db: db.clone(), metrics, silence: silence.clone(), config: Arc::clone(&config) };
        let releases = Releases { db: db.clone() };
        Self {
            db,
            silence,
            config,
            claims: Batcher::new(claims, store::MAX_BATCH, CONCURRENCY),
            releases: Batcher::new(releases, store::MAX_BATCH, CONCURRENCY),
        }
    }

    /// Claims a unit, or returns the one that the instance holds.
    pub(super) async fn claim(&self, request: &ClaimRequest) -> Result<Granted, Error> {
        // only an instance that may wait can have no claim
        self.submit(request, None).await?.ok_or(Error::BatchLost)
    }

    /// Claims a unit, or enters the instance into the queue and returns none.
    pub(super) async fn claim_or_wait(
        &self,
        instance: InstanceId,
        request: &WaitRequest,
    ) -> Result<Option<Granted>, Error> {
        if !PRIORITIES.contains(&request.priority) {
            return Err(Error::invalid_field("/priority", "must be -100 to 100"));
        }
        let wait = Entry { priority: request.priority, attempt: request.attempt };
        let request = ClaimRequest {
            instance_id: instance,
            tenant_id: request.tenant_id,
            gpu_spec_id: request.gpu_spec_id,
            datacenter_id: request.datacenter_id,
            preferred_node: request.preferred_node.clone(),
            interruptible: false,
            recall_rank: 0,
        };
        self.submit(&request, Some(wait)).await
    }

    async fn submit(&self, request: &ClaimRequest, wait: Option<Entry>) -> Result<Option<Granted>, Error> {
        let claimant = Claimant {
            instance: request.instance_id,
            tenant: request.tenant_id,
            node: request.preferred_node.clone().filter(|node| is_dns_subdomain(node)),
            entry: wait.unwrap_or_default(),
            recall_rank: request.recall_rank,
        };
        let target = Target {
            spec: request.gpu_spec_id,
            datacenter: request.datacenter_id,
            wait: wait.is_some(),
            interruptible: request.interruptible,
        };
        match self.claims.submit(target, claimant).await.ok_or(Error::BatchLost)? {
            ClaimOutcome::Claimed { claim, .. } if !fulfils(&claim, request) => Err(Error::AlreadyClaimed),
            ClaimOutcome::Claimed { claim, new } => Ok(Some(Granted { claim: *claim, new })),
            ClaimOutcome::Queued => Ok(None),
            ClaimOutcome::Exhausted(exhausted) => Err(Error::Exhausted(exhausted)),
            ClaimOutcome::UnknownSpec => {
                Err(Error::invalid_field("/gpu_spec_id", "is not the id of a GPU specification"))
            }
            ClaimOutcome::UnknownDatacenter => {
                Err(Error::invalid_field("/datacenter_id", "is not the id of a datacenter"))
            }
            ClaimOutcome::Failed(error) => Err(Error::Database(error)),
        }
    }

    /// Returns the units that interruptible claims of a specification would get now, and those that they should return;
    /// none if there is no such specification.
    pub(super) async fn spare_units(&self, spec_name: &str) -> sqlx::Result<Option<SpareUnits>> {
        let avoided = silent_datacenters(&self.db, &self.silence).await?;
        let mut tx = self.db.worker().await?;
        let hold_back = i64::from(self.config.interruptible_hold_back);
        let Some(units) = interruptible::store::spare(&mut tx, spec_name, &avoided, hold_back).await? else {
            return Ok(None);
        };
        let lacks = interruptible::store::lacks(&mut tx, spec_name, &avoided, hold_back).await?;
        let wanted = |lack: LackRow| WantedBack { units: lack.units, instances: lack.instances };
        Ok(Some(SpareUnits { units, wanted_back: lacks.into_iter().map(wanted).collect() }))
    }

    /// Releases the unit that the instance holds, if any.
    pub(super) async fn release(&self, release: Release) -> Result<(), Error> {
        let released = self.releases.submit((), release).await.ok_or(Error::BatchLost)?;
        released.map_err(Error::Database)
    }
}
