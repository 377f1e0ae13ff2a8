//! Preemption: for guarantees and for urgent jobs, never in a circle.
//!
//! A tenant within its guarantee is never a victim; a level preempts only its own or a lower one; and where
//! shares decide, the preempting tenant with the new job stays below the victim's tenant without the lost
//! one. So no two tenants preempt each other in turn. A job is preempted at most three times.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use super::{
    Millis,
    account::{Account, Rank},
    decision::{Cause, Decision},
    model::{Attempt, JobId, Level, NodeId, Shape, SpecId, State, TenantId, WorkerId, WorkerState},
    order::{OWED_AFTER, Pass},
    pool::Pool,
    queue::{Need, Queue, QueueKey},
};

/// An urgent job waits for this time before others are preempted for it.
const URGENT_AFTER: Millis = 2_000;
/// A job that was preempted is safe for this time after its next start.
const SAFE: Millis = 60_000;
/// Number of preemptions after which a job is not preempted again.
const MOST: u8 = 3;
/// Jobs for which others are preempted in a round, for each specification and cause.
const TAKERS: usize = 4;
/// Jobs of a shape that are considered: those that have nominations, and the next ones.
const MOST_OF_A_SHAPE: usize = 64;

/// A running job that may have to leave.
#[derive(Debug, Clone)]
struct Victim {
    job: JobId,
    tenant: TenantId,
    level: Level,
    units: u32,
    /// Work that would be lost, weighted by price.
    loss: u64,
}

impl Pool {
    pub(super) fn preempt(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        self.preempt_overruns(now, decisions);
        let mut victims = BTreeMap::new();
        for (job, cause) in self.takers(now) {
            if let Some((chosen, workers)) = self.cheapest(job, cause, &mut victims, now) {
                for victim in chosen {
                    self.tell_to_leave(&victim, job, cause, decisions);
                }
                for worker in workers {
                    self.change_worker(worker, |worker| worker.nominated = Some(job));
                }
            }
        }
    }

    /// Whether time alone may lead to a preemption.
    pub(super) fn may_preempt_soon(&self) -> bool {
        let owed = self.order.first().is_some_and(|(rank, _)| matches!(rank, Rank::Owed(_)));
        owed || self
            .fleet
            .specs
            .keys()
            .any(|spec| self.queues.unbound(*spec, None, Level::Urgent).next().is_some())
    }

