//! Which job is next: level, then tenant, then the tenant's own order.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use super::{
    Millis,
    account::{Account, Rank, scale},
    model::{GroupMode, JobId, Level, ModelId, Shape, SpecId, State, TenantId},
    pool::Pool,
    queue::{Queue, QueueKey, Turn},
};

/// A tenant below its guarantee goes before all levels when its job has waited for this time.
pub(super) const OWED_AFTER: Millis = 30_000;
/// Tenants and jobs that are compared when a worker has to load another model.
const COMPARED_TENANTS: usize = 32;
const COMPARED_JOBS: usize = 128;
/// One in this number of switches takes the oldest job, so that no model waits for ever.
const OLDEST_EVERY: u64 = 8;

/// Urgent jobs that start in a row on a specification while an ordinary job of another tenant waits. So those of one tenant, without
/// end, do not keep the workers of a small pool from the others.
const URGENT_IN_A_ROW: u8 = 4;

/// The classes of jobs, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pass {
    /// Within a guarantee, not background, and waiting for 30 s.
    Owed,
    /// Urgent within the allowance.
    Urgent,
    /// Ordinary, and urgent above the allowance.
    Ordinary,
    Background,
}

impl Pass {
    pub(super) const ALL: [Self; 4] = [Self::Owed, Self::Urgent, Self::Ordinary, Self::Background];

    pub(super) fn levels(self) -> &'static [Level] {
        match self {
            Self::Owed | Self::Ordinary => &[Level::Urgent, Level::Ordinary],
            Self::Urgent => &[Level::Urgent],
            Self::Background => &[Level::Background],
        }
    }
}

/// The next job, and the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Next {
    pub(super) turn: Turn,
    /// A worker must load its model, and the choice was made by age instead of by turn.
    pub(super) switches: bool,
}

/// A queue with its key.
type Keyed<'a> = (&'a QueueKey, &'a Queue);

