//! Why a job waits: the first rule that blocks it, and what would unblock it.

use std::collections::BTreeSet;

use super::{
    Millis,
    account::Rank,
    model::{GroupId, Hold, Job, JobId, Level, NodeId, SpecId, State, TenantId, Worker},
    pool::Pool,
    queue::{Need, Place, Turn},
};

/// The first rule that blocks a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waiting {
    /// No job of the tenant may run.
    Held(Hold),
    /// A retry or a start at a time. Nothing else unblocks it.
    NotBefore { at: Millis },
    /// The tenant holds as many units as it may. One of its own jobs has to end.
    Quota { held: u32, limit: u32 },
    /// The pool has too few workers of the accepted specifications. Other specifications or more units
    /// unblock it.
    NoUnit { specs: Vec<SpecId>, units: u32 },
    /// The group's node has no idle worker; `until` is the p90 end of the first job there. `prefer` unblocks
    /// it.
    GroupNode { node: NodeId, until: Option<Millis> },
    /// Jobs of other strict groups run on all nodes; `until` is when the first node is left, by the p90 ends of the jobs there.
    /// None while those groups have more jobs, whose turn comes first.
    GroupsHoldAllNodes { groups: Vec<GroupId>, until: Option<Millis> },
    /// Idle workers are kept for another job until a time. A job that ends before may use them.
    Reserved { job: JobId, until: Millis },
    /// The job is a gang, and workers are being kept for it.
    Gathering { at: Millis, workers: u32 },
    /// The tenant's urgent allowance is used up, so the job ranks as ordinary.
    UrgentSpent { held: u32, allowance: u32 },
    /// Jobs of the same tenant go first. A higher priority unblocks it.
    BehindOwn { jobs: usize },
    /// Other tenants have used less for their weight, and go first. A higher level unblocks it.
    BehindShare { ahead: Vec<TenantId>, held: u32, weight: u32 },
    /// Workers serve their loaded model until a time.
    Quantum { until: Millis },
    /// All workers that fit are busy; `until` is the p90 end of the first of their jobs.
    Busy { until: Option<Millis> },
}

/// Why a job waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    pub waiting: Waiting,
    /// Jobs of the same tenant that go before it.
    pub ahead_of_own: usize,
    /// How long it has been waiting since it was last queued.
    pub waited: Millis,
}

/// Tenants that an explanation names.
const NAMED: usize = 5;

impl Pool {
    /// Why a job waits; `None` if it does not.
    #[must_use]
    pub fn explain(&self, id: JobId, now: Millis) -> Option<Explanation> {
        let entry = self.jobs.get(&id)?;
        let job = &entry.job;
        match entry.state {
            State::Running(_) => None,
            State::Delayed | State::Queued { .. } if self.is_held(job.shape.tenant) => {
                let waited = match entry.state {
                    State::Queued { since } => now.saturating_sub(since),
                    _ => 0,
                };
                let waiting = Waiting::Held(self.hold_of(job.shape.tenant)?);
                Some(Explanation { waiting, ahead_of_own: 0, waited })
            }
            State::Delayed => Some(Explanation {
                waiting: Waiting::NotBefore { at: job.not_before },
                ahead_of_own: 0,
                waited: 0,
            }),
            State::Queued { since } => {
                let ahead_of_own = self.ahead_of_own(job);
                let waiting = self.first_rule(job, ahead_of_own, now);
                let waited = now.saturating_sub(since);
                Some(Explanation { waiting, ahead_of_own, waited })
            }
        }
    }

    fn ahead_of_own(&self, job: &Job) -> usize {
        let turn = Turn::of(job);
        let shapes = self.queues.shapes_of(job.shape.tenant);
        shapes
            .filter(|(shape, _)| shape.specs.iter().any(|spec| job.shape.specs.contains(spec)))
            .map(|(shape, jobs)| match shape.level.cmp(&job.shape.level) {
                std::cmp::Ordering::Less => jobs.len(),
                std::cmp::Ordering::Equal => jobs.range(..turn).count(),
                std::cmp::Ordering::Greater => 0,
            })
            .sum()
    }

    fn first_rule(&self, job: &Job, ahead_of_own: usize, now: Millis) -> Waiting {
        let shape = &job.shape;
        let need = Need::of(shape, self.place(shape));
        self.by_tenant(job)
            .or_else(|| self.by_capacity(job, need))
            .or_else(|| self.by_group(job, need))
            .or_else(|| self.by_reservation(job, need))
            .or_else(|| self.by_allowance(job))
            .or_else(|| (ahead_of_own > 0).then_some(Waiting::BehindOwn { jobs: ahead_of_own }))
            .or_else(|| self.by_share(job))
            .or_else(|| self.by_quantum(job, now))
            .unwrap_or_else(|| Waiting::Busy { until: self.first_end(job, need) })
    }

