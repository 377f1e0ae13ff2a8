//! Waiting jobs, by their needs: a worker that becomes free reads only the queues whose jobs fit it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Millis,
    model::{Job, JobId, Level, ModelId, NodeId, Shape, SpecId, TenantId},
};

/// The order of a tenant's jobs: priority, then age.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// 9 − priority.
    pub(super) after: u8,
    pub(super) submitted: Millis,
    pub(super) job: JobId,
    /// Derived from the job, and so without effect on the order.
    pub(super) model: Option<ModelId>,
}

impl Turn {
    pub(super) fn of(job: &Job) -> Self {
        Self {
            after: 9u8.saturating_sub(job.priority),
            submitted: job.submitted,
            job: job.id,
            model: job.shape.model,
        }
    }
}

/// On which nodes a job may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    Any,
    /// A node on which no job of a strict group runs.
    Unheld,
    Node(NodeId),
}

/// The needs of a queue's jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Need {
    pub(super) place: Place,
    pub(super) gang: u32,
    pub(super) same_node: bool,
    pub(super) firm_only: bool,
}

impl Need {
    pub(super) fn of(shape: &Shape, place: Place) -> Self {
        let same_node = shape.same_node || (place != Place::Any && shape.gang > 1);
        Self { place, gang: shape.gang, same_node, firm_only: shape.firm_only }
    }
}

/// The key of a queue. With a model: only the jobs of this model; without: all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueKey {
    pub(super) spec: SpecId,
    pub(super) model: Option<ModelId>,
    pub(super) level: Level,
    pub(super) need: Need,
}

impl QueueKey {
    fn first(spec: SpecId, model: Option<ModelId>, level: Level, place: Place) -> Self {
        Self { spec, model, level, need: Need { place, gang: 0, same_node: false, firm_only: false } }
    }
}

/// For each tenant the first job of each of its shapes.
pub(super) type Queue = BTreeMap<TenantId, BTreeSet<Turn>>;

/// The jobs that wait for a model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) jobs: u64,
    submitted: u128,
}

impl Demand {
    /// The sum of the ages of the jobs.
    pub(super) fn age(self, now: Millis) -> u128 {
        (u128::from(self.jobs) * u128::from(now)).saturating_sub(self.submitted)
    }
}

/// All jobs that could start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Queues {
    shapes: BTreeMap<Arc<Shape>, BTreeSet<Turn>>,
    queues: BTreeMap<QueueKey, Queue>,
    demand: BTreeMap<ModelId, Demand>,
    /// Median time of all waiting jobs, by first accepted specification, in unit milliseconds.
    work: BTreeMap<SpecId, u64>,
}

impl Queues {
    /// The shape that equal ones share.
    pub(super) fn intern(&self, shape: Arc<Shape>) -> Arc<Shape> {
        self.shapes.get_key_value(&shape).map_or(shape, |(known, _)| Arc::clone(known))
    }

    pub(super) fn insert(&mut self, shape: &Arc<Shape>, place: Place, turn: Turn) {
        let jobs = self.shapes.entry(Arc::clone(shape)).or_default();
        let before = jobs.first().copied();
        jobs.insert(turn);
        let head = jobs.first().copied();
        self.replace_head(shape, place, before, head);
        if let Some(model) = shape.model {
            let demand = self.demand.entry(model).or_default();
            demand.jobs += 1;
            demand.submitted += u128::from(turn.submitted);
        }
        if let Some(spec) = shape.specs.first() {
            *self.work.entry(*spec).or_default() += work(shape);
        }
    }

    pub(super) fn remove(&mut self, shape: &Arc<Shape>, place: Place, turn: Turn) {
        let Some(jobs) = self.shapes.get_mut(shape) else { return };
        let before = jobs.first().copied();
        if !jobs.remove(&turn) {
            return;
        }
        let head = jobs.first().copied();
        if jobs.is_empty() {
            self.shapes.remove(shape);
        }
        self.replace_head(shape, place, before, head);
        if let Some(model) = shape.model
            && let Some(demand) = self.demand.get_mut(&model)
        {
            demand.jobs -= 1;
            demand.submitted -= u128::from(turn.submitted);
            if demand.jobs == 0 {
                self.demand.remove(&model);
            }
        }
        if let Some(spec) = shape.specs.first()
            && let Some(sum) = self.work.get_mut(spec)
        {
            *sum -= work(shape);
            if *sum == 0 {
                self.work.remove(spec);
            }
        }
    }

