//! How long a round takes: 5,000 GPUs, 100,000 queued jobs, and the ends and arrivals of 100 ms in each round.

use std::{
    collections::BinaryHeap,
    sync::Arc,
    time::{Duration, Instant},
};

use schedule::{
    Decision, Ending, Estimate, Event, GroupId, GroupMode, JobId, Level, Millis, Pool, Settings, Shape, Spec,
    SpecId, State,
};

use crate::support::{Random, SECOND, SPEC, START, add_worker, job, percentile, pool, shape, with_model};

const ROUND: Millis = 100;
const OTHER: SpecId = SpecId(2);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// GPUs, each with a worker
    #[arg(long, default_value_t = 5_000)]
    gpus: u64,
    /// Jobs that are queued
    #[arg(long, default_value_t = 100_000)]
    queued: u64,
    /// Rounds that are measured
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
}

/// A pool with work, and its load.
struct Load {
    pool: Pool,
    shapes: Vec<Arc<Shape>>,
    random: Random,
    jobs: u64,
    ends: BinaryHeap<(std::cmp::Reverse<Millis>, JobId)>,
}

impl Load {
    /// `shapes` kinds of jobs of 500 tenants: 90 % generation with one of 60 models, a tenth of them urgent or background,
    /// gangs, groups, and a fifth that accepts only the other specification.
    fn new(args: &Args, shapes: u64) -> Self {
        let mut settings = Settings::default();
        settings.specs.insert(OTHER, Spec { price: 2_500, ..Spec::default() });
        let mut pool = pool(args.gpus * 4 / 5, settings);
        (args.gpus * 4 / 5..args.gpus).for_each(|number| add_worker(&mut pool, number, OTHER));
        let mut random = Random(7);
        let shapes = (0..shapes).map(|number| Arc::new(Self::shape(number, &mut random))).collect();
        let mut load = Self { pool, shapes, random, jobs: 0, ends: BinaryHeap::new() };
        (0..args.gpus).for_each(|_| load.submit(START));
        load.round(START);
        (0..args.queued).for_each(|_| load.submit(START));
        load.round(START);
        load
    }

    fn shape(number: u64, random: &mut Random) -> Shape {
        let p50 = SECOND * (5 + random.below(20));
        let run = Estimate { p50, p90: p50 * 2 };
        let mut shape = shape(number % 500, run);
        if random.below(10) > 0 {
            let popular = random.below(60).min(random.below(60));
            shape = with_model(shape, popular, 20 * SECOND);
        }
        shape.level = match random.below(20) {
            0 => Level::Urgent,
            1 | 2 => Level::Background,
            _ => Level::Ordinary,
        };
        shape.specs = match random.below(5) {
            0 => vec![OTHER],
            1 => vec![OTHER, SPEC],
            _ => vec![SPEC],
        };
        match random.below(50) {
            0 => (shape.gang, shape.same_node) = (4, true),
            1 => shape.gang = 16,
            2 => shape.group = Some((GroupId(u128::from(number)), GroupMode::Strict)),
            3 => shape.group = Some((GroupId(u128::from(number)), GroupMode::Prefer)),
            _ => {}
        }
        shape
    }

    fn submit(&mut self, now: Millis) {
        self.jobs += 1;
        let shape = &self.shapes[(self.jobs % self.shapes.len() as u64) as usize];
        self.pool.apply(Event::Submitted(job(self.jobs, shape, now)), now).expect("a new job");
    }

    /// A round, and the ends of what it started.
    fn round(&mut self, now: Millis) -> usize {
        let decisions = self.pool.round(now);
        let mut starts = 0;
        for decision in decisions {
            match decision {
                Decision::Start { job, load, .. } => {
                    starts += 1;
                    let loading = if load { 20 * SECOND } else { 0 };
                    let time = SECOND + self.random.below(30 * SECOND);
                    self.ends.push((std::cmp::Reverse(now + loading + time), job));
                }
                Decision::Preempt { job, .. } => {
                    self.pool.apply(Event::Ended(job, Ending::Preempted), now).expect("a running job");
                }
                _ => {}
            }
        }
        starts
    }

