//! Fairness between tenants: shares by weight, the time until a guarantee is met, and the effect on others of
//! a tenant that sends 100,000 jobs.

use std::{collections::BinaryHeap, sync::Arc};

use schedule::{Decision, Estimate, Event, Job, Millis, Settings, Share, Simulation, Step, TenantId};

use crate::support::{MINUTE, Random, SECOND, START, job, mean, percentile, pool, shape};

const WORKERS: u64 = 64;
const WEIGHTS: [u32; 8] = [1_000, 1_000, 1_000, 1_000, 2_000, 2_000, 4_000, 4_000];
/// Median seconds of the jobs of each tenant.
const SECONDS: [u64; 8] = [5, 60, 15, 30, 60, 5, 30, 15];
/// Number of jobs that wait, for each tenant at any time.
const QUEUED: u64 = 100;
const WARM_UP: Millis = 10 * MINUTE;
const WINDOW: Millis = 10 * MINUTE;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Windows of ten minutes, of which the worst counts
    #[arg(long, default_value_t = 3)]
    windows: u64,
    /// How often a guarantee is asked for
    #[arg(long, default_value_t = 60)]
    bursts: u64,
    /// Jobs of one that sends many; beside it is measured one that sends a hundredth
    #[arg(long, default_value_t = 100_000)]
    flood: u64,
}

fn estimate(seconds: u64) -> Estimate {
    Estimate { p50: seconds * SECOND, p90: seconds * SECOND * 3 / 2 }
}

/// Between half and one and a half of the median.
fn drawn(random: &mut Random, p50: Millis) -> Millis {
    p50 / 2 + random.below(p50)
}

/// Use of each tenant in each window.
type Used = Vec<[Millis; 8]>;

/// Adds the part of a run that lies in each window.
fn add(used: &mut Used, tenant: usize, from: Millis, until: Millis) {
    for (number, window) in used.iter_mut().enumerate() {
        let begin = WARM_UP + number as u64 * WINDOW;
        let part = until.min(begin + WINDOW).saturating_sub(from.max(begin));
        window[tenant] += part;
    }
}

/// Jain's index of use by weight, and the greatest deviation of a tenant's use from its share.
fn ratios(used: &Used) -> (f64, f64) {
    let weights: f64 = WEIGHTS.iter().map(|weight| f64::from(*weight)).sum();
    let mut worst = (1.0f64, 0.0f64);
    for window in used {
        let all: u64 = window.iter().sum();
        let parts: Vec<f64> = window
            .iter()
            .zip(WEIGHTS)
            .map(|(used, weight)| *used as f64 / all.max(1) as f64 / (f64::from(weight) / weights))
            .collect();
        let (sum, squares) = (parts.iter().sum::<f64>(), parts.iter().map(|part| part * part).sum::<f64>());
        let error = parts.iter().map(|part| (part - 1.0).abs()).fold(0.0, f64::max);
        worst = (worst.0.min(sum * sum / (parts.len() as f64 * squares)), worst.1.max(error));
    }
    worst
}

fn atelier(windows: u64) -> (f64, f64) {
    let mut pool = pool(WORKERS, Settings::default());
    for (tenant, weight) in WEIGHTS.iter().enumerate() {
        let share = Share { weight: *weight, ..Share::default() };
        pool.apply(Event::ShareSet(TenantId(tenant as u128), share), START).expect("a share");
    }
    let shapes: Vec<_> =
        (0..8).map(|tenant| Arc::new(shape(tenant, estimate(SECONDS[tenant as usize])))).collect();
    let mut random = Random(3);
    let mut ids = 0;
    let mut submit = |pool: &mut schedule::Pool, tenant: usize, now: Millis| {
        ids += 1;
        pool.apply(Event::Submitted(job(ids, &shapes[tenant], now)), now).expect("a new job");
    };
    for number in 0..8 * QUEUED {
        submit(&mut pool, (number % 8) as usize, START);
    }
    let mut simulation = Simulation::new(pool, START, |job: &Job| drawn(&mut random, job.shape.run.p50));
    let mut used = vec![[0; 8]; windows as usize];
    let mut now = START;
    while now < START + WARM_UP + windows * WINDOW {
        for step in simulation.step(now) {
            if let Step::Decided(Decision::Start { job, .. }) = step {
                let tenant = simulation.pool.job(job).map_or(0, |entry| entry.job.shape.tenant.0 as usize);
                submit(&mut simulation.pool, tenant, now);
            }
        }
        let next = simulation.next().unwrap_or(now + 1).max(now + 1);
        for tenant in 0..8 {
            let held = u64::from(simulation.pool.held_by(TenantId(tenant as u128)));
            for _ in 0..held {
                add(&mut used, tenant, now - START, next - START);
            }
        }
        now = next;
    }
    ratios(&used)
}

/// A scheduler without memory: `held` by weight decides, or the order of arrival.
fn baseline(windows: u64, by_arrival: bool) -> (f64, f64) {
    let mut random = Random(3);
    let mut used = vec![[0; 8]; windows as usize];
    let mut queue: std::collections::VecDeque<usize> =
        (0..8 * QUEUED as usize).map(|number| number % 8).collect();
    let mut held = [0u64; 8];
    let mut ends: BinaryHeap<(std::cmp::Reverse<Millis>, usize)> = BinaryHeap::new();
    let mut now = 0;
    while now < WARM_UP + windows * WINDOW {
        while ends.len() < WORKERS as usize {
            let tenant = if by_arrival {
                queue.pop_front().unwrap_or_default()
            } else {
                (0..8)
                    .min_by_key(|tenant| held[*tenant] * 1_000_000 / u64::from(WEIGHTS[*tenant]))
                    .unwrap_or_default()
            };
            queue.push_back(tenant);
            held[tenant] += 1;
            let end = now + drawn(&mut random, SECONDS[tenant] * SECOND);
            add(&mut used, tenant, now, end);
            ends.push((std::cmp::Reverse(end), tenant));
        }
        if let Some((std::cmp::Reverse(end), tenant)) = ends.pop() {
            now = end;
            held[tenant] -= 1;
        }
    }
    ratios(&used)
}