    /// Moves a shape whose group was bound or unbound.
    pub(super) fn move_shape(&mut self, shape: &Shape, from: Place, to: Place) {
        if let Some(head) = self.shapes.get(shape).and_then(|jobs| jobs.first().copied()) {
            self.replace_head(shape, from, Some(head), None);
            self.replace_head(shape, to, None, Some(head));
        }
    }

    fn replace_head(&mut self, shape: &Shape, place: Place, before: Option<Turn>, head: Option<Turn>) {
        if before == head {
            return;
        }
        let need = Need::of(shape, place);
        for spec in &shape.specs {
            for model in [None, shape.model] {
                let key = QueueKey { spec: *spec, model, level: shape.level, need };
                let queue = self.queues.entry(key).or_default();
                let turns = queue.entry(shape.tenant).or_default();
                if let Some(turn) = before {
                    turns.remove(&turn);
                }
                turns.extend(head);
                if turns.is_empty() {
                    queue.remove(&shape.tenant);
                }
                if queue.is_empty() {
                    self.queues.remove(&key);
                }
                if shape.model.is_none() {
                    break;
                }
            }
        }
    }

    /// The queues for a specification, model and level whose jobs are not bound to a node.
    pub(super) fn unbound(
        &self,
        spec: SpecId,
        model: Option<ModelId>,
        level: Level,
    ) -> impl Iterator<Item = (&QueueKey, &Queue)> {
        let first = QueueKey::first(spec, model, level, Place::Any);
        let end = QueueKey::first(spec, model, level, Place::Node(NodeId(0)));
        self.queues.range(first..end)
    }

    /// The queues of a node, or of all nodes.
    pub(super) fn bound(
        &self,
        spec: SpecId,
        model: Option<ModelId>,
        level: Level,
        node: Option<NodeId>,
    ) -> impl Iterator<Item = (&QueueKey, &Queue)> {
        let first = QueueKey::first(spec, model, level, Place::Node(node.unwrap_or(NodeId(0))));
        self.queues.range(first..).take_while(move |(key, _)| {
            let place = node.is_none_or(|node| key.need.place == Place::Node(node));
            (key.spec, key.model, key.level) == (spec, model, level) && place
        })
    }

    /// Whether a job of the model waits for the specification.
    pub(super) fn wants(&self, spec: SpecId, model: ModelId) -> bool {
        let first = QueueKey::first(spec, Some(model), Level::Urgent, Place::Any);
        let next = self.queues.range(first..).next();
        next.is_some_and(|(key, _)| (key.spec, key.model) == (spec, Some(model)))
    }

    /// Whether any job waits for the specification.
    pub(super) fn wants_any(&self, spec: SpecId) -> bool {
        let first = QueueKey::first(spec, None, Level::Urgent, Place::Any);
        self.queues.range(first..).next().is_some_and(|(key, _)| key.spec == spec)
    }

    pub(super) fn demand(&self, model: ModelId) -> Demand {
        self.demand.get(&model).copied().unwrap_or_default()
    }

    pub(super) fn work(&self, spec: SpecId) -> u64 {
        self.work.get(&spec).copied().unwrap_or_default()
    }

    /// The jobs of a shape, in their order.
    pub(super) fn jobs(&self, shape: &Shape) -> impl Iterator<Item = &Turn> {
        self.shapes.get(shape).into_iter().flatten()
    }

    /// The jobs of strict groups without a node, for a specification and level: the first of each shape.
    pub(super) fn unheld(&self, spec: SpecId, level: Level) -> impl Iterator<Item = &Turn> {
        let first = QueueKey::first(spec, None, level, Place::Unheld);
        let end = QueueKey::first(spec, None, level, Place::Node(NodeId(0)));
        self.queues.range(first..end).flat_map(|(_, queue)| queue.values()).flatten()
    }

    /// The shapes of a tenant with their jobs.
    pub(super) fn shapes_of(&self, tenant: TenantId) -> impl Iterator<Item = (&Arc<Shape>, &BTreeSet<Turn>)> {
        self.shapes.iter().filter(move |(shape, _)| shape.tenant == tenant)
    }

    pub(super) fn count(&self) -> usize {
        self.shapes.len()
    }
}

fn work(shape: &Shape) -> u64 {
    shape.run.p50 * u64::from(shape.gang)
}
