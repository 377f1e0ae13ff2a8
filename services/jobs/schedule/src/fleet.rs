//! The workers of a pool, indexed by the properties that jobs can require.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Millis,
    model::{JobId, ModelId, NodeId, SpecId, Tenure, Worker, WorkerId},
    queue::{Need, Place},
};

/// The workers of one specification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SpecFleet {
    pub(super) workers: u32,
    pub(super) lent: u32,
    pub(super) idle: u32,
    idle_firm: u32,
    /// Nodes with idle workers, least free degree first.
    pub(super) nodes: BTreeSet<(u64, NodeId)>,
    pub(super) idle_on: BTreeMap<NodeId, BTreeSet<WorkerId>>,
    pub(super) idle_with: BTreeMap<ModelId, BTreeSet<WorkerId>>,
    /// Workers with a job, by its p90 end.
    pub(super) busy: BTreeSet<(Millis, WorkerId)>,
}

/// The workers of one node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NodeFleet {
    pub(super) workers: BTreeSet<WorkerId>,
    specs: BTreeMap<SpecId, u32>,
    /// Sums of prices.
    total: u64,
    free: u64,
}

impl NodeFleet {
    /// The free degree: the part of the node's units that is free, weighted by price, in thousandths.
    pub(super) fn free_degree(&self) -> u64 {
        self.free * 1_000 / self.total.max(1)
    }
}

/// All workers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fleet {
    pub(super) specs: BTreeMap<SpecId, SpecFleet>,
    pub(super) nodes: BTreeMap<NodeId, NodeFleet>,
    /// Workers that have loaded a model.
    serving: BTreeMap<ModelId, u32>,
    /// Workers by the job that they are nominated for.
    pub(super) nominated: BTreeMap<JobId, BTreeSet<WorkerId>>,
}

impl Fleet {
    pub(super) fn insert(&mut self, worker: &Worker, price: u32) {
        let price = u64::from(price);
        let node = self.nodes.entry(worker.node).or_default();
        node.workers.insert(worker.id);
        *node.specs.entry(worker.spec).or_default() += 1;
        let spec = self.specs.entry(worker.spec).or_default();
        spec.workers += 1;
        spec.lent += u32::from(worker.tenure == Tenure::Lent);
        if worker.current.is_some() {
            spec.busy.insert((worker.busy_until, worker.id));
        }
        if worker.is_free() {
            spec.idle += 1;
            spec.idle_firm += u32::from(worker.tenure == Tenure::Firm);
            spec.idle_on.entry(worker.node).or_default().insert(worker.id);
            if let Some(model) = worker.model {
                spec.idle_with.entry(model).or_default().insert(worker.id);
            }
        }
        if let Some(model) = worker.model {
            *self.serving.entry(model).or_default() += 1;
        }
        if let Some(job) = worker.nominated {
            self.nominated.entry(job).or_default().insert(worker.id);
        }
        let free = if worker.is_free() { price } else { 0 };
        self.rekey(worker.node, |node| {
            node.total += price;
            node.free += free;
        });
    }

    pub(super) fn remove(&mut self, worker: &Worker, price: u32) {
        let price = u64::from(price);
        if let Some(spec) = self.specs.get_mut(&worker.spec) {
            spec.workers -= 1;
            spec.lent -= u32::from(worker.tenure == Tenure::Lent);
            spec.busy.remove(&(worker.busy_until, worker.id));
            if worker.is_free() {
                spec.idle -= 1;
                spec.idle_firm -= u32::from(worker.tenure == Tenure::Firm);
                take(&mut spec.idle_on, &worker.node, &worker.id);
                if let Some(model) = worker.model {
                    take(&mut spec.idle_with, &model, &worker.id);
                }
            }
            if spec.workers == 0 {
                self.specs.remove(&worker.spec);
            }
        }
        if let Some(model) = worker.model
            && let Some(count) = self.serving.get_mut(&model)
        {
            *count -= 1;
            if *count == 0 {
                self.serving.remove(&model);
            }
        }
        if let Some(job) = worker.nominated {
            take(&mut self.nominated, &job, &worker.id);
        }
        let free = if worker.is_free() { price } else { 0 };
        self.rekey(worker.node, |node| {
            node.workers.remove(&worker.id);
            if let Some(count) = node.specs.get_mut(&worker.spec) {
                *count -= 1;
                if *count == 0 {
                    node.specs.remove(&worker.spec);
                }
            }
            node.total -= price;
            node.free -= free;
        });
        if self.nodes.get(&worker.node).is_some_and(|node| node.workers.is_empty()) {
            self.nodes.remove(&worker.node);
        }
    }

    /// Changes a node, and its place among those with idle workers.
    fn rekey(&mut self, id: NodeId, change: impl FnOnce(&mut NodeFleet)) {
        let Some(node) = self.nodes.get_mut(&id) else { return };
        let before = node.free_degree();
        let specs: Vec<SpecId> = node.specs.keys().copied().collect();
        change(node);
        let after = node.free_degree();
        for spec in specs {
            if let Some(spec) = self.specs.get_mut(&spec) {
                spec.nodes.remove(&(before, id));
                if spec.idle_on.contains_key(&id) {
                    spec.nodes.insert((after, id));
                }
            }
        }
    }

    pub(super) fn serving(&self, model: ModelId) -> u32 {
        self.serving.get(&model).copied().unwrap_or_default()
    }

    /// Whether enough workers are idle, regardless of reservations. `taken`: nodes on which jobs of a strict
    /// group run. May return true wrongly only for a gang on one node that needs firm units.
    pub(super) fn has_room(&self, spec: SpecId, need: Need, taken: &BTreeSet<NodeId>) -> bool {
        let Some(spec) = self.specs.get(&spec) else { return false };
        let gang = need.gang as usize;
        let idle = if need.firm_only { spec.idle_firm } else { spec.idle };
        match need.place {
            Place::Node(node) => spec.idle_on.get(&node).is_some_and(|idle| idle.len() >= gang),
            _ if idle < need.gang => false,
            Place::Unheld => {
                spec.idle_on.iter().any(|(node, idle)| idle.len() >= gang && !taken.contains(node))
            }
            Place::Any if need.same_node => spec.idle_on.values().any(|idle| idle.len() >= gang),
            Place::Any => true,
        }
    }
}

/// Removes from a set in a map, and the set with its last value.
fn take<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}
