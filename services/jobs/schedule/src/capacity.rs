//! The capacity of the pool: the resource list.

use std::{collections::BTreeMap, ops::AddAssign};

use super::{
    model::{Entry, Level, NodeId, SpecId, State, Tenure, WorkerState},
    pool::Pool,
};

/// Units of one specification.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpecCapacity {
    pub firm: u32,
    pub lent: u32,
    /// Without a job, and ready for one.
    pub idle: u32,
    pub busy: u32,
    /// Kept for a gang, or for a job for which others were preempted.
    pub reserved: u32,
    /// No new jobs: cordoned or recalled.
    pub closed: u32,
}

impl AddAssign for SpecCapacity {
    fn add_assign(&mut self, other: Self) {
        self.firm += other.firm;
        self.lent += other.lent;
        self.idle += other.idle;
        self.busy += other.busy;
        self.reserved += other.reserved;
        self.closed += other.closed;
    }
}

/// The units of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeCapacity {
    /// The part of its units that is free, weighted by price, in thousandths.
    pub free_degree: u64,
    pub specs: BTreeMap<SpecId, SpecCapacity>,
}

impl Pool {
    /// The resource list by node.
    #[must_use]
    pub fn capacity(&self) -> BTreeMap<NodeId, NodeCapacity> {
        let mut nodes: BTreeMap<NodeId, NodeCapacity> = BTreeMap::new();
        for worker in self.workers.values() {
            let node = nodes.entry(worker.node).or_default();
            node.free_degree = self.fleet.nodes.get(&worker.node).map_or(0, |node| node.free_degree());
            let spec = node.specs.entry(worker.spec).or_default();
            match worker.tenure {
                Tenure::Firm => spec.firm += 1,
                Tenure::Lent => spec.lent += 1,
            }
            let kept = worker.nominated.is_some() || self.reserved.contains_key(&worker.id);
            match (worker.current, worker.state) {
                (Some(_), _) => spec.busy += 1,
                (None, WorkerState::Ready) if kept => spec.reserved += 1,
                (None, WorkerState::Ready) => spec.idle += 1,
                (None, _) => spec.closed += 1,
            }
        }
        nodes
    }

    /// Jobs that wait for a worker, by level; without those of held tenants.
    #[must_use]
    pub fn queued(&self) -> BTreeMap<Level, u32> {
        let mut queued = BTreeMap::new();
        let waits = |entry: &&Entry| {
            matches!(entry.state, State::Queued { .. }) && !self.is_held(entry.job.shape.tenant)
        };
        for entry in self.jobs.values().filter(waits) {
            *queued.entry(entry.job.shape.level).or_default() += 1;
        }
        queued
    }
}
