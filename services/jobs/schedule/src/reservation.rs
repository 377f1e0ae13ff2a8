//! Reservations keep workers for gangs, so that single jobs do not starve them, and let short jobs use them until then.

use std::{collections::BTreeSet, ops::ControlFlow};

use super::{
    Millis,
    decision::{Decision, Rule},
    model::{JobId, NodeId, Reservation, SpecId, WorkerId, WorkerState},
    order::Pass,
    pool::Pool,
    queue::Need,
};

/// Most reservations at a time, one for a tenant.
const RESERVATIONS: usize = 8;
/// A job that has waited for this time gets a reservation, regardless of its tenant's use.
const OLD: Millis = 2 * 3_600_000;
/// A reservation that moves by less is not reported.
const NOTICEABLE: Millis = 1_000;

impl Pool {
    /// Renews the reservations, starts the gangs whose workers are all idle, and grants new ones.
    pub(super) fn reserve(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        let mut granted: Vec<(Millis, JobId)> =
            self.reservations.iter().map(|(job, reservation)| (reservation.granted, *job)).collect();
        granted.sort_unstable();
        self.reserved.clear();
        for (_, job) in granted {
            self.renew(job, now, decisions);
        }
        while self.reservations.len() < RESERVATIONS
            && let Some(job) = self.next_gang(now)
        {
            let granted =
                Reservation { granted: now, at: Millis::MAX, spec: SpecId(0), workers: Vec::new(), slips: 0 };
            self.reservations.insert(job, granted);
            self.renew(job, now, decisions);
            if !self.reservations.contains_key(&job) {
                break;
            }
        }
    }

    fn renew(&mut self, job: JobId, now: Millis, decisions: &mut Vec<Decision>) {
        let before = self.reservations.remove(&job);
        let Some(before) = before.filter(|_| self.may_reserve(job)) else { return };
        let Some((spec, at, workers)) = self.earliest(job, now) else { return };
        let free = |id: &WorkerId| self.workers.get(id).is_some_and(super::Worker::is_free);
        if workers.iter().all(free) {
            self.start(job, spec, workers, Rule::Reservation, now, decisions);
            return;
        }
        let is_new = before.at == Millis::MAX;
        let slipped = !is_new && at > before.at + NOTICEABLE;
        if is_new || at.abs_diff(before.at) > NOTICEABLE {
            decisions.push(Decision::Reserve { job, spec, workers: workers.clone(), at });
        }
        self.reserved.extend(workers.iter().map(|worker| (*worker, job)));
        let slips = before.slips + u32::from(slipped);
        self.reservations.insert(job, Reservation { granted: before.granted, at, spec, workers, slips });
    }

    /// Whether the limits of its tenant allow a waiting job to start, and others were not preempted for it.
    fn may_reserve(&self, job: JobId) -> bool {
        self.waited(job, 0).is_some() && !self.fleet.nominated.contains_key(&job) && self.is_within_limit(job)
    }

