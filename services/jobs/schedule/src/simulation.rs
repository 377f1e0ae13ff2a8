//! Runs a pool forward, with durations and arrivals from forecasts, tests and benchmarks.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

use super::{
    Millis,
    decision::Decision,
    event::{Ending, Event},
    model::{Job, JobId, State},
    pool::Pool,
};

/// What happened in a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Decided(Decision),
    Ended(JobId),
}

/// Why an attempt ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    Done,
    Preempted,
    /// Its tenant was held.
    Stopped,
}

/// A pool with a clock. An attempt that was told to leave does so after a second.
#[derive(Debug)]
pub struct Simulation<D> {
    pub pool: Pool,
    pub now: Millis,
    /// The ends of attempts: time, job and when it was started, which distinguishes attempts of a job.
    ends: BinaryHeap<Reverse<(Millis, JobId, Millis, Why)>>,
    started: BTreeMap<JobId, Millis>,
    /// How long a job takes without loading. An attempt after a preemption takes as long again.
    duration: D,
}

/// Time in which an attempt leaves its workers.
const LEAVE: Millis = 1_000;
/// Number of durations drawn for a running attempt.
const DRAWS: usize = 8;

impl<D: FnMut(&Job) -> Millis> Simulation<D> {
    /// Continues a pool; `duration` is how long a job takes from its start, without loading.
    pub fn new(pool: Pool, now: Millis, mut duration: D) -> Self {
        let mut ends = BinaryHeap::new();
        let mut started = BTreeMap::new();
        for entry in pool.jobs.values() {
            if let State::Running(attempt) = &entry.state {
                // only drawn durations that have not passed yet are possible
                let begin = attempt.started + attempt.loading;
                let end = (0..DRAWS).map(|_| begin + duration(&entry.job)).find(|end| *end > now);
                let end = if attempt.leaving { now + LEAVE } else { end.unwrap_or(now + 1) };
                let is_held = pool.is_stopped(entry.job.shape.tenant);
                let why = match (attempt.leaving, is_held) {
                    (false, _) => Why::Done,
                    (true, true) => Why::Stopped,
                    (true, false) => Why::Preempted,
                };
                ends.push(Reverse((end, entry.job.id, attempt.started, why)));
                started.insert(entry.job.id, attempt.started);
            }
        }
        Self { pool, now, ends, started, duration }
    }

    /// The next time at which something happens without an event.
    #[must_use]
    pub fn next(&self) -> Option<Millis> {
        let end = self.ends.peek().map(|Reverse((at, ..))| *at);
        end.into_iter().chain(self.pool.next_wake(self.now)).min()
    }

    /// Applies an event now. Events that do not fit are skipped.
    pub fn apply(&mut self, event: Event) -> bool {
        self.pool.apply(event, self.now).is_ok()
    }

    /// Advances the time to `now`, ends the attempts that are due, and runs a round.
    pub fn step(&mut self, now: Millis) -> Vec<Step> {
        self.now = now;
        let mut steps = Vec::new();
        while let Some(Reverse((at, job, started, why))) = self.ends.peek().copied()
            && at <= now
        {
            self.ends.pop();
            if self.started.get(&job) != Some(&started) {
                continue;
            }
            let ending = match why {
                Why::Done => Ending::Done,
                Why::Preempted => Ending::Preempted,
                Why::Stopped => Ending::Retry { not_before: now },
            };
            self.started.remove(&job);
            if self.apply(Event::Ended(job, ending)) && why == Why::Done {
                steps.push(Step::Ended(job));
            }
        }
        for decision in self.pool.round(now) {
            match &decision {
                Decision::Start { job, .. } => self.schedule_end(*job),
                Decision::Preempt { job, .. } => self.schedule_leaving(*job, Why::Preempted),
                Decision::Stop { job } => self.schedule_leaving(*job, Why::Stopped),
                _ => {}
            }
            steps.push(Step::Decided(decision));
        }
        steps
    }

    fn schedule_leaving(&mut self, job: JobId, why: Why) {
        if let Some(started) = self.started.get(&job) {
            self.ends.push(Reverse((self.now + LEAVE, job, *started, why)));
        }
    }

    fn schedule_end(&mut self, job: JobId) {
        if let Some(entry) = self.pool.jobs.get(&job)
            && let State::Running(attempt) = &entry.state
        {
            let end = self.now + attempt.loading + (self.duration)(&entry.job).max(1);
            self.ends.push(Reverse((end, job, self.now, Why::Done)));
            self.started.insert(job, self.now);
        }
    }
}