impl Pool {
    /// The queues of a pass with jobs for which there are enough idle workers.
    pub(super) fn with_room(&self, spec: SpecId, model: Option<ModelId>, pass: Pass) -> Vec<Keyed<'_>> {
        let mut found = Vec::new();
        for level in pass.levels() {
            found.extend(self.queues.unbound(spec, model, *level));
            let Some(fleet) = self.fleet.specs.get(&spec) else { continue };
            if fleet.idle_on.len() <= self.held.len() {
                for node in fleet.idle_on.keys().filter(|node| self.held.contains_key(node)) {
                    found.extend(self.queues.bound(spec, model, *level, Some(*node)));
                }
            } else {
                found.extend(self.queues.bound(spec, model, *level, None));
            }
        }
        found.retain(|(key, _)| self.has_room(spec, key.need));
        found
    }

    /// Visits the tenants of queues in their order.
    pub(super) fn visit_tenants(
        &self,
        queues: &[Keyed<'_>],
        mut visit: impl FnMut(Rank, TenantId, &Account) -> ControlFlow<()>,
    ) {
        const FEW: usize = 64;
        let mut walk = |rank: Rank, id: TenantId| match self.accounts.get(&id) {
            Some(account) => visit(rank, id, account),
            None => ControlFlow::Continue(()),
        };
        if queues.iter().map(|(_, queue)| queue.len()).sum::<usize>() <= FEW {
            let tenants = queues.iter().flat_map(|(_, queue)| queue.keys().copied());
            let ranked: BTreeSet<(Rank, TenantId)> = tenants
                .filter_map(|id| self.accounts.get(&id).map(|account| (account.rank(), id)))
                .filter(|key| self.order.contains(key))
                .collect();
            for (rank, id) in ranked {
                if walk(rank, id).is_break() {
                    return;
                }
            }
        } else {
            for (rank, id) in &self.order {
                let waits = queues.iter().any(|(_, queue)| queue.contains_key(id));
                if waits && walk(*rank, *id).is_break() {
                    return;
                }
            }
        }
    }

    /// Whether the rules of a pass admit jobs of a queue for a tenant. A job that is not admitted is not
    /// admitted later in the round.
    pub(super) fn admits(pass: Pass, key: &QueueKey, account: &Account) -> bool {
        let (share, gang) = (account.share(), key.need.gang);
        if !account.has_limit_for(gang) {
            return false;
        }
        let within_allowance = account.urgent.saturating_add(gang) <= share.urgent;
        match pass {
            Pass::Owed => account.held.saturating_add(gang) <= share.guarantee,
            Pass::Urgent => within_allowance,
            Pass::Ordinary => key.level == Level::Ordinary || !within_allowance,
            Pass::Background => true,
        }
    }

    /// Whether a job has waited long enough for a pass.
    fn is_due(&self, pass: Pass, turn: Turn, now: Millis) -> bool {
        pass != Pass::Owed || self.waited(turn.job, now).is_some_and(|waited| waited >= OWED_AFTER)
    }

    /// How long a job has been waiting since it was last queued.
    pub(super) fn waited(&self, job: JobId, now: Millis) -> Option<Millis> {
        match self.jobs.get(&job)?.state {
            State::Queued { since } => Some(now.saturating_sub(since)),
            _ => None,
        }
    }

    /// The first job of a tenant in queues that a pass admits, except jobs to skip.
    pub(super) fn first_of(
        &self,
        pass: Pass,
        queues: &[Keyed<'_>],
        tenant: TenantId,
        account: &Account,
        left_out: &BTreeSet<JobId>,
        now: Millis,
    ) -> Option<Turn> {
        let turns =
            queues.iter().filter(|(key, _)| Self::admits(pass, key, account)).filter_map(|(_, queue)| {
                let next = |turn: &&Turn| !left_out.contains(&turn.job) && self.is_due(pass, **turn, now);
                queue.get(&tenant)?.iter().find(next)
            });
        turns.min().copied()
    }

    /// The next job of a pass for the idle workers of a specification; with a model: the next one of this model.
    pub(super) fn next_in(
        &self,
        pass: Pass,
        spec: SpecId,
        model: Option<ModelId>,
        left_out: &BTreeSet<JobId>,
        now: Millis,
    ) -> Option<Next> {
        let queues = self.with_room(spec, model, pass);
        if queues.is_empty() {
            return None;
        }
        let mut fairest = None;
        self.visit_tenants(&queues, |rank, tenant, account| {
            if pass == Pass::Owed && !matches!(rank, Rank::Owed(_)) {
                return ControlFlow::Break(());
            }
            match self.first_of(pass, &queues, tenant, account, left_out, now) {
                Some(turn) => {
                    fairest = Some((rank, turn));
                    ControlFlow::Break(())
                }
                None => ControlFlow::Continue(()),
            }
        });
        let (rank, turn) = fairest?;
        let by_turn = Next { turn, switches: false };
        let needs_switch = model.is_none()
            && turn.model.is_some_and(|model| {
                self.fleet.specs.get(&spec).is_some_and(|fleet| !fleet.idle_with.contains_key(&model))
            });
        if !needs_switch {
            return Some(by_turn);
        }
        if self.switches % OLDEST_EVERY == OLDEST_EVERY - 1 {
            return Some(Next { switches: true, ..by_turn });
        }
        let turn = self.by_age(pass, &queues, spec, rank, left_out, now).unwrap_or(turn);
        Some(Next { turn, switches: true })
    }

    /// The next job at the turn of a pass: after some urgent jobs in a row, an ordinary job of another
    /// tenant. Also returns its pass.
    pub(super) fn next_in_turn(
        &self,
        pass: Pass,
        spec: SpecId,
        model: Option<ModelId>,
        left_out: &BTreeSet<JobId>,
        now: Millis,
    ) -> Option<(Pass, Next)> {
        let next = self.next_in(pass, spec, model, left_out, now)?;
        let in_a_row = self.urgent_in_a_row.get(&spec).copied().unwrap_or_default();
        if pass == Pass::Urgent
            && in_a_row >= URGENT_IN_A_ROW
            && let Some(other) = self.next_in(Pass::Ordinary, spec, model, left_out, now)
            && self.tenant_of(other.turn.job) != self.tenant_of(next.turn.job)
        {
            return Some((Pass::Ordinary, other));
        }
        Some((pass, next))
    }

    fn tenant_of(&self, job: JobId) -> Option<TenantId> {
        self.shape_of(job).map(|shape| shape.tenant)
    }

    /// Counts the urgent jobs that start in a row.
    pub(super) fn count_in_a_row(&mut self, pass: Pass, spec: SpecId) {
        match pass {
            Pass::Urgent => {
                let count = self.urgent_in_a_row.entry(spec).or_default();
                *count = count.saturating_add(1);
            }
            Pass::Ordinary => drop(self.urgent_in_a_row.remove(&spec)),
            Pass::Owed | Pass::Background => {}
        }
    }

    /// Of the jobs of tenants within one quantum of the fairest, the one whose model has the highest total
    /// age of waiting jobs per worker that serves it.
    fn by_age(
        &self,
        pass: Pass,
        queues: &[Keyed<'_>],
        spec: SpecId,
        fairest: Rank,
        left_out: &BTreeSet<JobId>,
        now: Millis,
    ) -> Option<Turn> {
        let mut best: Option<(u128, std::cmp::Reverse<Turn>)> = None;
        let mut ages = BTreeMap::new();
        let (mut tenants, mut jobs) = (0, 0);
        self.visit_tenants(queues, |rank, tenant, account| {
            tenants += 1;
            let within = self.within_a_quantum(fairest, rank, account, spec, now);
            if !within || tenants > COMPARED_TENANTS || jobs >= COMPARED_JOBS {
                return ControlFlow::Break(());
            }
            let mut first = None;
            for (_, queue) in queues.iter().filter(|(key, _)| Self::admits(pass, key, account)) {
                for turn in queue.get(&tenant).into_iter().flatten() {
                    // a tenant's own priorities come before models
                    let after = *first.get_or_insert(turn.after);
                    if turn.after > after || jobs >= COMPARED_JOBS {
                        break;
                    }
                    let Some(model) = turn.model else { continue };
                    if left_out.contains(&turn.job) || !self.is_due(pass, *turn, now) {
                        continue;
                    }
                    jobs += 1;
                    let age = *ages.entry(model).or_insert_with(|| {
                        self.queues.demand(model).age(now) / u128::from(1 + self.fleet.serving(model))
                    });
                    best = best.max(Some((age, std::cmp::Reverse(*turn))));
                }
            }
            ControlFlow::Continue(())
        });
        best.map(|(_, turn)| turn.0)
    }

    /// Whether a tenant's use is at most one quantum of a unit above that of the fairest.
    pub(super) fn within_a_quantum(
        &self,
        fairest: Rank,
        rank: Rank,
        account: &Account,
        spec: SpecId,
        now: Millis,
    ) -> bool {
        match (fairest, rank) {
            (Rank::Owed(least), Rank::Owed(part)) => part <= least,
            (Rank::Borrowing(least), Rank::Borrowing(use_per_weight)) => {
                let quantum = u128::from(self.settings.quantum) * u128::from(self.price(spec)) * scale(now);
                use_per_weight <= least + quantum / u128::from(account.share().weight.max(1))
            }
            (Rank::Owed(_), Rank::Borrowing(_)) => false,
            (Rank::Borrowing(_), Rank::Owed(_)) => true,
        }
    }

    pub(super) fn shape_of(&self, job: JobId) -> Option<&Shape> {
        self.jobs.get(&job).map(|entry| entry.job.shape.as_ref())
    }

    /// The node on which a group's jobs are tried first.
    pub(super) fn preferred_node(&self, shape: &Shape) -> Option<super::NodeId> {
        match shape.group {
            Some((group, GroupMode::Prefer)) => self.groups.get(&group)?.node,
            _ => None,
        }
    }
}