    /// Ends the attempts that are due, and submits as many jobs.
    fn events(&mut self, now: Millis) -> u64 {
        let mut ended = 0;
        while let Some((std::cmp::Reverse(at), job)) = self.ends.peek().copied()
            && at <= now
        {
            self.ends.pop();
            // a preempted attempt has ended already
            if self.pool.job(job).is_some_and(|entry| matches!(entry.state, State::Running(_))) {
                self.pool.apply(Event::Ended(job, Ending::Done), now).expect("a running job");
                self.submit(now);
                ended += 1;
            }
        }
        ended
    }
}

struct Figures {
    shapes: usize,
    p50: Duration,
    p99: Duration,
    most: Duration,
    starts: usize,
    events: u64,
}

/// Rounds of 100 ms with their events.
fn incremental(args: &Args, shapes: u64) -> (Load, Figures) {
    let mut load = Load::new(args, shapes);
    let mut times = Vec::new();
    let (mut starts, mut events) = (0, 0);
    for number in 1..=args.rounds {
        let now = START + number * ROUND;
        let begin = Instant::now();
        events += load.events(now) * 2;
        starts += load.round(now);
        times.push(begin.elapsed());
    }
    let figures = Figures {
        shapes: load.pool.shapes(),
        p50: percentile(&mut times, 0.5),
        p99: percentile(&mut times, 0.99),
        most: times.last().copied().unwrap_or_default(),
        starts,
        events,
    };
    (load, figures)
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

pub(crate) fn run(args: &Args) {
    println!(
        "{:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}",
        "kinds", "shapes", "p50 ms", "p99 ms", "max ms", "starts", "events"
    );
    let mut figures = Vec::new();
    let mut last = None;
    for kinds in [4_000, 50_000] {
        let (load, one) = incremental(args, kinds);
        println!(
            "{kinds:>8} {:>8} {:>8.2} {:>8.2} {:>8.2} {:>9} {:>9}",
            one.shapes,
            millis(one.p50),
            millis(one.p99),
            millis(one.most),
            one.starts,
            one.events
        );
        figures.push(one);
        last.get_or_insert(load);
    }
    let load = last.expect("a load");

    // all workers become idle at once
    let now = START + (args.rounds + 1) * ROUND;
    let mut drained = load.pool.clone();
    let (mut starts, mut spent) = (0, Duration::ZERO);
    for round in 0..4 {
        let running: Vec<JobId> = drained
            .snapshot()
            .jobs
            .iter()
            .filter(|entry| matches!(entry.state, State::Running(_)))
            .map(|entry| entry.job.id)
            .collect();
        let now = now + round * SECOND;
        let begin = Instant::now();
        for job in running {
            drained.apply(Event::Ended(job, Ending::Done), now).expect("a running job");
        }
        let decisions = drained.round(now);
        spent += begin.elapsed();
        starts += decisions.iter().filter(|decision| matches!(decision, Decision::Start { .. })).count();
    }
    let per_second = starts as f64 / spent.as_secs_f64();
    println!("all workers idle at once: {starts} starts in {:.0} ms with their ends", millis(spent));

    let snapshot = load.pool.snapshot();
    let begin = Instant::now();
    let mut rebuilt = Pool::restore(snapshot);
    let rebuild = begin.elapsed();
    assert!(rebuilt == load.pool, "the rebuilt pool differs");
    let begin = Instant::now();
    rebuilt.round(now);
    println!("rebuilt in {:.0} ms; its first round {:.1} ms", millis(rebuild), millis(begin.elapsed()));
    println!(
        "jobs-core: p50_ms={:.2} p99_ms={:.2} starts_per_s={per_second:.0} rebuild_ms={:.0} p99_50k_shapes_ms={:.2}",
        millis(figures[0].p50),
        millis(figures[0].p99),
        millis(rebuild),
        millis(figures[1].p99)
    );
}
