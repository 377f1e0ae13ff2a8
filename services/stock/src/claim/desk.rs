//! Where claims and releases are carried out, batch by batch.

use std::{collections::HashMap, sync::Arc};

use db::Db;
use ids::{DatacenterId, GpuSpecId, InstanceId, TenantId, UnitId};

use super::{
    batch::{Batcher, Work},
    model::{Exhausted, Outcome},
    store::{self, Asks, Claimed, Release},
};
use crate::telemetry::Counters;

/// Batches of one specification under way at a time: while one commits, the next is filled and begun.
const ABREAST: usize = 2;
/// A batch that ran into another one's claim of the same instance, or into a deadlock, is tried again.
const TRIES: usize = 5;

/// One claim in a batch.
pub(crate) struct Ask {
    pub(crate) instance: InstanceId,
    pub(crate) tenant: TenantId,
    pub(crate) node: Option<String>,
}

/// Carries out claims and releases.
pub(crate) struct Desk {
    claims: Batcher<Claims>,
    releases: Batcher<Releases>,
}

impl Desk {
    pub(crate) fn new(db: Db, counters: Counters) -> Self {
        Self {
            claims: Batcher::new(Claims { db: db.clone(), counters }, store::MOST, ABREAST),
            releases: Batcher::new(Releases { db }, store::MOST, ABREAST),
        }
    }

    /// Claims a unit, or gives the one that the instance holds.
    pub(crate) async fn claim(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        ask: Ask,
    ) -> Option<Outcome> {
        self.claims.submit((spec, datacenter), ask).await
    }

    /// Gives back what the instance holds, if anything.
    pub(crate) async fn release(&self, release: Release) -> Option<Result<(), Arc<sqlx::Error>>> {
        self.releases.submit((), release).await
    }
}

struct Claims {
    db: Db,
    counters: Counters,
}

impl Work for Claims {
    type Key = (GpuSpecId, Option<DatacenterId>);
    type Item = Ask;
    type Answer = Outcome;

    async fn run(&self, key: &Self::Key, asks: Vec<Ask>) -> Vec<Outcome> {
        self.counters.batch(asks.len());
        let mut answers = HashMap::with_capacity(asks.len());
        let end = match self.claim_all(key.0, key.1, &asks, &mut answers).await {
            Ok(end) => end,
            Err(error) => Some(Outcome::Failed(Arc::new(error))),
        };
        asks.iter()
            .map(|ask| {
                let outcome = answers.get(&ask.instance).or(end.as_ref()).cloned();
                let outcome = outcome.unwrap_or_else(|| Outcome::Failed(Arc::new(sqlx::Error::RowNotFound)));
                match &outcome {
                    Outcome::Claimed { fresh: true, .. } => self.counters.claimed(),
                    Outcome::Claimed { .. } => self.counters.existing(),
                    Outcome::Exhausted(_) => self.counters.exhausted(),
                    Outcome::NoSpec | Outcome::NoDatacenter | Outcome::Failed(_) => {}
                }
                outcome
            })
            .collect()
    }
}

type Answers = HashMap<InstanceId, Outcome>;

impl Claims {
    /// Fills `answers`; gives the answer for all that are not in it.
    async fn claim_all(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        asks: &[Ask],
        answers: &mut Answers,
    ) -> sqlx::Result<Option<Outcome>> {
        let near = open(asks.iter().filter(|ask| ask.node.is_some()), answers);
        if !near.instances.is_empty() {
            absorb(self.transact(spec, datacenter, &near, &Step::OnNodes).await?, answers);
        }
        let (mut tried, mut patient, mut place) = (Vec::new(), false, datacenter);
        loop {
            let left = open(asks.iter(), answers);
            if left.instances.is_empty() {
                return Ok(None);
            }
            let step = Step::Anywhere { tried: &tried, patient };
            let claimed = self.transact(spec, place, &left, &step).await?;
            let at = claimed.place;
            absorb(claimed, answers);
            match at {
                // nothing (more) to be had there even when waited for: on to the next datacenter
                Some(at) if patient => {
                    tried.push(at);
                    (patient, place) = (false, datacenter);
                }
                Some(at) => (patient, place) = (true, Some(at)),
                None if patient => (patient, place) = (false, datacenter),
                None => return self.refuse(spec, datacenter, &open(asks.iter(), answers)).await.map(Some),
            }
        }
    }

