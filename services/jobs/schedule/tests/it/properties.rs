//! The invariants under random commands, and properties of whole runs.

use std::collections::{BTreeMap, BTreeSet};

use atelier_schedule::{
    Decision, Ending, Estimate, Event, GroupId, GroupMode, Hold, Job, JobId, Level, Millis, NodeId, Pool,
    Share, Simulation, Spec, State, Step, TenantId, Tenure, WantedBack, Worker, WorkerId,
};
use proptest::{collection::vec, prelude::*};

use crate::{
    builders::{OTHER, SECOND, SPEC, START, job, model, pool, share},
    invariants::check,
};

#[derive(Debug, Clone)]
struct Ask {
    tenant: u128,
    level: Level,
    priority: u8,
    specs: u8,
    model: Option<u128>,
    gang: u32,
    same_node: bool,
    group: Option<(u128, bool)>,
    seconds: u64,
    checkpoints: bool,
    delay: u64,
    deadline: Option<u64>,
}

#[derive(Debug, Clone)]
enum Command {
    Submit(Ask),
    Pass(Millis),
    Cancel(usize),
    Add { node: u128, spec: bool, lent: bool },
    Remove(usize),
    Cordon(usize, bool),
    Hold(u128, bool),
    Recall(usize),
    Share { tenant: u128, weight: u32, guarantee: u32, urgent: u32 },
    Stock { idle: u32, hold_back: u32 },
    WantBack(u32),
    Checkpoint(usize),
    Reprioritize(usize, u8),
    Retry(usize),
}

fn ask() -> impl Strategy<Value = Ask> {
    let level =
        prop_oneof![1 => Just(Level::Urgent), 4 => Just(Level::Ordinary), 2 => Just(Level::Background)];
    let gang = prop_oneof![6 => Just(1u32), 1 => 2u32..4, 1 => Just(4u32)];
    let first = (0u128..4, level, 0u8..10, 1u8..4, proptest::option::of(0u128..4), gang);
    let second = (
        any::<bool>(),
        proptest::option::weighted(0.25, (0u128..3, any::<bool>())),
        prop_oneof![3 => 1u64..60, 1 => 60u64..1_200],
        any::<bool>(),
        prop_oneof![5 => Just(0u64), 1 => 1u64..60],
        proptest::option::weighted(0.1, 1u64..600),
    );
    (first, second).prop_map(|((tenant, level, priority, specs, model, gang), second)| {
        let (same_node, group, seconds, checkpoints, delay, deadline) = second;
        Ask {
            tenant,
            level,
            priority,
            specs,
            model,
            gang,
            same_node,
            group,
            seconds,
            checkpoints,
            delay,
            deadline,
        }
    })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        12 => ask().prop_map(Command::Submit),
        8 => prop_oneof![1u64..3_000, 3_000u64..90_000].prop_map(Command::Pass),
        1 => any::<usize>().prop_map(Command::Cancel),
        2 => (0u128..4, any::<bool>(), any::<bool>())
            .prop_map(|(node, spec, lent)| Command::Add { node, spec, lent }),
        1 => any::<usize>().prop_map(Command::Remove),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(which, cordoned)| Command::Cordon(which, cordoned)),
        1 => (0u128..3, any::<bool>()).prop_map(|(tenant, is_held)| Command::Hold(tenant, is_held)),
        1 => any::<usize>().prop_map(Command::Recall),
        1 => (0u128..4, 1u32..4_000, 0u32..4, 0u32..3).prop_map(|(tenant, weight, guarantee, urgent)| {
            Command::Share { tenant, weight, guarantee, urgent }
        }),
        1 => (0u32..4, 0u32..4).prop_map(|(idle, hold_back)| Command::Stock { idle, hold_back }),
        1 => (0u32..3).prop_map(Command::WantBack),
        1 => any::<usize>().prop_map(Command::Checkpoint),
        1 => (any::<usize>(), 0u8..10).prop_map(|(which, priority)| Command::Reprioritize(which, priority)),
        1 => any::<usize>().prop_map(Command::Retry),
    ]
}

