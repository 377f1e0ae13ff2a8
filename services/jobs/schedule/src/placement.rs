//! Which workers a job gets.

use super::{
    Millis,
    model::{JobId, NodeId, Shape, SpecId, Tenure, Worker, WorkerId},
    pool::Pool,
    queue::{Need, Place},
};

/// Idle workers that are compared to find one whose model is not needed.
const COMPARED: usize = 16;

impl Pool {
    /// Workers for a job: of the first accepted specification that has room.
    pub(super) fn find(&self, job: JobId, now: Millis) -> Option<(SpecId, Vec<WorkerId>)> {
        let shape = self.shape_of(job)?;
        let need = Need::of(shape, self.place(shape));
        shape.specs.iter().find_map(|spec| {
            if !self.has_room(*spec, need) {
                return None;
            }
            // a group takes the node of another one only if there is no other
            let is_unheld = |worker: &Worker| !self.held.contains_key(&worker.node);
            let unheld = match need.place {
                Place::Unheld => self.find_in(shape, *spec, need, &|worker: &Worker| {
                    is_unheld(worker) && self.may_use(job, shape, need, worker, now)
                }),
                Place::Any | Place::Node(_) => None,
            };
            let workers = unheld.or_else(|| {
                let fits = |worker: &Worker| self.may_use(job, shape, need, worker, now);
                self.find_in(shape, *spec, need, &fits)
            })?;
            Some((*spec, workers))
        })
    }

    /// Whether enough workers are idle, regardless of reservations.
    pub(super) fn has_room(&self, spec: SpecId, need: Need) -> bool {
        let yields = matches!(need.place, Place::Node(node) if self.yielding.contains(&node));
        !yields && self.fleet.has_room(spec, need, &self.taken)
    }

    /// Workers of a specification among those that fit.
    fn find_in(
        &self,
        shape: &Shape,
        spec: SpecId,
        need: Need,
        fits: &dyn Fn(&Worker) -> bool,
    ) -> Option<Vec<WorkerId>> {
        match need.gang {
            1 => self.find_one(shape, spec, need, fits).map(|worker| vec![worker]),
            _ => self.find_gang(shape, spec, need, fits),
        }
    }

    fn find_one(
        &self,
        shape: &Shape,
        spec: SpecId,
        need: Need,
        fits: &dyn Fn(&Worker) -> bool,
    ) -> Option<WorkerId> {
        let fleet = self.fleet.specs.get(&spec)?;
        let fits = |id: &&WorkerId| self.workers.get(*id).is_some_and(fits);
        let loaded = shape.model.and_then(|model| fleet.idle_with.get(&model));
        let preferred = self.preferred_node(shape).and_then(|node| fleet.idle_on.get(&node));
        if let (Some(loaded), Some(preferred)) = (loaded, preferred)
            && let Some(worker) = preferred.intersection(loaded).find(fits)
        {
            return Some(*worker);
        }
        if let Some(worker) = loaded.into_iter().flatten().chain(preferred.into_iter().flatten()).find(fits) {
            return Some(*worker);
        }
        // the node of least free degree, so that whole nodes stay free for gangs
        let nodes: Vec<NodeId> = match need.place {
            Place::Node(node) => vec![node],
            _ => fleet.nodes.iter().map(|(_, node)| *node).collect(),
        };
        let idle = nodes.iter().filter_map(|node| fleet.idle_on.get(node)).flatten();
        idle.filter(fits)
            .take(COMPARED)
            .enumerate()
            .min_by_key(|(position, id)| {
                let model = self.workers.get(id).and_then(|worker| worker.model);
                (model.is_some_and(|model| self.queues.wants(spec, model)), model.is_some(), *position)
            })
            .map(|(_, id)| *id)
    }

    fn find_gang(
        &self,
        shape: &Shape,
        spec: SpecId,
        need: Need,
        fits: &dyn Fn(&Worker) -> bool,
    ) -> Option<Vec<WorkerId>> {
        let fleet = self.fleet.specs.get(&spec)?;
        let gang = need.gang as usize;
        let mut nodes: Vec<(NodeId, Vec<WorkerId>)> = fleet
            .idle_on
            .iter()
            .map(|(node, idle)| {
                let fits = idle.iter().filter(|id| self.workers.get(*id).is_some_and(fits));
                (*node, fits.copied().collect())
            })
            .collect();
        if need.same_node {
            nodes.retain(|(_, idle)| idle.len() >= gang);
            let preferred = self.preferred_node(shape);
            let (_, idle) =
                nodes.into_iter().min_by_key(|(node, idle)| (Some(*node) != preferred, idle.len(), *node))?;
            return Some(idle.into_iter().take(gang).collect());
        }
        // as few nodes as possible
        nodes.sort_by_key(|(node, idle)| (std::cmp::Reverse(idle.len()), *node));
        let workers: Vec<WorkerId> = nodes.into_iter().flat_map(|(_, idle)| idle).take(gang).collect();
        (workers.len() == gang).then_some(workers)
    }

    /// Whether a worker suits a job, regardless of running jobs and reservations.
    pub(super) fn suits(&self, need: Need, worker: &Worker) -> bool {
        let place = match need.place {
            Place::Any => true,
            Place::Unheld => !self.taken.contains(&worker.node),
            Place::Node(node) => worker.node == node && !self.yielding.contains(&node),
        };
        place && (!need.firm_only || worker.tenure == Tenure::Firm)
    }

    /// Whether a job may start on an idle worker. A worker that is reserved for another job may be used by a
    /// job that ends before the reservation, by its p90.
    fn may_use(&self, job: JobId, shape: &Shape, need: Need, worker: &Worker, now: Millis) -> bool {
        if !worker.is_free() || !self.suits(need, worker) {
            return false;
        }
        match self.reserved.get(&worker.id) {
            Some(reserved) if *reserved != job => self.reservations.get(reserved).is_none_or(|reservation| {
                let loading = if worker.model == shape.model { 0 } else { shape.load };
                now + loading + shape.run.p90 <= reservation.at
            }),
            _ => true,
        }
    }
}