    async fn refuse(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        asks: &Asks,
    ) -> sqlx::Result<Outcome> {
        let mut tx = self.db.worker().await?;
        let (has_spec, has_datacenter, draining) = store::grounds(&mut tx, spec, datacenter).await?;
        if !has_spec {
            return Ok(Outcome::NoSpec);
        }
        if !has_datacenter {
            return Ok(Outcome::NoDatacenter);
        }
        let waiting = store::wait(&mut tx, spec, datacenter, asks).await?;
        let alternatives = store::alternatives(&mut tx, spec, datacenter).await?;
        tx.commit().await?;
        Ok(Outcome::Exhausted(Arc::new(Exhausted { alternatives, waiting, draining })))
    }

    /// One statement in a transaction of its own, again if it ran into another.
    async fn transact(
        &self,
        spec: GpuSpecId,
        datacenter: Option<DatacenterId>,
        asks: &Asks,
        step: &Step<'_>,
    ) -> sqlx::Result<Claimed> {
        let mut tries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            let result = match step {
                Step::OnNodes => store::claim_on_nodes(&mut tx, spec, datacenter, asks).await,
                Step::Anywhere { tried, patient } => {
                    let start = if *patient { None } else { Some(random_start()) };
                    store::claim(&mut tx, spec, datacenter, asks, tried, start).await
                }
            };
            match result {
                Ok(claimed) => {
                    tx.commit().await?;
                    return Ok(claimed);
                }
                Err(error) if tries < TRIES && is_collision(&error) => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// Where a statement looks for units.
enum Step<'a> {
    /// On the nodes that are preferred.
    OnNodes,
    /// In the datacenter that has most, but for those `tried`; `patient` as [`store::claim`] has it.
    Anywhere { tried: &'a [DatacenterId], patient: bool },
}

/// The requests without an answer yet, each instance once.
fn open<'a>(asks: impl Iterator<Item = &'a Ask>, answers: &Answers) -> Asks {
    let mut open = Asks::default();
    for ask in asks {
        if answers.contains_key(&ask.instance) || open.instances.contains(&ask.instance) {
            continue;
        }
        open.instances.push(ask.instance);
        open.tenants.push(ask.tenant);
        open.nodes.push(ask.node.clone().unwrap_or_default());
    }
    open
}

fn absorb(claimed: Claimed, answers: &mut Answers) {
    for (claim, fresh) in claimed.claims {
        answers.insert(claim.instance_id, Outcome::Claimed { claim: Box::new(claim), fresh });
    }
}

/// Unique violation (the same instance claims elsewhere), serialization failure, deadlock.
fn is_collision(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|cause| cause.code())
        .is_some_and(|code| matches!(code.as_ref(), "23505" | "40001" | "40P01"))
}

/// Where in the ring of free units to begin. The random bits of a new id are as good as any.
fn random_start() -> i32 {
    let bits = UnitId::new().uuid().as_u128() & 0x7fff_ffff;
    i32::try_from(bits).unwrap_or(0)
}

struct Releases {
    db: Db,
}

impl Work for Releases {
    type Key = ();
    type Item = Release;
    type Answer = Result<(), Arc<sqlx::Error>>;

    async fn run(&self, (): &(), releases: Vec<Release>) -> Vec<Self::Answer> {
        let result = self.release(&releases).await.map_err(Arc::new);
        releases.iter().map(|_| result.clone()).collect()
    }
}

impl Releases {
    async fn release(&self, releases: &[Release]) -> sqlx::Result<()> {
        let mut tries = 0;
        loop {
            let mut tx = self.db.worker().await?;
            match store::release(&mut tx, releases).await {
                Ok(()) => return tx.commit().await,
                Err(error) if tries < TRIES && is_collision(&error) => tries += 1,
                Err(error) => return Err(error),
            }
        }
    }
}
