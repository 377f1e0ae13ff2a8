//! The simulated part: users who claim units, and lent workers that run jobs on units that the stock does not
//! hold back.
//!
//! As in the services: a claim takes a free unit. Without one it takes the unit of a lent worker: the lowest
//! rank first (0: no job, 1: a background job), then the newest (`interruptible::store::recall`). Every 5 s
//! the jobs service asks for spare units: those that are free above the hold-back (`claim_spare`), none while
//! a user waits.
//!
//! Simpler than the services: one pool; waiting users are served in order; a released unit is free at once.
//! Times are seconds.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BinaryHeap, VecDeque},
};

use super::{
    demand::{Kind, Start},
    jobs::{Job, Queue},
};

/// How often the jobs service asks for spare units (`LEND_PERIOD`).
const LEND: f64 = 5.0;
/// Time until a lent worker runs its first job: GenTD26's median load of a base model. A job that was recalled loads it again.
const LOAD: f64 = 22.7;

/// The policy of the hold-back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Policy<'a> {
    /// Minimum (`interruptible_hold_back`).
    pub(crate) least: u64,
    /// Forecast units, one entry for each period.
    pub(crate) forecasts: &'a [u64],
    /// Length of a period, in seconds.
    pub(crate) period: f64,
    /// Whether lent workers return units while free ones are too few: the first idle ones.
    pub(crate) returns: bool,
    /// Time from the recall of a worker, or its last job, to its empty unit.
    pub(crate) leave: f64,
}

/// The measurements.
#[derive(Debug, Default, Clone)]
pub(crate) struct Outcome {
    /// Starts, and those of them that took a lent unit, by kind: single, class, burst.
    pub(crate) starts: [u64; 3],
    pub(crate) recalled: [u64; 3],
    /// Starts that found no unit at all.
    pub(crate) unmet: u64,
    /// GPU seconds that recalls cost jobs: work that is done again, leaving, loading again.
    pub(crate) lost: f64,
    /// GPU seconds in which lent workers load before their first job.
    pub(crate) loading: f64,
    /// GPU seconds of jobs' work that counts.
    pub(crate) useful: f64,
    /// GPU seconds not used by users, the idle part, and the part of lent workers.
    pub(crate) capacity: f64,
    pub(crate) idle: f64,
    pub(crate) lent: f64,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: &Self) {
        for kind in 0..3 {
            self.starts[kind] += other.starts[kind];
            self.recalled[kind] += other.recalled[kind];
        }
        self.unmet += other.unmet;
        self.lost += other.lost;
        self.loading += other.loading;
        self.useful += other.useful;
        self.capacity += other.capacity;
        self.idle += other.idle;
        self.lent += other.lent;
    }

    /// Share of starts that took a lent unit.
    pub(crate) fn recalled_share(&self) -> f64 {
        self.recalled.iter().sum::<u64>() as f64 / self.starts.iter().sum::<u64>() as f64
    }
}

/// The activity of a lent worker, and since when. Its key shows which worker is newer.
#[derive(Debug)]
enum Worker {
    Loading(f64),
    Working(Job, f64),
    Leaving,
}

#[derive(Debug, Clone, Copy)]
enum Event {
    /// The start of this index in the list.
    Start(usize),
    /// A user's instance ends.
    End,
    Lend,
    /// A worker runs its next job: it has loaded its model, or its job has ended.
    Next(u64),
    /// A worker has returned its unit.
    Left(u64),
}

#[derive(Debug, Clone, Copy)]
struct Due(f64, u64, Event);

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}

struct Simulation<'a> {
    policy: Policy<'a>,
    from: f64,
    now: f64,
    due: BinaryHeap<Due>,
    numbers: u64,
    free: u64,
    used: u64,
    /// Lengths of the runs of users who wait for a unit.
    waiting: VecDeque<f64>,
    workers: BTreeMap<u64, Worker>,
    queue: Queue,
    /// Number of workers that return their units next.
    returning: u64,
    outcome: Outcome,
}

/// Simulates users and jobs on `units` units from `from` until `until`. Instances that were started before `from` run on.
pub(crate) fn simulate(
    units: u64,
    starts: &[Start],
    (from, until): (f64, f64),
    policy: Policy<'_>,
    queue: Queue,
) -> Outcome {
    let mut simulation = Simulation {
        policy,
        from,
        now: from,
        due: BinaryHeap::new(),
        numbers: 0,
        free: units,
        used: 0,
        waiting: VecDeque::new(),
        workers: BTreeMap::new(),
        queue,
        returning: 0,
        outcome: Outcome::default(),
    };
    for (n, start) in starts.iter().enumerate() {
        if start.at < from && start.at + start.run > from && simulation.free > 0 {
            simulation.free -= 1;
            simulation.used += 1;
            simulation.at(start.at + start.run, Event::End);
        } else if start.at >= from && start.at < until {
            simulation.at(start.at, Event::Start(n));
        }
    }
    simulation.at(from, Event::Lend);
    while let Some(Due(at, _, event)) = simulation.due.pop() {
        if at >= until {
            break;
        }
        simulation.pass(at);
        match event {
            Event::Start(n) => simulation.start(starts[n]),
            Event::End => simulation.end(),
            Event::Lend => simulation.lend(),
            Event::Next(worker) => simulation.next(worker),
            Event::Left(worker) => simulation.left(worker),
        }
    }
    simulation.pass(until);
    simulation.outcome
}

