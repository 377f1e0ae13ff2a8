//! Invariants of a pool after each round, checked on its snapshot.

use std::collections::{BTreeMap, BTreeSet};

use atelier_schedule::{
    Attempt, Entry, GroupId, GroupMode, Hold, JobId, Millis, NodeId, Pool, Shape, Snapshot, State, TenantId,
    Tenure, Worker, WorkerId, WorkerState,
};

struct View<'a> {
    snapshot: &'a Snapshot,
    workers: BTreeMap<WorkerId, &'a Worker>,
    running: Vec<(&'a Entry, &'a Attempt)>,
    /// Nodes of strict groups.
    held: BTreeMap<NodeId, GroupId>,
    /// Of these, those on which jobs of the group run.
    taken: BTreeSet<NodeId>,
}

/// Panics with a description of the first violation.
pub(crate) fn check(pool: &Pool, now: Millis) {
    let snapshot = pool.snapshot();
    assert_eq!(Pool::restore(snapshot.clone()), *pool, "the rebuilt pool differs");
    let view = View::new(&snapshot);
    view.no_unit_twice();
    view.limits_hold();
    view.held_tenants_leave();
    view.groups_are_on_their_nodes();
    assert!(snapshot.jobs.iter().all(|entry| entry.job.preemptions <= 3), "a job was preempted too often");
    view.nothing_idle_beside_a_job_that_fits(pool, now);
}

impl<'a> View<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        let running = snapshot.jobs.iter().filter_map(|entry| match &entry.state {
            State::Running(attempt) => Some((entry, attempt)),
            _ => None,
        });
        let strict = snapshot.groups.iter().filter(|(_, group)| group.mode == GroupMode::Strict);
        let nodes: Vec<_> = strict.filter_map(|(id, group)| Some((group.node?, *id))).collect();
        let held: BTreeMap<_, _> = nodes.iter().copied().collect();
        assert_eq!(held.len(), nodes.len(), "two strict groups hold a node");
        let workers: BTreeMap<_, _> = snapshot.workers.iter().map(|worker| (worker.id, worker)).collect();
        let running: Vec<_> = running.collect();
        let strict =
            running.iter().filter(|(entry, _)| matches!(entry.job.shape.group, Some((_, GroupMode::Strict))));
        let on = strict.flat_map(|(_, attempt)| &attempt.workers).map(|id| workers[id].node);
        let taken = on.collect();
        Self { snapshot, workers, running, held, taken }
    }

    fn no_unit_twice(&self) {
        let mut used = BTreeSet::new();
        for (entry, attempt) in &self.running {
            let shape = &entry.job.shape;
            assert!(shape.specs.contains(&attempt.spec), "{:?} has a foreign specification", entry.job.id);
            let mut nodes = BTreeSet::new();
            for id in &attempt.workers {
                assert!(used.insert(*id), "{id:?} has two jobs");
                let worker = self.workers[id];
                assert_eq!(worker.current, Some(entry.job.id), "{id:?}");
                assert_eq!(worker.spec, attempt.spec);
                assert!(!shape.firm_only || worker.tenure == Tenure::Firm, "{id:?} is lent");
                nodes.insert(worker.node);
            }
            assert_eq!(attempt.workers.len(), shape.gang as usize, "{:?} has not all workers", entry.job.id);
            assert!(!shape.same_node || nodes.len() == 1, "{:?} is on {nodes:?}", entry.job.id);
        }
        let busy = self.workers.values().filter(|worker| worker.current.is_some()).count();
        assert_eq!(busy, used.len(), "a worker has a job that does not run");
    }

    fn held_by(&self, tenant: TenantId) -> u32 {
        let own = self.running.iter().filter(|(entry, _)| entry.job.shape.tenant == tenant);
        own.map(|(_, attempt)| attempt.workers.len() as u32).sum()
    }

    fn limits_hold(&self) {
        for tenant in &self.snapshot.tenants {
            let held = self.held_by(tenant.id);
            assert!(held <= tenant.share.limit, "{:?} holds {held}", tenant.id);
        }
    }

    fn held_tenants_leave(&self) {
        for (entry, attempt) in &self.running {
            let hold = self.snapshot.holds.get(&entry.job.shape.tenant);
            let may_run = matches!(hold, None | Some(Hold::AllowanceExpired));
            assert!(may_run || attempt.leaving, "{:?} runs although its tenant is held", entry.job.id);
        }
    }

    fn groups_are_on_their_nodes(&self) {
        for (entry, attempt) in &self.running {
            let Some((group, GroupMode::Strict)) = entry.job.shape.group else { continue };
            for id in &attempt.workers {
                let node = self.workers[id].node;
                assert_eq!(self.held.get(&node), Some(&group), "{:?} runs on {node:?}", entry.job.id);
            }
        }
    }

    /// Tries all queued jobs on all idle workers.
    fn nothing_idle_beside_a_job_that_fits(&self, pool: &Pool, now: Millis) {
        for entry in &self.snapshot.jobs {
            let is_held = self.snapshot.holds.contains_key(&entry.job.shape.tenant);
            if !matches!(entry.state, State::Queued { .. }) || is_held || self.is_at_limit(&entry.job.shape) {
                continue;
            }
            if let Some(workers) = self.room_for(entry, now) {
                panic!("{entry:?} waits beside idle {workers:?}: {:?}", pool.explain(entry.job.id, now));
            }
        }
    }

    fn is_at_limit(&self, shape: &Shape) -> bool {
        let tenant = self.snapshot.tenants.iter().find(|tenant| tenant.id == shape.tenant).unwrap();
        self.held_by(shape.tenant).saturating_add(shape.gang) > tenant.share.limit
    }

    fn room_for(&self, entry: &Entry, now: Millis) -> Option<Vec<WorkerId>> {
        let shape = &entry.job.shape;
        shape.specs.iter().find_map(|spec| {
            let mut nodes: BTreeMap<NodeId, Vec<WorkerId>> = BTreeMap::new();
            for worker in self.workers.values().filter(|worker| worker.spec == *spec) {
                if self.may_use(entry.job.id, shape, worker, now) {
                    nodes.entry(worker.node).or_default().push(worker.id);
                }
            }
            let strict = matches!(shape.group, Some((_, GroupMode::Strict)));
            let gang = shape.gang as usize;
            if shape.same_node || strict {
                return nodes.into_values().find(|idle| idle.len() >= gang);
            }
            let all: Vec<WorkerId> = nodes.into_values().flatten().collect();
            (all.len() >= gang).then_some(all)
        })
    }

    fn may_use(&self, job: JobId, shape: &Shape, worker: &Worker, now: Millis) -> bool {
        let idle =
            worker.state == WorkerState::Ready && worker.current.is_none() && worker.nominated.is_none();
        let node = match shape.group {
            Some((group, GroupMode::Strict)) => {
                let group = self.snapshot.groups.get(&group);
                match group.and_then(|group| group.node) {
                    Some(node) => worker.node == node && !group.is_some_and(|group| group.yields),
                    None => !self.taken.contains(&worker.node),
                }
            }
            _ => true,
        };
        let loading = if worker.model == shape.model { 0 } else { shape.load };
        let end = now + loading + shape.run.p90;
        let kept = self.snapshot.reservations.iter().any(|(other, reservation)| {
            *other != job && reservation.workers.contains(&worker.id) && end > reservation.at
        });
        let firm = !shape.firm_only || worker.tenure == Tenure::Firm;
        idle && node && firm && !kept
    }
}
