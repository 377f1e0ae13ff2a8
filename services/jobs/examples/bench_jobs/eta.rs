//! Accuracy of forecasts: the start of jobs, compared with the forecast range and with position × mean time.
//!
//! The second figures are with arrivals that need about a quarter of the workers, of
//! which the forecast knows those of the ten minutes before.

use std::{collections::BTreeMap, sync::Arc};

use schedule::{
    Arrivals, Decision, Estimate, Event, Job, JobId, Millis, Outlook, Pool, Settings, Simulation, Step,
};

use crate::support::{MINUTE, Random, SECOND, START, job, pool, shape, with_model};

const WORKERS: u64 = 16;
const LOAD: Millis = 20 * SECOND;
/// Time between two arrivals: even between 0 and this.
const BETWEEN: Millis = 20 * SECOND;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Pools, each with other jobs
    #[arg(long, default_value_t = 20)]
    pools: u64,
    /// Jobs of each pool in the beginning
    #[arg(long, default_value_t = 400)]
    jobs: u64,
    /// Courses of a forecast
    #[arg(long, default_value_t = 16)]
    draws: u64,
}

/// A duration of a log-normal distribution with these quantiles.
fn drawn(random: &mut Random, run: Estimate) -> Millis {
    let normal = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let ratio = run.p90 as f64 / run.p50 as f64;
    (run.p50 as f64 * ratio.powf(normal / 1.281_6)) as Millis
}

fn ask(random: &mut Random, id: u64, now: Millis) -> Job {
    let p50 = SECOND * [8, 15, 30, 60][random.below(4) as usize];
    let run = Estimate { p50, p90: p50 * 2 };
    let mut shape = with_model(shape(random.below(10), run), random.below(12).min(random.below(12)), LOAD);
    if random.below(40) == 0 {
        shape.gang = 4;
    }
    job(id, &Arc::new(shape), now)
}

/// The accuracy of a forecast.
#[derive(Debug, Default)]
struct Truth {
    inside: u64,
    jobs: u64,
    errors: Vec<f64>,
    baseline: Vec<f64>,
}

/// The arrivals before the start.
fn history(seed: u64) -> Arrivals {
    let (mut random, mut jobs) = (Random(seed ^ 0xffff_0000), Vec::new());
    let (since, mut id) = (START - Arrivals::WINDOW, 0);
    let mut at = since + random.below(BETWEEN);
    while at < START {
        jobs.push(ask(&mut random, id, at));
        id += 1;
        at += random.below(BETWEEN);
    }
    Arrivals::new(jobs, since, START)
}

fn simulate(args: &Args, seed: u64, arrivals: bool, truth: &mut Truth) {
    let mut random = Random(seed);
    let mut pool: Pool = pool(WORKERS, Settings::default());
    for id in 0..args.jobs {
        pool.apply(Event::Submitted(ask(&mut random, id, START)), START).expect("a new job");
    }
    pool.round(START);
    let history = if arrivals { history(seed) } else { Arrivals::default() };
    let forecast = pool.forecast(START, 120 * MINUTE, args.draws, seed, &history);
    let mean = 28.0 * 1.2 * 1_000.0;
    let mut durations = Random(seed ^ 0xffff);
    let mut simulation = Simulation::new(pool, START, |job: &Job| drawn(&mut durations, job.shape.run));
    let mut starts: BTreeMap<JobId, Millis> = BTreeMap::new();
    let (mut now, mut id) = (START, args.jobs);
    let mut arrival = if arrivals { START + 5 * SECOND } else { Millis::MAX };
    while now < START + 60 * MINUTE && starts.len() < args.jobs as usize {
        if now >= arrival {
            id += 1;
            simulation.now = now;
            simulation.apply(Event::Submitted(ask(&mut random, id, now)));
            arrival = now + random.below(BETWEEN);
        }
        for step in simulation.step(now) {
            if let Step::Decided(Decision::Start { job, .. }) = step
                && job.0 < u128::from(args.jobs)
            {
                starts.entry(job).or_insert(now);
            }
        }
        now = simulation.next().map_or(arrival, |next| next.min(arrival)).max(now + 1);
    }
    for (job, Outlook { position, start, .. }) in forecast.jobs {
        let (Some(began), Some(start)) = (starts.get(&job), start) else { continue };
        let wait = began - START;
        if wait < MINUTE {
            continue;
        }
        truth.jobs += 1;
        truth.inside += u64::from((start.p10..=start.p90).contains(began));
        truth.errors.push((start.p50 as f64 - *began as f64).abs() / wait as f64);
        let naive = position as f64 * mean / WORKERS as f64;
        truth.baseline.push((naive - wait as f64).abs() / wait as f64);
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Coverage, median error of the forecast and of the baseline.
fn measure(args: &Args, arrivals: bool) -> (f64, f64, f64) {
    let mut truth = Truth::default();
    (1..=args.pools).for_each(|seed| simulate(args, seed, arrivals, &mut truth));
    let coverage = truth.inside as f64 / truth.jobs.max(1) as f64;
    let (error, baseline) = (median(&mut truth.errors), median(&mut truth.baseline));
    println!(
        "{} jobs that waited for more than a minute, in {} pools of {WORKERS} units",
        truth.jobs, args.pools
    );
    println!("  start within p10 and p90 of {} courses: {:.1} %", args.draws, coverage * 100.0);
    println!(
        "  median error of the wait: {:.1} %; position x mean time: {:.1} %",
        error * 100.0,
        baseline * 100.0
    );
    (coverage, error, baseline)
}

pub(crate) fn run(args: &Args) {
    println!("no more jobs arrive:");
    let (closed, closed_error, _) = measure(args, false);
    println!("more jobs arrive:");
    let (coverage, error, baseline) = measure(args, true);
    println!(
        "jobs-eta: coverage={coverage:.3} median_error={error:.3} baseline_error={baseline:.3} \
         coverage_closed={closed:.3} median_error_closed={closed_error:.3}"
    );
}
