//! One round: due timers, reservations, starts, preemptions, units to ask for.

use std::collections::BTreeSet;

use super::{
    Millis,
    decision::{Decision, Rule},
    model::{Attempt, Entry, JobId, Level, ModelId, Shape, Slice, SpecId, State, WorkerId, WorkerState},
    order::{Next, Pass},
    pool::{Pool, Timer},
};

/// Jobs that are tried on reserved workers in a round, for each specification.
const BACKFILL: usize = 128;

impl Pool {
    /// Returns the decisions after the events since the last round. Call it after events, and at
    /// [`Pool::next_wake`].
    pub fn round(&mut self, now: Millis) -> Vec<Decision> {
        self.advance(now);
        let mut decisions = Vec::new();
        self.fire_timers(now, &mut decisions);
        self.stop_held(&mut decisions);
        self.return_wanted(&mut decisions);
        self.start_nominated(now, &mut decisions);
        self.hand_over(now);
        self.reserve(now, &mut decisions);
        let specs: Vec<SpecId> = self.fleet.specs.keys().copied().collect();
        loop {
            let before = decisions.len();
            for spec in &specs {
                if self.queues.wants_any(*spec) {
                    self.serve_quanta(*spec, now, &mut decisions);
                    self.serve_all(*spec, now, &mut decisions);
                }
            }
            // a group that has lost its node may start jobs on a specification that was served before
            let unbound = |decision: &Decision| matches!(decision, Decision::Unbind { .. });
            if !decisions.iter().skip(before).any(unbound) {
                break;
            }
        }
        self.preempt(now, &mut decisions);
        self.lend(now, &mut decisions);
        decisions
    }

    /// When to call [`Pool::round`] even without an event.
    #[must_use]
    pub fn next_wake(&self, now: Millis) -> Option<Millis> {
        let timer = self.timers.first().map(|(at, _)| (*at).max(now));
        let soon = self.may_preempt_soon().then_some(now + 1_000);
        timer.into_iter().chain(soon).min()
    }

    fn fire_timers(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        while let Some((at, timer)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            match timer {
                Timer::Release(id) => {
                    if let Some(Entry { job, .. }) = self.remove_entry(id) {
                        self.put(Entry { job, state: State::Queued { since: now } }, now);
                    }
                }
                Timer::Expire(id) => {
                    self.forget(id, now);
                    decisions.push(Decision::Expire { job: id });
                }
                Timer::Promote(id) => {
                    if let Some(Entry { mut job, state }) = self.remove_entry(id) {
                        std::sync::Arc::make_mut(&mut job.shape).level = Level::Ordinary;
                        self.put(Entry { job, state }, now);
                        decisions.push(Decision::Promote { job: id });
                    }
                }
                Timer::Slice(id) => {
                    let length = self.shape_of(id).map_or(0, |shape| shape.run.p50);
                    self.charge_slice(id, length, now);
                }
                Timer::Unbind(id) => decisions.extend(self.unbind_group(id, now)),
            }
        }
    }

    /// Starts jobs for which others were preempted. A tenant that has reached its limit meanwhile gives up
    /// its nominations.
    fn start_nominated(&mut self, now: Millis, decisions: &mut Vec<Decision>) {
        let nominated: Vec<(JobId, Vec<WorkerId>)> = self
            .fleet
            .nominated
            .iter()
            .map(|(job, workers)| (*job, workers.iter().copied().collect()))
            .collect();
        for (job, workers) in nominated {
            let ready = workers
                .iter()
                .all(|id| self.workers.get(id).is_some_and(|worker| worker.state == WorkerState::Ready));
            let gang = self.shape_of(job).map_or(0, |shape| shape.gang as usize);
            if workers.len() < gang || !ready || self.waited(job, now).is_none() || !self.is_within_limit(job)
            {
                self.clear_nominations(job);
            } else if workers
                .iter()
                .all(|id| self.workers.get(id).is_some_and(|worker| worker.current.is_none()))
            {
                let spec = workers.first().and_then(|id| self.workers.get(id)).map(|worker| worker.spec);
                if let Some(spec) = spec {
                    self.start(job, spec, workers, Rule::Nomination, now, decisions);
                }
            }
        }
    }