/// Jobs take between a fifth and a bit more than their p90.
fn duration(job: &Job) -> Millis {
    let part = (job.id.0 as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    job.shape.run.p90 * (20 + part % 90) / 100
}

/// Random commands on a pool, with all that is checked after each of them.
struct Run {
    simulation: Simulation<fn(&Job) -> Millis>,
    jobs: u128,
    workers: u128,
    decisions: Vec<Decision>,
}

impl Run {
    fn new() -> Self {
        let mut pool = pool(4);
        let spec = Spec { lent_limit: 4, ..Spec::default() };
        pool.apply(Event::SpecSet(SPEC, spec), START).unwrap();
        let simulation = Simulation::new(pool, START, duration as fn(&Job) -> Millis);
        Self { simulation, jobs: 0, workers: 100, decisions: Vec::new() }
    }

    fn worker(&self, which: usize) -> Option<WorkerId> {
        let workers = self.simulation.pool.snapshot().workers;
        (!workers.is_empty()).then(|| workers[which % workers.len()].id)
    }

    fn job(&self, which: usize) -> Option<JobId> {
        let jobs = self.simulation.pool.snapshot().jobs;
        (!jobs.is_empty()).then(|| jobs[which % jobs.len()].job.id)
    }

    fn execute(&mut self, command: &Command) {
        let now = self.simulation.now;
        let event = match command {
            Command::Pass(time) => return self.pass(now + time),
            Command::Submit(ask) => {
                self.jobs += 1;
                Some(Event::Submitted(ask.job(self.jobs, now)))
            }
            Command::Cancel(which) => self.job(*which).map(Event::Cancelled),
            Command::Add { node, spec, lent } => {
                self.workers += 1;
                let spec = if *spec { SPEC } else { OTHER };
                let tenure = if *lent { Tenure::Lent } else { Tenure::Firm };
                let worker = Worker::new(WorkerId(self.workers), NodeId(*node), spec, tenure, now);
                Some(Event::WorkerAdded(worker))
            }
            Command::Remove(which) => self.worker(*which).map(Event::WorkerRemoved),
            Command::Cordon(which, closed) => {
                self.worker(*which).map(|id| Event::WorkerCordoned(id, *closed))
            }
            Command::Hold(tenant, is_held) => {
                Some(Event::TenantHeld(TenantId(*tenant), is_held.then_some(Hold::TenantSuspended)))
            }
            Command::Recall(which) => self.worker(*which).map(|id| {
                self.simulation.apply(Event::WorkerRecalled(id, now + 15 * SECOND));
                if let Some(job) = self.simulation.pool.worker(id).and_then(|worker| worker.current) {
                    self.simulation.apply(Event::Ended(job, Ending::Recalled));
                }
                Event::WorkerRemoved(id)
            }),
            Command::Share { tenant, weight, guarantee, urgent } => {
                let share = Share { weight: *weight, guarantee: *guarantee, limit: 5, urgent: *urgent };
                // a limit below the current usage is the subject of another test
                (self.simulation.pool.held_by(TenantId(*tenant)) <= 5)
                    .then_some(Event::ShareSet(TenantId(*tenant), share))
            }
            Command::Stock { idle, hold_back } => {
                let spec =
                    Spec { idle_stock: *idle, hold_back: *hold_back, lent_limit: 4, ..Spec::default() };
                Some(Event::SpecSet(SPEC, spec))
            }
            Command::WantBack(units) => {
                let workers = self.simulation.pool.snapshot().workers.into_iter();
                let lent = workers.filter(|worker| worker.tenure == Tenure::Lent).map(|worker| worker.id);
                Some(Event::UnitsWanted(vec![WantedBack { units: *units, workers: lent.collect() }]))
            }
            Command::Checkpoint(which) => self.job(*which).map(Event::Checkpointed),
            Command::Reprioritize(which, priority) => self.job(*which).map(|id| {
                let job = self.simulation.pool.job(id).unwrap().job.clone();
                Event::Changed(Job { priority: *priority, ..job })
            }),
            Command::Retry(which) => {
                let retry = Ending::Retry { not_before: now + 5 * SECOND };
                self.job(*which).map(|job| Event::Ended(job, retry))
            }
        };
        if let Some(event) = event {
            self.simulation.apply(event);
        }
        self.step(now);
    }

    /// Advances the time and processes the events in it.
    fn pass(&mut self, until: Millis) {
        while let Some(next) = self.simulation.next()
            && next <= until
        {
            self.step(next.max(self.simulation.now + 1).min(until));
            if self.simulation.now == until {
                return;
            }
        }
        self.step(until.max(self.simulation.now));
    }

    fn step(&mut self, now: Millis) {
        // the same round by a pool that was built from rows
        let mut kept = self.simulation.pool.clone();
        let mut rebuilt = Pool::restore(self.simulation.pool.snapshot());
        assert_eq!(kept.round(now), rebuilt.round(now), "the rebuilt pool decides otherwise");
        assert_eq!(kept, rebuilt);
        for step in self.simulation.step(now) {
            if let Step::Decided(decision) = step {
                self.decisions.push(decision);
            }
        }
        check(&self.simulation.pool, now);
    }
}

impl Ask {
    fn job(&self, id: u128, now: Millis) -> Job {
        job(id, self.tenant, |job, shape| {
            job.submitted = now;
            job.not_before = if self.delay > 0 { now + self.delay * SECOND } else { 0 };
            job.deadline = self.deadline.map(|seconds| now + seconds * SECOND);
            job.priority = self.priority;
            shape.level = self.level;
            shape.specs = [(1, SPEC), (2, OTHER)]
                .into_iter()
                .filter(|(bit, _)| self.specs & bit != 0)
                .map(|(_, spec)| spec)
                .collect();
            if let Some(number) = self.model {
                model(shape, number, 20 * SECOND);
            }
            shape.gang = self.gang;
            shape.same_node = self.same_node;
            // groups belong to a tenant
            shape.group = self.group.map(|(group, strict)| {
                let mode = if strict { GroupMode::Strict } else { GroupMode::Prefer };
                (GroupId(self.tenant * 10 + group * 2 + u128::from(strict)), mode)
            });
            shape.run = Estimate { p50: (self.seconds * SECOND * 2).div_ceil(3), p90: self.seconds * SECOND };
            shape.checkpoints = self.checkpoints;
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testkit::budget(64, 1000), ..ProptestConfig::default() })]

    #[test]
    fn invariants_hold_after_each_command(commands in vec(command(), 1..60)) {
        let mut run = Run::new();
        for command in &commands {
            run.execute(command);
        }
        let preempted =
            run.decisions.iter().filter(|decision| matches!(decision, Decision::Preempt { .. })).count();
        prop_assert!(preempted as u128 <= 3 * run.jobs, "{preempted} preemptions of {} jobs", run.jobs);

        let mut again = Run::new();
        for command in &commands {
            again.execute(command);
        }
        prop_assert_eq!(run.decisions, again.decisions);
    }

    #[test]
    fn everything_ends_when_no_more_comes(asks in vec(ask(), 1..30)) {
        let mut run = Run::new();
        // room for each gang on one node, also for one that is bound by its group
        for node in 0..8 {
            for _ in 0..4 {
                run.execute(&Command::Add { node, spec: true, lent: false });
                run.execute(&Command::Add { node, spec: false, lent: false });
            }
        }
        for ask in &asks {
            run.execute(&Command::Submit(ask.clone()));
        }
        let longest: u64 = asks.iter().map(|ask| ask.seconds * 2 + 60).sum();
        let end = START + (longest + 3_600) * SECOND;
        let mut ended = 0;
        while ended < run.jobs && let Some(next) = run.simulation.next() && next <= end {
            let steps = run.simulation.step(next.max(run.simulation.now + 1));
            ended += steps.iter().filter(|step| ends(step)).count() as u128;
        }
        check(&run.simulation.pool, run.simulation.now);
        let left = run.simulation.pool.snapshot().jobs;
        let why = left.first().map(|entry| run.simulation.pool.explain(entry.job.id, run.simulation.now));
        prop_assert!(left.is_empty(), "{left:?}: {why:?}");
    }

    #[test]
    fn a_guarantee_is_met_within_half_a_minute_and_a_p90(
        guarantees in vec(0u32..5, 3),
        asks in vec((0u128..3, 1u64..120, 0u64..20), 10..60),
    ) {
        let mut pool = pool(12);
        for (tenant, guarantee) in guarantees.iter().enumerate() {
            share(&mut pool, tenant as u128, Share { guarantee: *guarantee, ..Share::default() });
        }
        let mut simulation = Simulation::new(pool, START, |job: &Job| job.shape.run.p90);
        let mut owed = BTreeMap::new();
        let mut arrival = START;
        for (number, (tenant, seconds, gap)) in asks.iter().enumerate() {
            arrival += gap * SECOND;
            while let Some(next) = simulation.next() && next <= arrival {
                observe(&mut simulation, next, &guarantees, &mut owed)?;
            }
            simulation.now = simulation.now.max(arrival);
            let asked = job(number as u128, *tenant, |job, shape| {
                job.submitted = simulation.now;
                shape.run = Estimate::exactly(seconds * SECOND);
            });
            simulation.apply(Event::Submitted(asked));
            observe(&mut simulation, arrival, &guarantees, &mut owed)?;
        }
        while !simulation.pool.snapshot().jobs.is_empty() && let Some(next) = simulation.next() {
            observe(&mut simulation, next, &guarantees, &mut owed)?;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testkit::budget(16, 500), ..ProptestConfig::default() })]

    /// An ordinary job of a tenant that uses less gets its turn, for any number of urgent jobs that wait and of workers.
    #[test]
    fn urgent_jobs_do_not_starve_the_ordinary_ones_of_others(
        workers in 1u32..4,
        urgent in vec((0u128..3, 1u64..30), 50..70),
        ordinary in vec((1u64..30, 1u64..120), 1..6),
    ) {
        let mut simulation = Simulation::new(pool(workers), START, |job: &Job| job.shape.run.p90);
        for (id, (tenant, seconds)) in (0u128..).zip(&urgent) {
            let run = Estimate::exactly(seconds * SECOND);
            let asked = job(id, *tenant, |_, shape| (shape.level, shape.run) = (Level::Urgent, run));
            simulation.apply(Event::Submitted(asked));
        }
        let (mut arrivals, mut at) = (Vec::new(), START);
        for (id, (seconds, gap)) in (1_000u128..).zip(&ordinary) {
            at += gap * SECOND;
            arrivals.push((at, id, seconds * SECOND));
        }
        let mut ahead = BTreeMap::new();
        let mut now = START;
        loop {
            while let Some((at, id, time)) = arrivals.first().copied() && at <= now {
                arrivals.remove(0);
                simulation.now = now;
                // each has a tenant of its own: it does not wait because of past usage
                let asked = job(id, id, |job, shape| {
                    (job.submitted, shape.run) = (now, Estimate::exactly(time));
                });
                simulation.apply(Event::Submitted(asked));
                ahead.insert(id, 0u32);
            }
            for step in simulation.step(now) {
                if let Step::Decided(Decision::Start { job, .. }) = step {
                    match ahead.remove(&job.0) {
                        Some(count) => prop_assert!(count <= MOST_AHEAD, "{count} urgent jobs before {}", job.0),
                        None => ahead.values_mut().for_each(|count| *count += 1),
                    }
                }
            }
            let next = simulation.next().into_iter().chain(arrivals.first().map(|arrival| arrival.0)).min();
            let Some(next) = next else { break };
            now = next.max(now + 1);
        }
        prop_assert!(ahead.is_empty());
    }
}