/// Milliseconds until a tenant with a guarantee of a quarter has it back.
fn reclaim(bursts: u64) -> (Vec<Millis>, usize) {
    let mut pool = pool(WORKERS, Settings::default());
    let guarantee = WORKERS as u32 / 4;
    let owner = TenantId(100);
    pool.apply(Event::ShareSet(owner, Share { guarantee, ..Share::default() }), START).expect("a share");
    let mut random = Random(11);
    let mut ids = 0;
    // long trainings and short pictures of others keep all units busy
    for number in 0..100 * bursts.max(10) {
        ids += 1;
        let seconds = if number % 3 == 0 { 600 } else { 20 };
        let mut shape = shape(number % 8, estimate(seconds));
        shape.checkpoints = seconds == 600;
        pool.apply(Event::Submitted(job(ids, &Arc::new(shape), START)), START).expect("a new job");
    }
    let mut simulation = Simulation::new(pool, START, |job: &Job| drawn(&mut random, job.shape.run.p50));
    let (mut times, mut preemptions) = (Vec::new(), 0);
    let (mut now, mut burst, mut since) = (START, 0, None);
    while burst < bursts {
        if now >= START + 4 * MINUTE * (burst + 1) {
            burst += 1;
            simulation.now = now;
            for _ in 0..guarantee {
                ids += 1;
                let asked = job(ids, &Arc::new(shape(100, estimate(60))), now);
                simulation.apply(Event::Submitted(asked));
            }
            since.get_or_insert(now);
        }
        let decisions = simulation.step(now);
        preemptions +=
            decisions.iter().filter(|step| matches!(step, Step::Decided(Decision::Preempt { .. }))).count();
        if let Some(asked) = since
            && simulation.pool.held_by(owner) >= guarantee
        {
            times.push(now - asked);
            since = None;
        }
        let soon = if since.is_some() { now + 100 } else { now + SECOND };
        now = simulation.next().map_or(soon, |next| next.clamp(now + 1, soon));
    }
    (times, preemptions)
}

/// Waits of light tenants next to one with this number of jobs.
fn flood(jobs: u64) -> Vec<Millis> {
    let mut pool = pool(WORKERS, Settings::default());
    let heavy = Arc::new(shape(0, estimate(10)));
    for id in 0..jobs {
        pool.apply(Event::Submitted(job(id, &heavy, START)), START).expect("a new job");
    }
    let (mut random, mut arrivals) = (Random(5), Random(6));
    let mut simulation = Simulation::new(pool, START, |job: &Job| drawn(&mut random, job.shape.run.p50));
    let mut waits = Vec::new();
    let mut id = 1_000_000;
    let mut now = START;
    let mut arrival = START + MINUTE;
    while now < START + 11 * MINUTE {
        if now >= arrival {
            // half of the units, by 20 tenants; the heavy one keeps the same number of waiting jobs
            id += 1;
            let light = Arc::new(shape(1 + arrivals.below(20), estimate(10)));
            simulation.now = now;
            simulation.apply(Event::Submitted(job(id, &light, now)));
            arrival = now + arrivals.below(625);
        }
        for step in simulation.step(now) {
            if let Step::Decided(Decision::Start { job: started, .. }) = step
                && let Some(entry) = simulation.pool.job(started)
            {
                if entry.job.shape.tenant == TenantId(0) {
                    id += 1;
                    simulation.apply(Event::Submitted(job(id, &heavy, now)));
                } else {
                    waits.push(now - entry.job.submitted);
                }
            }
        }
        now = simulation.next().map_or(arrival, |next| next.min(arrival)).max(now + 1);
    }
    waits
}

pub(crate) fn run(args: &Args) {
    let windows = args.windows;
    println!(
        "{WORKERS} units, 8 tenants with weights 1 to 4, median job 5 to 60 s, worst of {windows} windows of 10 min"
    );
    println!("{:<28} {:>8} {:>13}", "", "Jain", "share error");
    let (jain, error) = atelier(windows);
    for (name, (jain, error)) in [
        ("Atelier", (jain, error)),
        ("held by weight (DRF)", baseline(windows, false)),
        ("FIFO", baseline(windows, true)),
    ] {
        println!("{name:<28} {jain:>8.4} {:>11.1} %", error * 100.0);
    }

    let (mut times, preemptions) = reclaim(args.bursts);
    let bursts = times.len();
    let p50 = percentile(&mut times, 0.5) as f64 / 1_000.0;
    let p99 = percentile(&mut times, 0.99) as f64 / 1_000.0;
    println!(
        "a guarantee of 16 units is met after p50 {p50:.1} s, p99 {p99:.1} s: {bursts} times, {preemptions} preemptions"
    );

    let (mut few, mut many) = (flood(args.flood / 100), flood(args.flood));
    let ratio = mean(&many) / mean(&few).max(1.0);
    for (jobs, waits) in [(args.flood / 100, &mut few), (args.flood, &mut many)] {
        println!(
            "beside a tenant with {jobs} jobs others wait {:.2} s in the mean, p99 {:.2} s",
            mean(waits) / 1_000.0,
            percentile(waits, 0.99) as f64 / 1_000.0
        );
    }
    println!(
        "jobs-fairness: jain={jain:.4} share_error={error:.4} reclaim_p99_s={p99:.1} flood_ratio={ratio:.3}"
    );
}