    /// Lets workers in their quantum serve their loaded model, unless a higher class waits.
    fn serve_quanta(&mut self, spec: SpecId, now: Millis, decisions: &mut Vec<Decision>) {
        let Some(fleet) = self.fleet.specs.get(&spec) else { return };
        let in_quantum =
            |id: &&WorkerId| self.workers.get(*id).is_some_and(|worker| worker.quantum_end > now);
        let models: Vec<(ModelId, usize)> = fleet
            .idle_with
            .iter()
            .filter(|(model, _)| self.queues.wants(spec, **model))
            .map(|(model, idle)| (*model, idle.iter().filter(in_quantum).count()))
            .collect();
        let none = BTreeSet::new();
        let waits = |pool: &Self, pass| pool.next_in(pass, spec, None, &none, now).is_some();
        let mut classes = Pass::ALL.into_iter().peekable();
        for (model, workers) in models {
            let mut served = 0;
            while served < workers
                && let Some(class) = classes.peek().copied()
            {
                let next = self.next_in_turn(class, spec, Some(model), &none, now);
                let Some((pass, Next { turn, .. })) = next else {
                    if waits(self, class) {
                        break;
                    }
                    classes.next();
                    continue;
                };
                let found = self.find(turn.job, now).filter(|(_, workers)| self.have_loaded(workers, model));
                let Some((spec, workers)) = found else { break };
                self.start(turn.job, spec, workers, Rule::Quantum, now, decisions);
                self.count_in_a_row(pass, spec);
                served += 1;
            }
        }
    }

    fn have_loaded(&self, workers: &[WorkerId], model: ModelId) -> bool {
        workers.iter().all(|id| self.workers.get(id).is_some_and(|worker| worker.model == Some(model)))
    }

    /// Starts jobs in their order until none fits.
    fn serve_all(&mut self, spec: SpecId, now: Millis, decisions: &mut Vec<Decision>) {
        let mut left_out = BTreeSet::new();
        loop {
            let before = decisions.len();
            // a class without jobs that fit stays without them while others start
            for pass in Pass::ALL {
                self.serve(pass, spec, &mut left_out, now, decisions);
            }
            // except that a group has a node now
            let bound = |decision: &Decision| matches!(decision, Decision::Bind { .. });
            if !decisions.iter().skip(before).any(bound) {
                return;
            }
        }
    }

    fn serve(
        &mut self,
        pass: Pass,
        spec: SpecId,
        left_out: &mut BTreeSet<JobId>,
        now: Millis,
        decisions: &mut Vec<Decision>,
    ) {
        while left_out.len() < BACKFILL
            && self.fleet.specs.get(&spec).is_some_and(|fleet| fleet.idle > 0)
            && let Some((pass, Next { turn, switches })) = self.next_in_turn(pass, spec, None, left_out, now)
        {
            let Some((spec, workers)) = self.find(turn.job, now) else {
                left_out.insert(turn.job);
                continue;
            };
            self.switches += u64::from(switches);
            let level = self.shape_of(turn.job).map_or(Level::Ordinary, |shape| shape.level);
            let rule = if pass == Pass::Owed { Rule::Guarantee } else { Rule::Share(level) };
            self.start(turn.job, spec, workers, rule, now, decisions);
            self.count_in_a_row(pass, spec);
        }
    }

    /// Starts a job: the workers are taken, the tenant is charged, the group is bound.
    pub(super) fn start(
        &mut self,
        id: JobId,
        spec: SpecId,
        workers: Vec<WorkerId>,
        rule: Rule,
        now: Millis,
        decisions: &mut Vec<Decision>,
    ) {
        self.clear_nominations(id);
        self.clear_reservation(id);
        let Some(Entry { job, .. }) = self.remove_entry(id) else { return };
        let shape = std::sync::Arc::clone(&job.shape);
        let node = workers.first().and_then(|id| self.workers.get(id)).map(|worker| worker.node);
        let mut load = false;
        for worker in &workers {
            load |= self.occupy(*worker, id, &shape, now);
        }
        let loading = if load { shape.load } else { 0 };
        let attempt = Attempt {
            spec,
            workers: workers.clone(),
            started: now,
            loading,
            checkpoint: now,
            slice: Slice { from: now, until: now, charge: 0 },
            leaving: false,
        };
        self.insert_entry(Entry { job, state: State::Running(attempt) });
        self.charge_slice(id, loading + shape.run.p50, now);
        if let Some(node) = node {
            self.bind_group(&shape, node, now, decisions);
        }
        decisions.push(Decision::Start { job: id, workers, load, rule });
    }

    /// Assigns a job to a worker; returns whether it has to load the model.
    fn occupy(&mut self, id: WorkerId, job: JobId, shape: &Shape, now: Millis) -> bool {
        let quantum = self.settings.quantum.max(self.settings.quantum_loads * shape.load);
        let mut load = false;
        self.change_worker(id, |worker| {
            load = worker.model != shape.model && shape.model.is_some();
            let loading = if load { shape.load } else { 0 };
            if load || worker.quantum_end <= now {
                worker.quantum_end = now + loading + quantum;
            }
            worker.model = shape.model;
            worker.current = Some(job);
            worker.busy_until = now + loading + shape.run.p90;
            worker.nominated = None;
        });
        load
    }

    /// Releases workers that were kept for a job.
    pub(super) fn clear_nominations(&mut self, job: JobId) {
        for worker in self.fleet.nominated.get(&job).cloned().unwrap_or_default() {
            self.change_worker(worker, |worker| worker.nominated = None);
        }
    }
}
