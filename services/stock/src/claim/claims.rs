//! Claims of one specification that arrive together.

use std::{collections::HashMap, sync::Arc};

use batch::BatchWork;
use db::Db;
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};
use sqlx::PgConnection;

use super::{
    model::{ClaimOutcome, Exhausted},
    store::{self, Claimants, Claimed, FoundClaim},
};
use crate::{
    config::StockConfig,
    datacenter,
    interruptible::{self, store::Interruptible},
    metrics::StockMetrics,
    queue::{self, store::Entrants},
    silence::Silence,
};
use stock_api::Claim;

/// How often a batch that collided with another claim of the same instance, or with a deadlock, is repeated.
pub(super) const MAX_RETRIES: usize = 5;

/// The common values of the claims of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Target {
    pub(super) spec: GpuSpecId,
    pub(super) datacenter: Option<DatacenterId>,
    /// Whether the instances wait if no unit is free.
    pub(super) wait: bool,
    /// Whether other claims may take the units.
    pub(super) interruptible: bool,
}

/// How an instance waits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Entry {
    pub(super) priority: i32,
    pub(super) attempt: i64,
}

/// One claim in a batch.
pub(super) struct Claimant {
    pub(super) instance: InstanceId,
    pub(super) tenant: TenantId,
    pub(super) node: Option<String>,
    pub(super) entry: Entry,
    pub(super) recall_rank: i16,
}

/// Carries out batches of claims.
pub(super) struct Claims {
    pub(super) db: Db,
    pub(super) metrics: StockMetrics,
    pub(super) silence: Silence,
    pub(super) config: Arc<StockConfig>,
}

impl BatchWork for Claims {
    type Key = Target;
    type Item = Claimant;
    type Answer = ClaimOutcome;

    async fn run(&self, key: &Self::Key, claimants: Vec<Claimant>) -> Vec<ClaimOutcome> {
        self.metrics.batch(claimants.len());
        let mut outcomes = HashMap::with_capacity(claimants.len());
        let rest = match self.carry_out(key, &claimants, &mut outcomes).await {
            Ok(rest) => rest,
            Err(error) => Some(ClaimOutcome::Failed(Arc::new(error))),
        };
        claimants
            .iter()
            .map(|claimant| {
                let outcome = outcomes.get(&claimant.instance).or(rest.as_ref()).cloned();
                let outcome =
                    outcome.unwrap_or_else(|| ClaimOutcome::Failed(Arc::new(sqlx::Error::RowNotFound)));
                match &outcome {
                    ClaimOutcome::Claimed { new: true, .. } => self.metrics.claimed(),
                    ClaimOutcome::Claimed { .. } => self.metrics.existing(),
                    ClaimOutcome::Queued => self.metrics.queued(),
                    ClaimOutcome::Exhausted(_) => self.metrics.exhausted(),
                    ClaimOutcome::UnknownSpec | ClaimOutcome::UnknownDatacenter | ClaimOutcome::Failed(_) => {
                    }
                }
                outcome
            })
            .collect()
    }
}

type Outcomes = HashMap<InstanceId, ClaimOutcome>;

impl Claims {
    /// Fills `outcomes`. Returns the outcome of all claimants that are not in it.
    async fn carry_out(
        &self,
        target: &Target,
        claimants: &[Claimant],
        outcomes: &mut Outcomes,
    ) -> sqlx::Result<Option<ClaimOutcome>> {
        let rest = match target.interruptible {
            true => self.claim_spare(target, claimants, outcomes).await?,
            false => self.claim_all(target, claimants, outcomes).await?,
        };
        self.add_recalls(outcomes).await?;
        Ok(rest)
    }