    /// The next gang without enough idle workers: old ones first, then in the order of starts. Its tenant
    /// must be within a quantum of the fairest, so that reservations follow the fair order, too.
    fn next_gang(&self, now: Millis) -> Option<JobId> {
        let tenants: BTreeSet<_> = self
            .reservations
            .keys()
            .filter_map(|job| self.shape_of(*job))
            .map(|shape| shape.tenant)
            .collect();
        let specs: Vec<SpecId> = self.fleet.specs.keys().copied().collect();
        let mut found = None;
        for pass in Pass::ALL {
            for spec in &specs {
                let queues = self.gangs(*spec, pass);
                let others = self.with_room(*spec, None, pass);
                self.visit_tenants(&queues, |rank, id, account| {
                    if tenants.contains(&id) {
                        return ControlFlow::Continue(());
                    }
                    let none = BTreeSet::new();
                    let Some(turn) = self.first_of(pass, &queues, id, account, &none, now) else {
                        return ControlFlow::Continue(());
                    };
                    let old = self.waited(turn.job, now).is_some_and(|waited| waited >= OLD);
                    let mut fairest = rank;
                    self.visit_tenants(&others, |rank, _, _| {
                        fairest = fairest.min(rank);
                        ControlFlow::Break(())
                    });
                    if !old && !self.within_a_quantum(fairest, rank, account, *spec, now) {
                        return ControlFlow::Break(());
                    }
                    let blocked = self.may_reserve(turn.job) && self.find(turn.job, now).is_none();
                    if blocked && self.earliest(turn.job, now).is_some() {
                        found = found.max(Some((old, std::cmp::Reverse((rank, turn)))));
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                });
            }
            if found.is_some() {
                break;
            }
        }
        found.map(|(_, std::cmp::Reverse((_, turn)))| turn.job)
    }

    /// The queues of a pass with gangs.
    fn gangs(&self, spec: SpecId, pass: Pass) -> Vec<(&super::queue::QueueKey, &super::queue::Queue)> {
        let all = pass.levels().iter().flat_map(|level| {
            self.queues.unbound(spec, None, *level).chain(self.queues.bound(spec, None, *level, None))
        });
        all.filter(|(key, _)| key.need.gang > 1).collect()
    }

    /// The workers on which a job can start first, and the time, by the p90 ends of running jobs.
    fn earliest(&self, job: JobId, now: Millis) -> Option<(SpecId, Millis, Vec<WorkerId>)> {
        let shape = self.shape_of(job)?;
        let need = Need::of(shape, self.place(shape));
        let gang = need.gang as usize;
        let mut best: Option<(Millis, usize, SpecId, Vec<WorkerId>)> = None;
        for (preference, spec) in shape.specs.iter().enumerate() {
            let Some(fleet) = self.fleet.specs.get(spec) else { continue };
            let idle = fleet.idle_on.values().flatten().map(|id| (now, *id));
            let busy = fleet.busy.iter().map(|(until, id)| (*until.max(&now), *id));
            let usable = idle.chain(busy).filter(|(_, id)| {
                let is_other = self.reserved.contains_key(id);
                !is_other
                    && self.workers.get(id).is_some_and(|worker| {
                        worker.state == WorkerState::Ready
                            && worker.nominated.is_none()
                            && self.suits(need, worker)
                    })
            });
            let choice = if need.same_node { self.first_node(usable, gang) } else { first(usable, gang) };
            if let Some((at, workers)) = choice {
                let key = (at, preference, *spec, workers);
                if best.as_ref().is_none_or(|best| (key.0, key.1) < (best.0, best.1)) {
                    best = Some(key);
                }
            }
        }
        best.map(|(at, _, spec, workers)| (spec, at, workers))
    }

    /// The node on which enough workers are idle first. The workers are in the order in which they become
    /// idle.
    fn first_node(
        &self,
        workers: impl Iterator<Item = (Millis, WorkerId)>,
        gang: usize,
    ) -> Option<(Millis, Vec<WorkerId>)> {
        let mut nodes: std::collections::BTreeMap<NodeId, Vec<WorkerId>> = std::collections::BTreeMap::new();
        for (at, id) in workers {
            let found = nodes.entry(self.workers.get(&id)?.node).or_default();
            found.push(id);
            if found.len() == gang {
                return Some((at, found.clone()));
            }
        }
        None
    }
}

/// The first workers that become idle.
fn first(workers: impl Iterator<Item = (Millis, WorkerId)>, gang: usize) -> Option<(Millis, Vec<WorkerId>)> {
    let taken: Vec<(Millis, WorkerId)> = workers.take(gang).collect();
    let at = taken.iter().map(|(at, _)| *at).max()?;
    (taken.len() == gang).then(|| (at, taken.into_iter().map(|(_, id)| id).collect()))
}

impl Pool {
    /// Gives up the reservation of a job.
    pub(super) fn clear_reservation(&mut self, job: JobId) {
        if let Some(reservation) = self.reservations.remove(&job) {
            for worker in reservation.workers {
                if self.reserved.get(&worker) == Some(&job) {
                    self.reserved.remove(&worker);
                }
            }
        }
    }
}
