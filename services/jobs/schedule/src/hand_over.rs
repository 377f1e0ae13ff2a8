//! Hand-over of nodes from one strict group to the next.
//!
//! A node on which no job of its group runs is free for all. If a group always has a running job, another
//! group would wait until the last of its jobs has ended. So a group with a later turn yields: none of its
//! jobs starts on its node until the running ones have ended and the other group has the node.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Millis,
    account::Rank,
    model::{GroupId, Level, NodeId, Shape, TenantId, Worker, WorkerState},
    pool::Pool,
    queue::Turn,
};

/// Maximum number of groups for which others yield at a time.
const MOST: usize = 8;

/// The place of a job in the order of starts.
type Order = (Level, Rank, TenantId, Turn);

/// The future nodes of strict groups.
#[derive(Debug, Default)]
struct Nodes {
    /// Nodes whose groups yield.
    chosen: BTreeSet<NodeId>,
    /// Number of nodes of each tenant.
    of_tenants: BTreeMap<TenantId, u64>,
}

impl Pool {
    /// Decides which groups yield.
    pub(super) fn hand_over(&mut self, now: Millis) {
        let chosen = self.to_yield(now);
        let changed: Vec<NodeId> = self.yielding.symmetric_difference(&chosen).copied().collect();
        for node in changed {
            if let Some(group) = self.held.get(&node).copied() {
                self.change_group(group, |group| group.yields = chosen.contains(&node));
            }
        }
        self.yielding = chosen;
    }

    /// Returns the nodes to give to groups without one.
    fn to_yield(&self, now: Millis) -> BTreeSet<NodeId> {
        let waiting = self.groups_without_node();
        let mut nodes = Nodes::default();
        if waiting.is_empty() {
            return nodes.chosen;
        }
        for tenant in self.taken.iter().filter_map(|node| self.tenant_on(*node)) {
            *nodes.of_tenants.entry(tenant).or_default() += 1;
        }
        for turn in waiting {
            if nodes.chosen.len() >= MOST {
                break;
            }
            if self.find(turn.job, now).is_none()
                && let Some(shape) = self.shape_of(turn.job)
                && let Some(node) = self.next_node(shape, turn, &nodes, now)
            {
                nodes.chosen.insert(node);
                *nodes.of_tenants.entry(shape.tenant).or_default() += 1;
                if let Some(of_giver) =
                    self.tenant_on(node).and_then(|giver| nodes.of_tenants.get_mut(&giver))
                {
                    *of_giver -= 1;
                }
            }
        }
        nodes.chosen
    }

    /// The first job of each strict group that has no node, and whose tenant may start it, in the order of starts.
    fn groups_without_node(&self) -> Vec<Turn> {
        let mut first: BTreeMap<GroupId, Order> = BTreeMap::new();
        let levels = [Level::Urgent, Level::Ordinary, Level::Background];
        for (spec, level) in self.fleet.specs.keys().flat_map(|spec| levels.map(|level| (*spec, level))) {
            for turn in self.queues.unheld(spec, level).filter(|turn| self.is_within_limit(turn.job)) {
                let Some(shape) = self.shape_of(turn.job) else { continue };
                let Some(((group, _), order)) = shape.group.zip(self.order_of(shape, *turn)) else {
                    continue;
                };
                let known = first.entry(group).or_insert(order);
                *known = order.min(*known);
            }
        }
        let mut all: Vec<Order> = first.into_values().collect();
        all.sort_unstable();
        all.into_iter().map(|(.., turn)| turn).collect()
    }

    fn order_of(&self, shape: &Shape, turn: Turn) -> Option<Order> {
        let account = self.accounts.get(&shape.tenant)?;
        Some((shape.level, account.rank(), shape.tenant, turn))
    }