    /// Like [`Self::carry_out`], for ordinary claims.
    async fn claim_all(
        &self,
        target: &Target,
        claimants: &[Claimant],
        outcomes: &mut Outcomes,
    ) -> sqlx::Result<Option<ClaimOutcome>> {
        let Target { spec, datacenter, wait: may_wait, .. } = *target;
        if may_wait {
            // a waiting instance must not pass those before it
            let mut tx = self.db.worker().await?;
            let waiting =
                queue::store::waiting(&mut tx, spec, datacenter, &entrants(claimants, outcomes)).await?;
            outcomes.extend(waiting.into_iter().map(|instance| (instance, ClaimOutcome::Queued)));
        }
        let silent = if datacenter.is_none() {
            silent_datacenters(&self.db, &self.silence).await?
        } else {
            Vec::new()
        };
        let (mut avoided, mut may_recall) = (silent.clone(), true);
        let on_nodes = open(claimants.iter().filter(|claimant| claimant.node.is_some()), outcomes);
        // clusters may have nodes of the same name
        if !on_nodes.instances.is_empty() && avoided.is_empty() {
            record(self.transact(spec, datacenter, &on_nodes, &Step::OnNodes).await?, outcomes);
        }
        let (mut tried, mut wait, mut place) = (avoided.clone(), false, datacenter);
        loop {
            let left = open(claimants.iter(), outcomes);
            if left.instances.is_empty() {
                return Ok(None);
            }
            let step = Step::Anywhere { tried: &tried, wait };
            let claimed = self.transact(spec, place, &left, &step).await?;
            let at = claimed.place;
            record(claimed, outcomes);
            match at {
                // no more units there, even after waiting for locked ones: try the next datacenter
                Some(at) if wait => {
                    tried.push(at);
                    (wait, place) = (false, datacenter);
                }
                Some(at) => (wait, place) = (true, Some(at)),
                None if wait => (wait, place) = (false, datacenter),
                None if may_recall => {
                    may_recall = false;
                    record(self.recall(spec, datacenter, &left, &silent).await?, outcomes);
                }
                // nothing is free elsewhere: the instance waits for the cluster
                None if !avoided.is_empty() => {
                    tried.retain(|tried| !avoided.contains(tried));
                    avoided.clear();
                }
                None if may_wait => {
                    let entrants = entrants(claimants, outcomes);
                    return self.enqueue(spec, datacenter, &entrants, outcomes).await;
                }
                None => return self.refuse(spec, datacenter).await.map(Some),
            }
        }
    }