impl Simulation<'_> {
    fn at(&mut self, at: f64, event: Event) {
        self.numbers += 1;
        self.due.push(Due(at, self.numbers, event));
    }

    /// Advances the time.
    fn pass(&mut self, now: f64) {
        let seconds = now - self.now;
        let lent = self.workers.len() as f64;
        self.outcome.capacity += (self.free as f64 + lent) * seconds;
        self.outcome.idle += self.free as f64 * seconds;
        self.outcome.lent += lent * seconds;
        self.now = now;
    }

    fn hold_back(&self) -> u64 {
        let Policy { least, forecasts, period, .. } = self.policy;
        let round = ((self.now - self.from) / period) as usize;
        least.max(forecasts.get(round).copied().unwrap_or_default())
    }

    fn start(&mut self, start: Start) {
        let kind = match start.kind {
            Kind::Single => 0,
            Kind::Class => 1,
            Kind::Burst => 2,
        };
        self.outcome.starts[kind] += 1;
        if self.free > 0 {
            self.free -= 1;
            self.used += 1;
            self.at(self.now + start.run, Event::End);
        } else if let Some(worker) = self.first_to_lose() {
            self.outcome.recalled[kind] += 1;
            self.recall(worker);
            self.used += 1;
            self.at(self.now + self.policy.leave + start.run, Event::End);
        } else {
            self.outcome.unmet += 1;
            self.waiting.push_back(start.run);
        }
    }

    /// The newest worker without a job, else the newest one.
    fn first_to_lose(&self) -> Option<u64> {
        let works = |worker: &Worker| matches!(worker, Worker::Working(..));
        let idle = self.workers.iter().rev().find(|(_, worker)| !works(worker));
        idle.or_else(|| self.workers.iter().next_back()).map(|(id, _)| *id)
    }

    fn recall(&mut self, id: u64) {
        self.outcome.lost += match self.workers.remove(&id) {
            Some(Worker::Working(job, since)) => {
                let worked = (self.now - since).max(0.0);
                let kept = job.kept(worked);
                self.outcome.useful += kept;
                self.queue.put_back(job, kept);
                worked - kept + self.policy.leave + LOAD
            }
            Some(Worker::Loading(since)) => self.now - since + self.policy.leave,
            Some(Worker::Leaving) | None => 0.0,
        };
    }

    /// A user's instance ends.
    fn end(&mut self) {
        self.used -= 1;
        self.unit_is_free();
    }

    fn unit_is_free(&mut self) {
        match self.waiting.pop_front() {
            Some(run) => {
                self.used += 1;
                self.at(self.now + run, Event::End);
            }
            None => self.free += 1,
        }
    }

    fn lend(&mut self) {
        let hold_back = self.hold_back();
        if self.waiting.is_empty() {
            for _ in hold_back..self.free {
                self.free -= 1;
                let id = self.numbers;
                self.workers.insert(id, Worker::Loading(self.now));
                self.at(self.now + LOAD, Event::Next(id));
            }
        }
        if self.policy.returns {
            let leaving =
                self.workers.values().filter(|worker| matches!(worker, Worker::Leaving)).count() as u64;
            self.returning = hold_back.saturating_sub(self.free + leaving);
        }
        self.at(self.now + LEND, Event::Lend);
    }

    /// A worker has loaded its model, or ended its job: it returns its unit, or begins another job.
    fn next(&mut self, id: u64) {
        match self.workers.get(&id) {
            Some(Worker::Loading(since)) => self.outcome.loading += self.now - since,
            Some(Worker::Working(job, _)) => self.outcome.useful += job.work,
            Some(Worker::Leaving) | None => return,
        }
        if self.returning > 0 {
            self.returning -= 1;
            self.workers.insert(id, Worker::Leaving);
            return self.at(self.now + self.policy.leave, Event::Left(id));
        }
        let job = self.queue.next();
        let begin = self.now + if job.is_repeated() { LOAD } else { 0.0 };
        self.workers.insert(id, Worker::Working(job, begin));
        self.at(begin + job.work, Event::Next(id));
    }

    fn left(&mut self, id: u64) {
        if self.workers.remove(&id).is_some() {
            self.unit_is_free();
        }
    }
}
