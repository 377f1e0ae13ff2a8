//! The number of units to borrow from the stock, and the units to return.

use super::{
    Millis,
    decision::Decision,
    model::{Level, SpecId, State, Tenure, WantedBack, Worker, WorkerId, WorkerState},
    pool::Pool,
};

/// A checkpoint is fresh for this time.
const FRESH: Millis = 30_000;

impl Pool {
    /// Asks for units while the workers cannot finish the waiting jobs in the target time, and returns units
    /// without work. Units that the stock holds back are never asked for.
    pub(super) fn lend(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        let specs: Vec<SpecId> = self.settings.specs.keys().copied().collect();
        for id in specs {
            let wanted = self.wanted(id);
            let (workers, lent, idle) =
                self.fleet.specs.get(&id).map_or((0, 0, 0), |fleet| (fleet.workers, fleet.lent, fleet.idle));
            let Some(spec) = self.settings.specs.get_mut(&id) else { continue };
            let free = spec.idle_stock.saturating_sub(spec.hold_back).saturating_sub(spec.expected);
            let short = wanted.saturating_sub(workers + spec.expected);
            let room = spec.lent_limit.saturating_sub(lent + spec.expected);
            let units = short.min(free).min(room);
            if units > 0 {
                spec.expected += units;
                decisions.push(Decision::Lend { spec: id, units });
            }
            let missing = spec.hold_back.saturating_sub(spec.idle_stock);
            let unused = workers.saturating_sub(wanted).min(idle);
            if lent > 0 && unused > 0 {
                self.give_back(id, unused, missing, now, decisions);
            }
        }
    }

    /// Returns workers without a job, before they get one, as many as the stock wants back: the first ones to
    /// finish.
    pub(super) fn return_wanted(&mut self, decisions: &mut Vec<Decision>) {
        let mut wanted = std::mem::take(&mut self.wanted_back);
        for WantedBack { units, workers } in &mut wanted {
            let is_free = |id: &WorkerId| {
                let worker = self.workers.get(id).filter(|worker| worker.tenure == Tenure::Lent);
                worker.is_some_and(Worker::is_free) && !self.reserved.contains_key(id)
            };
            let free: Vec<WorkerId> = workers.iter().copied().filter(is_free).take(*units as usize).collect();
            for worker in free {
                *units -= 1;
                self.change_worker(worker, |worker| worker.state = WorkerState::Cordoned);
                decisions.push(Decision::Return { worker });
            }
        }
        wanted.retain(|one| one.units > 0);
        self.wanted_back = wanted;
    }

    /// Busy units, and those that would finish the waiting jobs in the target time.
    #[must_use]
    pub fn wanted(&self, spec: SpecId) -> u32 {
        let busy = self.fleet.specs.get(&spec).map_or(0, |fleet| fleet.busy.len() as u64);
        let waiting = self.queues.work(spec).div_ceil(self.settings.target_wait.max(1));
        u32::try_from(busy + waiting).unwrap_or(u32::MAX)
    }

    /// Returns idle lent workers: at once as many as the hold-back lacks, others after a time.
    fn give_back(
        &mut self,
        spec: SpecId,
        unused: u32,
        missing: u32,
        now: Millis,
        decisions: &mut Vec<Decision>,
    ) {
        let keep_warm = self.settings.keep_warm;
        let Some(fleet) = self.fleet.specs.get(&spec) else { return };
        let mut idle: Vec<(Millis, WorkerId)> = fleet
            .idle_on
            .values()
            .flatten()
            .filter_map(|id| self.workers.get(id))
            .filter(|worker| worker.tenure == Tenure::Lent && !self.reserved.contains_key(&worker.id))
            .map(|worker| (worker.idle_since, worker.id))
            .collect();
        idle.sort_unstable();
        for (position, (since, id)) in idle.into_iter().take(unused as usize).enumerate() {
            if position < missing as usize || now >= since.saturating_add(keep_warm) {
                self.change_worker(id, |worker| worker.state = WorkerState::Cordoned);
                decisions.push(Decision::Return { worker: id });
            }
        }
    }

    /// Which lent unit a claim should take: the lowest rank loses least. 0: idle, 1: background, 2: ordinary or urgent
    /// with a fresh checkpoint, 3: other.
    #[must_use]
    pub fn recall_rank(&self, worker: &Worker, now: Millis) -> u8 {
        let Some(entry) = worker.current.and_then(|job| self.jobs.get(&job)) else { return 0 };
        let State::Running(attempt) = &entry.state else { return 0 };
        let shape = &entry.job.shape;
        match shape.level {
            Level::Background => 1,
            _ if shape.checkpoints && now < attempt.checkpoint + FRESH => 2,
            _ => 3,
        }
    }
}