    /// The jobs for which others may be preempted.
    fn takers(&self, now: Millis) -> Vec<(JobId, Cause)> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for (pass, cause, after) in
            [(Pass::Owed, Cause::Guarantee, OWED_AFTER), (Pass::Urgent, Cause::Urgent, URGENT_AFTER)]
        {
            for spec in self.fleet.specs.keys() {
                let most = found.len() + TAKERS;
                let mut consider = |queues: &[(&QueueKey, &Queue)]| {
                    self.visit_tenants(queues, |rank, id, account| {
                        let in_order = pass != Pass::Owed || matches!(rank, Rank::Owed(_));
                        if found.len() >= most || !in_order {
                            return ControlFlow::Break(());
                        }
                        for job in self.waiting_of(pass, queues, id, account) {
                            let waited = self.waited(job, now).is_some_and(|waited| waited >= after);
                            let is_new = !self.fleet.nominated.contains_key(&job);
                            if found.len() < most && waited && is_new && seen.insert(job) {
                                found.push((job, cause));
                            }
                        }
                        ControlFlow::Continue(())
                    });
                };
                for level in pass.levels() {
                    consider(&self.queues.unbound(*spec, None, *level).collect::<Vec<_>>());
                    // the queue of a node contains the jobs of one group
                    self.queues.bound(*spec, None, *level, None).for_each(|queue| consider(&[queue]));
                }
            }
        }
        found
    }

    /// The first jobs of a tenant in queues, of each shape.
    fn waiting_of<'a>(
        &'a self,
        pass: Pass,
        queues: &'a [(&'a QueueKey, &'a Queue)],
        tenant: TenantId,
        account: &'a Account,
    ) -> impl Iterator<Item = JobId> + 'a {
        let admitted = queues.iter().filter(move |(key, _)| Self::admits(pass, key, account));
        let heads = admitted.filter_map(move |(_, queue)| queue.get(&tenant)).flatten();
        let shapes = heads.filter_map(|turn| self.shape_of(turn.job));
        shapes.flat_map(|shape| self.queues.jobs(shape).take(MOST_OF_A_SHAPE)).map(|turn| turn.job)
    }

    /// The victims with the least loss whose workers, together with idle ones, are enough for a job; and
    /// these workers.
    fn cheapest(
        &self,
        job: JobId,
        cause: Cause,
        running: &mut BTreeMap<SpecId, Vec<Victim>>,
        now: Millis,
    ) -> Option<(Vec<Victim>, Vec<WorkerId>)> {
        let shape = self.shape_of(job)?;
        let need = Need::of(shape, self.place(shape));
        let mut best: Option<(u64, Vec<Victim>, Vec<WorkerId>)> = None;
        for spec in &shape.specs {
            let Some(fleet) = self.fleet.specs.get(spec) else { continue };
            let usable = |id: &WorkerId| {
                self.workers.get(id).is_some_and(|worker| {
                    worker.state == WorkerState::Ready
                        && worker.nominated.is_none()
                        && self.reserved.get(id).is_none_or(|reserved| *reserved == job)
                        && self.suits(need, worker)
                })
            };
            let idle: Vec<WorkerId> = fleet.idle_on.values().flatten().copied().filter(usable).collect();
            let victims: Vec<&Victim> = running
                .entry(*spec)
                .or_insert_with(|| self.victims(*spec, now))
                .iter()
                .filter(|victim| victim.level >= shape.level && self.may_take(shape, cause, victim, 0))
                .filter(|victim| self.attempt(victim.job).is_some_and(|attempt| !attempt.leaving))
                .collect();
            let nodes: Vec<Option<NodeId>> = if need.same_node {
                self.fleet.nodes.keys().copied().map(Some).collect()
            } else {
                vec![None]
            };
            for node in nodes {
                let here =
                    |id: &WorkerId| node.is_none() || self.workers.get(id).map(|worker| worker.node) == node;
                let mut workers: Vec<WorkerId> = idle.iter().copied().filter(here).collect();
                let mut chosen = Vec::new();
                let mut givers: BTreeMap<TenantId, u32> = BTreeMap::new();
                let mut loss = 0;
                for victim in victims.iter().copied() {
                    if workers.len() >= need.gang as usize {
                        break;
                    }
                    let given = givers.entry(victim.tenant).or_default();
                    let workers_of =
                        self.attempt(victim.job).into_iter().flat_map(|attempt| &attempt.workers);
                    let useful: Vec<WorkerId> =
                        workers_of.copied().filter(|id| here(id) && usable(id)).collect();
                    if useful.is_empty() || !self.may_take(shape, cause, victim, *given) {
                        continue;
                    }
                    *given += victim.units;
                    loss += victim.loss;
                    workers.extend(useful);
                    chosen.push(victim.clone());
                }
                let enough = workers.len() >= need.gang as usize && !chosen.is_empty();
                if enough && best.as_ref().is_none_or(|best| loss < best.0) {
                    // workers of victims come last and must be among those that are kept
                    let surplus = workers.len() - need.gang as usize;
                    best = Some((loss, chosen, workers.split_off(surplus)));
                }
            }
        }
        best.map(|(_, victims, workers)| (victims, workers))
    }

    /// Running jobs of a specification that may have to leave, the lowest level with the least loss first.
    fn victims(&self, spec: SpecId, now: Millis) -> Vec<Victim> {
        let Some(fleet) = self.fleet.specs.get(&spec) else { return Vec::new() };
        let jobs: BTreeSet<JobId> = fleet
            .busy
            .iter()
            .filter_map(|(_, worker)| self.workers.get(worker).and_then(|worker| worker.current))
            .collect();
        let mut victims: Vec<Victim> = jobs.into_iter().filter_map(|job| self.victim(job, now)).collect();
        victims.sort_by_key(|victim| (std::cmp::Reverse(victim.level), victim.loss, victim.job));
        victims
    }

    fn attempt(&self, id: JobId) -> Option<&Attempt> {
        match &self.jobs.get(&id)?.state {
            State::Running(attempt) => Some(attempt),
            _ => None,
        }
    }

    fn victim(&self, id: JobId, now: Millis) -> Option<Victim> {
        let entry = self.jobs.get(&id)?;
        let State::Running(attempt) = &entry.state else { return None };
        let (job, shape) = (&entry.job, &entry.job.shape);
        let safe = job.preemptions > 0 && now < attempt.started + SAFE;
        if attempt.leaving || safe || job.preemptions >= MOST {
            return None;
        }
        let kept = if shape.checkpoints { attempt.checkpoint } else { attempt.started };
        let units = attempt.workers.len() as u32;
        let loss = now.saturating_sub(kept) * u64::from(units) * u64::from(self.price(attempt.spec));
        Some(Victim { job: id, tenant: shape.tenant, level: shape.level, units, loss })
    }

    /// Whether a job may preempt another, if this number of units was already taken from the other's tenant.
    fn may_take(&self, taker: &Shape, cause: Cause, victim: &Victim, given: u32) -> bool {
        let (Some(to), Some(from)) = (self.accounts.get(&taker.tenant), self.accounts.get(&victim.tenant))
        else {
            return false;
        };
        let own = taker.tenant == victim.tenant;
        if own && (cause != Cause::Urgent || victim.level != Level::Background) {
            return false;
        }
        let left = from.staying().saturating_sub(given).saturating_sub(victim.units);
        if !own && left < from.share().guarantee {
            return false;
        }
        // with what others are leaving for it
        let coming = self.coming(taker.tenant).saturating_add(taker.gang);
        if !to.has_limit_for(coming) {
            return false;
        }
        let held = to.held.saturating_add(coming);
        match cause {
            Cause::Guarantee => held <= to.share().guarantee,
            Cause::Urgent if to.urgent.saturating_add(coming) > to.share().urgent => false,
            Cause::Urgent if victim.level == Level::Background => true,
            Cause::Urgent => {
                let weighted =
                    |units: u32, other: &Account| u64::from(units) * u64::from(other.share().weight);
                weighted(held, from) * 11 <= weighted(left, to) * 10
            }
            Cause::Overrun => false,
        }
    }

    /// Units that jobs of a tenant will get from preemptions in progress.
    fn coming(&self, tenant: TenantId) -> u32 {
        let nominated = self.fleet.nominated.iter();
        let own =
            nominated.filter(|(job, _)| self.shape_of(**job).is_some_and(|shape| shape.tenant == tenant));
        own.map(|(_, workers)| workers.len() as u32).sum()
    }

    fn tell_to_leave(&mut self, victim: &Victim, taker: JobId, cause: Cause, decisions: &mut Vec<Decision>) {
        self.change_account(victim.tenant, |account| account.leaving += victim.units);
        if let Ok(attempt) = self.attempt_mut(victim.job) {
            attempt.leaving = true;
            decisions.push(Decision::Preempt { job: victim.job, taker, cause });
        }
    }

    /// Preempts jobs of a lower level that run longer than their p90 on workers reserved for a gang.
    fn preempt_overruns(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        let overdue: Vec<(JobId, JobId)> = self
            .reserved
            .iter()
            .filter_map(|(worker, taker)| {
                let worker = self.workers.get(worker).filter(|worker| worker.busy_until < now)?;
                Some((worker.current?, *taker))
            })
            .collect();
        for (job, taker) in overdue {
            let level = self.shape_of(taker).map(|shape| shape.level);
            if let Some(victim) = self.victim(job, now)
                && level.is_some_and(|level| level < victim.level)
                && self
                    .accounts
                    .get(&victim.tenant)
                    .is_some_and(|from| from.staying().saturating_sub(victim.units) >= from.share().guarantee)
            {
                self.tell_to_leave(&victim, taker, Cause::Overrun, decisions);
            }
        }
    }
}

impl Account {
    /// Units of jobs that were not told to leave.
    fn staying(&self) -> u32 {
        self.held - self.leaving
    }
}