    /// The first node to be left, among nodes whose groups have to yield to a job. A group that already yields is kept.
    fn next_node(&self, shape: &Shape, turn: Turn, nodes: &Nodes, now: Millis) -> Option<NodeId> {
        let order = self.order_of(shape, turn)?;
        let others = self.taken.iter().filter(|node| !nodes.chosen.contains(node));
        let due = others.filter(|node| self.fits_on(shape, **node)).filter(|node| {
            self.held.get(node).is_some_and(|holder| self.has_to_yield(*holder, order, nodes, now))
        });
        let key = |node: &&NodeId| (!self.yielding.contains(node), self.runs_until(**node), **node);
        due.min_by_key(key).copied()
    }

    /// Whether a node has enough workers for a job, regardless of running jobs.
    fn fits_on(&self, shape: &Shape, node: NodeId) -> bool {
        let Some(fleet) = self.fleet.nodes.get(&node) else { return false };
        let ready = |spec| {
            let workers = fleet.workers.iter().filter_map(|id| self.workers.get(id));
            let fits = workers.filter(|worker| {
                let firm = !shape.firm_only || worker.tenure == super::Tenure::Firm;
                worker.spec == spec && worker.state == WorkerState::Ready && firm
            });
            fits.count()
        };
        shape.specs.iter().any(|spec| ready(*spec) >= shape.gang as usize)
    }

    /// Whether a group has to yield to a job of another one: that job must come before all waiting jobs of
    /// the group. It keeps its node for a quantum, except from a higher level. Of different tenants, the one
    /// with fewer nodes for its weight gets one.
    fn has_to_yield(&self, holder: GroupId, order: Order, nodes: &Nodes, now: Millis) -> bool {
        let (Some(group), Some(members)) = (self.groups.get(&holder), self.members.get(&holder)) else {
            return false;
        };
        let waiting = members.queued.keys().filter_map(|shape| {
            let turn = self.queues.jobs(shape).next()?;
            self.order_of(shape, *turn)
        });
        let Some(first) = waiting.min() else { return true };
        if order.0 != first.0 {
            return order.0 < first.0;
        }
        if now < group.bound + self.settings.quantum {
            return false;
        }
        let (taker, giver) = (order.2, first.2);
        order < first && (taker == giver || self.has_fewer(nodes, taker, giver))
    }

    /// Whether a tenant with one node more would have no more of them for its weight than another one has.
    fn has_fewer(&self, nodes: &Nodes, taker: TenantId, giver: TenantId) -> bool {
        let count = |tenant: TenantId| nodes.of_tenants.get(&tenant).copied().unwrap_or_default();
        let weight = |tenant: TenantId| {
            self.accounts.get(&tenant).map_or(1, |account| u64::from(account.share().weight.max(1)))
        };
        (count(taker) + 1) * weight(giver) <= count(giver) * weight(taker)
    }

    /// The workers of a node that run jobs of its group, with the shapes of these jobs.
    fn of_group(&self, node: NodeId) -> impl Iterator<Item = (&Worker, &Shape)> {
        let group = self.held.get(&node).copied();
        let workers = self.fleet.nodes.get(&node).into_iter().flat_map(|fleet| &fleet.workers);
        workers.filter_map(move |id| {
            let worker = self.workers.get(id)?;
            let shape = self.shape_of(worker.current?)?;
            (shape.group.map(|(id, _)| id) == group).then_some((worker, shape))
        })
    }

    /// The tenant of a group whose jobs run on a node.
    fn tenant_on(&self, node: NodeId) -> Option<TenantId> {
        self.of_group(node).map(|(_, shape)| shape.tenant).next()
    }

    /// When the running jobs of a node's group have ended, by their p90.
    fn runs_until(&self, node: NodeId) -> Option<Millis> {
        self.of_group(node).map(|(worker, _)| worker.busy_until).max()
    }

    /// When a node's group leaves it; none while the group has more jobs with an earlier turn.
    pub(super) fn left_at(&self, node: NodeId) -> Option<Millis> {
        let group = self.held.get(&node)?;
        let has_more = self.members.get(group).is_some_and(|members| !members.queued.is_empty());
        (!has_more || self.yielding.contains(&node)).then(|| self.runs_until(node)).flatten()
    }
}