/// Jobs before an ordinary one of a tenant that has used nothing: of each of five such jobs four urgent ones in a row, itself, and
/// one of each of three tenants that have used as little.
const MOST_AHEAD: u32 = 5 * (4 + 1 + 3);

fn ends(step: &Step) -> bool {
    matches!(step, Step::Ended(_) | Step::Decided(Decision::Expire { .. }))
}

/// Steps, and fails if a tenant is below its guarantee with a job that waits for longer than 30 s and the longest job
/// (120 s).
fn observe<D: FnMut(&Job) -> Millis>(
    simulation: &mut Simulation<D>,
    now: Millis,
    guarantees: &[u32],
    owed: &mut BTreeMap<u128, Millis>,
) -> Result<(), TestCaseError> {
    simulation.step(now.max(simulation.now));
    let now = simulation.now;
    simulation.now += 1;
    let snapshot = simulation.pool.snapshot();
    let queued = snapshot.jobs.iter().filter(|entry| matches!(entry.state, State::Queued { .. }));
    let waiting: BTreeSet<TenantId> = queued.map(|entry| entry.job.shape.tenant).collect();
    for (tenant, guarantee) in guarantees.iter().enumerate() {
        let id = TenantId(tenant as u128);
        if simulation.pool.held_by(id) < *guarantee && waiting.contains(&id) {
            let since = *owed.entry(tenant as u128).or_insert(now);
            prop_assert!(now - since <= 151 * SECOND, "tenant {tenant} is owed since {} ms", now - since);
        } else {
            owed.remove(&(tenant as u128));
        }
    }
    Ok(())
}