    fn by_tenant(&self, job: &Job) -> Option<Waiting> {
        let account = self.accounts.get(&job.shape.tenant)?;
        let limit = account.share().limit;
        let over = account.held.saturating_add(job.shape.gang) > limit;
        over.then_some(Waiting::Quota { held: account.held, limit })
    }

    fn by_capacity(&self, job: &Job, need: Need) -> Option<Waiting> {
        let most = |spec: &SpecId| {
            let fits = self.workers.values().filter(|worker| {
                let firm = !need.firm_only || worker.tenure == super::Tenure::Firm;
                worker.spec == *spec && worker.state == super::WorkerState::Ready && firm
            });
            if !need.same_node {
                return fits.count();
            }
            let mut nodes = std::collections::BTreeMap::new();
            fits.for_each(|worker| *nodes.entry(worker.node).or_insert(0usize) += 1);
            nodes.into_values().max().unwrap_or_default()
        };
        let specs = &job.shape.specs;
        let enough = specs.iter().any(|spec| most(spec) >= need.gang as usize);
        (!enough).then(|| Waiting::NoUnit { specs: specs.clone(), units: need.gang })
    }

    fn by_group(&self, job: &Job, need: Need) -> Option<Waiting> {
        match need.place {
            Place::Any => None,
            Place::Node(node) => {
                let idle = job.shape.specs.iter().any(|spec| self.has_room(*spec, need));
                (!idle).then(|| Waiting::GroupNode { node, until: self.first_end(job, need) })
            }
            Place::Unheld => {
                let of_job = |worker: &&Worker| job.shape.specs.contains(&worker.spec);
                let nodes: BTreeSet<NodeId> =
                    self.workers.values().filter(of_job).map(|worker| worker.node).collect();
                nodes.is_subset(&self.taken).then(|| Waiting::GroupsHoldAllNodes {
                    groups: nodes
                        .iter()
                        .filter_map(|node| self.held.get(node))
                        .take(NAMED)
                        .copied()
                        .collect(),
                    until: nodes.iter().filter_map(|node| self.left_at(*node)).min(),
                })
            }
        }
    }

    fn by_reservation(&self, job: &Job, need: Need) -> Option<Waiting> {
        if let Some(own) = self.reservations.get(&job.id) {
            return Some(Waiting::Gathering { at: own.at, workers: need.gang });
        }
        let idle = job.shape.specs.iter().filter(|spec| self.has_room(**spec, need));
        let workers =
            idle.filter_map(|spec| self.fleet.specs.get(spec)).flat_map(|fleet| fleet.idle_on.values());
        let kept = workers.flatten().find_map(|worker| self.reserved.get(worker))?;
        let until = self.reservations.get(kept)?.at;
        Some(Waiting::Reserved { job: *kept, until })
    }

    fn by_allowance(&self, job: &Job) -> Option<Waiting> {
        let account = self.accounts.get(&job.shape.tenant)?;
        let allowance = account.share().urgent;
        let spent = job.shape.level == Level::Urgent && account.urgent + job.shape.gang > allowance;
        spent.then_some(Waiting::UrgentSpent { held: account.urgent, allowance })
    }

    /// Tenants that are before this one in the order, if any has a job that could use the same workers.
    fn by_share(&self, job: &Job) -> Option<Waiting> {
        let account = self.accounts.get(&job.shape.tenant)?;
        let own = (account.rank(), job.shape.tenant);
        let levels = [Level::Urgent, Level::Ordinary, Level::Background];
        let competes = |id: &TenantId| {
            job.shape.specs.iter().any(|spec| {
                levels.into_iter().filter(|level| *level <= job.shape.level).any(|level| {
                    self.queues.unbound(*spec, None, level).any(|(_, queue)| queue.contains_key(id))
                })
            })
        };
        let ahead = self.order.range(..own).map(|(_, id)| *id).filter(competes);
        let ahead: Vec<TenantId> = ahead.take(NAMED).collect();
        let counts = !ahead.is_empty() && matches!(own.0, Rank::Borrowing(_));
        let (held, weight) = (account.held, account.share().weight);
        counts.then_some(Waiting::BehindShare { ahead, held, weight })
    }

    /// The first end of a quantum in which workers serve another model.
    fn by_quantum(&self, job: &Job, now: Millis) -> Option<Waiting> {
        let others = self.workers.values().filter(|worker| {
            job.shape.specs.contains(&worker.spec)
                && worker.model.is_some_and(|model| {
                    Some(model) != job.shape.model && self.queues.wants(worker.spec, model)
                })
        });
        let first = others.map(|worker| worker.quantum_end).min()?;
        (first > now).then_some(Waiting::Quantum { until: first })
    }

    fn first_end(&self, job: &Job, need: Need) -> Option<Millis> {
        let workers = self.workers.values().filter(|worker| {
            worker.current.is_some() && job.shape.specs.contains(&worker.spec) && self.suits(need, worker)
        });
        workers.map(|worker| worker.busy_until).min()
    }
}