    /// Takes units of interruptible claims.
    async fn recall(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        claimants: &Claimants,
        avoided: &[DatacenterId],
    ) -> sqlx::Result<Claimed> {
        let who = (&claimants.instances[..], &claimants.tenants[..]);
        let mut retries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            let seconds = f64::from(self.config.recall_seconds);
            match interruptible::store::recall(&mut tx, spec, datacenter, who, avoided, seconds).await {
                Ok(instances) => {
                    let claims = store::find_all(&mut tx, &instances).await?;
                    tx.commit().await?;
                    let claims = claims.into_iter().map(|claim| FoundClaim { claim, new: true }).collect();
                    return Ok(Claimed { place: None, claims });
                }
                Err(error) if retries < MAX_RETRIES && is_collision(&error) => retries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Adds the interrupted claims to claims that existed already: their callers may have missed the first
    /// answer.
    async fn add_recalls(&self, outcomes: &mut Outcomes) -> sqlx::Result<()> {
        let existing: Vec<InstanceId> = outcomes
            .iter()
            .filter(|(_, outcome)| matches!(outcome, ClaimOutcome::Claimed { new: false, .. }))
            .map(|(instance, _)| *instance)
            .collect();
        if existing.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.worker().await?;
        let claims = store::find_all(&mut tx, &existing).await?;
        tx.commit().await?;
        record(
            Claimed {
                place: None,
                claims: claims.into_iter().map(|claim| FoundClaim { claim, new: false }).collect(),
            },
            outcomes,
        );
        Ok(())
    }

    /// Like [`Self::carry_out`], for interruptible claims.
    async fn claim_spare(
        &self,
        target: &Target,
        claimants: &[Claimant],
        outcomes: &mut Outcomes,
    ) -> sqlx::Result<Option<ClaimOutcome>> {
        let Target { spec, datacenter, .. } = *target;
        let avoided = match datacenter {
            None => silent_datacenters(&self.db, &self.silence).await?,
            Some(_) => Vec::new(),
        };
        let mut wanted = Interruptible::default();
        for claimant in claimants {
            if !wanted.instances.contains(&claimant.instance) {
                wanted.instances.push(claimant.instance);
                wanted.tenants.push(claimant.tenant);
                wanted.recall_ranks.push(claimant.recall_rank);
            }
        }
        let mut retries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            match claim_spare(&mut tx, spec, datacenter, &wanted, &avoided, &self.config).await {
                Ok(claimed) => {
                    tx.commit().await?;
                    record(claimed, outcomes);
                    return match wanted.instances.iter().all(|instance| outcomes.contains_key(instance)) {
                        true => Ok(None),
                        false => self.refuse(spec, datacenter).await.map(Some),
                    };
                }
                Err(error) if retries < MAX_RETRIES && is_collision(&error) => retries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    async fn refuse(&self, spec: GpuSpecId, datacenter: Option<DatacenterId>) -> sqlx::Result<ClaimOutcome> {
        let mut tx = self.db.worker().await?;
        let target = store::find_target(&mut tx, spec, datacenter).await?;
        if !target.spec_exists {
            return Ok(ClaimOutcome::UnknownSpec);
        }
        if !target.datacenter_exists {
            return Ok(ClaimOutcome::UnknownDatacenter);
        }
        let waiting = queue::report_store::count(&mut tx, spec).await?;
        let target_units = (spec, datacenter);
        let mut found = queue::report_store::alternatives(&mut tx, &[target_units]).await?;
        let alternatives = found.remove(&target_units).unwrap_or_default();
        let exhausted = Exhausted { alternatives, waiting, draining: target.draining };
        Ok(ClaimOutcome::Exhausted(Arc::new(exhausted)))
    }

    /// Enters the instances into the queue, again after a collision. Returns the outcome of those that are not in
    /// `outcomes`: they wait, unless there is nothing to wait for.
    async fn enqueue(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        entrants: &Entrants,
        outcomes: &mut Outcomes,
    ) -> sqlx::Result<Option<ClaimOutcome>> {
        let mut tx = self.db.worker().await?;
        let target = store::find_target(&mut tx, spec, datacenter).await?;
        tx.commit().await?;
        if !target.spec_exists || !target.datacenter_exists || target.draining {
            return self.refuse(spec, datacenter).await.map(Some);
        }
        let mut retries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            let seconds = f64::from(self.config.recall_seconds);
            match enter(&mut tx, spec, datacenter, entrants, seconds).await {
                Ok(claims) => {
                    tx.commit().await?;
                    for claim in claims {
                        let instance = claim.instance_id;
                        outcomes
                            .insert(instance, ClaimOutcome::Claimed { claim: Box::new(claim), new: true });
                    }
                    return Ok(Some(ClaimOutcome::Queued));
                }
                Err(error) if retries < MAX_RETRIES && is_collision(&error) => retries += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// Runs one statement in a transaction of its own, again after a collision.
    async fn transact(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        claimants: &Claimants,
        step: &Step<'_>,
    ) -> sqlx::Result<Claimed> {
        let mut retries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            let result = match step {
                Step::OnNodes => store::claim_on_nodes(&mut tx, spec, datacenter, claimants).await,
                Step::Anywhere { tried, wait } => {
                    let start = if *wait { None } else { Some(random_start()) };
                    store::claim(&mut tx, spec, datacenter, claimants, tried, start).await
                }
            };
            match result {
                Ok(claimed) => {
                    tx.commit().await?;
                    return Ok(claimed);
                }
                Err(error) if retries < MAX_RETRIES && is_collision(&error) => retries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Enters instances at the end of the queue, and serves it: a unit may have become available since they were refused.
/// Returns the claims of those that have been served, or held a unit before.
async fn enter(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    entrants: &Entrants,
    leave_seconds: f64,
) -> sqlx::Result<Vec<Claim>> {
    queue::store::lock_for_wait(&mut *conn, spec).await?;
    // the instance waits for other units, or in an earlier start
    queue::store::remove(&mut *conn, &entrants.instances, &vec![None; entrants.instances.len()]).await?;
    queue::store::insert(&mut *conn, spec, datacenter, entrants).await?;
    queue::store::serve_all(&mut *conn, spec).await?;
    queue::store::serve_by_recall(&mut *conn, spec, leave_seconds).await?;
    store::find_all(conn, &entrants.instances).await
}

/// Claims spare units, and adds the existing claims.
async fn claim_spare(
    conn: &mut PgConnection,
    spec: GpuSpecId,
    datacenter: Option<DatacenterId>,
    wanted: &Interruptible,
    avoided: &[DatacenterId],
    config: &StockConfig,
) -> sqlx::Result<Claimed> {
    // an instance that enters the queue meanwhile finds what is claimed here
    queue::store::lock_for_claim(&mut *conn, spec).await?;
    interruptible::store::lock(&mut *conn, spec).await?;
    let hold_back = i64::from(config.interruptible_hold_back);
    let new =
        interruptible::store::claim_spare(&mut *conn, spec, datacenter, wanted, avoided, hold_back).await?;
    let claims = store::find_all(conn, &wanted.instances).await?;
    let claims = claims.into_iter().map(|claim| FoundClaim { new: new.contains(&claim.instance_id), claim });
    Ok(Claimed { place: None, claims: claims.collect() })
}

/// The units among which a statement searches.
enum Step<'a> {
    /// On the preferred nodes.
    OnNodes,
    /// In the datacenter with the most free units that was not `tried`; `wait`: also for locked units.
    Anywhere { tried: &'a [DatacenterId], wait: bool },
}

/// Returns the claimants without an outcome, each instance once.
fn open<'a>(claimants: impl Iterator<Item = &'a Claimant>, outcomes: &Outcomes) -> Claimants {
    let mut open = Claimants::default();
    for claimant in claimants {
        if outcomes.contains_key(&claimant.instance) || open.instances.contains(&claimant.instance) {
            continue;
        }
        open.instances.push(claimant.instance);
        open.tenants.push(claimant.tenant);
        open.nodes.push(claimant.node.clone().unwrap_or_default());
    }
    open
}

/// Like [`open`], for the queue.
fn entrants(claimants: &[Claimant], outcomes: &Outcomes) -> Entrants {
    let mut entrants = Entrants::default();
    for claimant in claimants {
        if outcomes.contains_key(&claimant.instance) || entrants.instances.contains(&claimant.instance) {
            continue;
        }
        entrants.instances.push(claimant.instance);
        entrants.tenants.push(claimant.tenant);
        entrants.priorities.push(claimant.entry.priority);
        entrants.attempts.push(claimant.entry.attempt);
    }
    entrants
}

fn record(claimed: Claimed, outcomes: &mut Outcomes) {
    for FoundClaim { claim, new } in claimed.claims {
        outcomes.insert(claim.instance_id, ClaimOutcome::Claimed { claim: Box::new(claim), new });
    }
}

/// Unique violation (the same instance claims elsewhere), serialization failure, deadlock.
pub(super) fn is_collision(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|cause| cause.code())
        .is_some_and(|code| matches!(code.as_ref(), "23505" | "40001" | "40P01"))
}

/// Where in the ring of free units to start. The random bits of a new id are as good as any.
fn random_start() -> i32 {
    let bits = UnitId::new().uuid().as_u128() & 0x7fff_ffff;
    i32::try_from(bits).unwrap_or(0)
}

/// Returns the datacenters whose cluster does not answer.
pub(super) async fn silent_datacenters(db: &Db, silence: &Silence) -> sqlx::Result<Vec<DatacenterId>> {
    let silent = silence.clusters();
    if silent.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = db.worker().await?;
    let all = datacenter::store::list(&mut tx, "", i64::MAX).await?;
    Ok(all.into_iter().filter(|one| silent.contains(&one.cluster)).map(|one| one.id).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_instance_is_claimed_for_once() {
        let claimant = |instance, node: Option<&str>| Claimant {
            instance,
            tenant: TenantId::new(),
            node: node.map(str::to_owned),
            entry: Entry::default(),
            recall_rank: 0,
        };
        let (a, b, done) = (InstanceId::new(), InstanceId::new(), InstanceId::new());
        let claimants =
            [claimant(a, Some("node-1")), claimant(done, None), claimant(a, None), claimant(b, None)];
        let outcomes = HashMap::from([(done, ClaimOutcome::UnknownSpec)]);
        let left = open(claimants.iter(), &outcomes);
        assert_eq!(left.instances, [a, b]);
        assert_eq!(left.tenants, [claimants[0].tenant, claimants[3].tenant]);
        assert_eq!(left.nodes, ["node-1", ""]);
    }

    #[test]
    fn a_search_starts_anywhere_in_the_ring() {
        let starts: Vec<i32> = (0..64).map(|_| random_start()).collect();
        assert!(starts.iter().all(|start| *start >= 0));
        assert!(
            starts.iter().any(|start| *start < i32::MAX / 2)
                && starts.iter().any(|start| *start > i32::MAX / 2)
        );
    }
}
