//! Traces replayed by the scheduling core and by simple schedulers.
//!
//! `cargo xtask bench jobs-replay` generates requests for pictures, on workers that have to load models; `--
//! --trace FILE` replays `lora_request_trace.csv` of GenTD26 (`alibaba/clusterdata`,
//! cluster-trace-v2026-GenAI); `-- --philly FILE` replays trainings on 1 to 128 GPUs (`support/philly.rs`).
//! The core does not know how long a job will take, only the times of those that ended.

use std::{
    collections::{BTreeMap, BinaryHeap},
    sync::Arc,
};

use schedule::{Decision, Ending, Estimate, Event, Histogram, JobId, Settings, WorkerId};

use crate::support::{
    START,
    baselines::{self, Outcome, Policy},
    gang_report, job, mean, percentile, pool, shape, trace,
    trace::Request,
    with_model,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// `lora_request_trace.csv` of GenTD26
    #[arg(long, conflicts_with = "philly")]
    trace: Option<String>,
    /// `philly.csv`
    #[arg(long)]
    philly: Option<String>,
    /// Requests that are generated, without a trace
    #[arg(long, default_value_t = trace::REQUESTS)]
    requests: usize,
}

/// Workers, compression of time, load time in milliseconds: those of the sketch in the design.
const SETTINGS: [(usize, u64, u64); 4] =
    [(8, 4, 22_700), (32, 32, 22_700), (64, 64, 22_700), (64, 64, 8_500)];
const UNKNOWN: Estimate = Estimate { p50: 15_000, p90: 30_000 };

/// Replays a trace with the core. All requests are of one tenant, as in the sketch, or each group is one.
fn replay(requests: &[Request], workers: usize, quantum: u64, tenants: bool) -> Outcome {
    let mut outcome = Outcome::default();
    let mut pool =
        pool(workers as u64, Settings { quantum, quantum_loads: quantum.min(5), ..Settings::default() });
    let mut seen: BTreeMap<u64, Histogram> = BTreeMap::new();
    let mut ends: BinaryHeap<(std::cmp::Reverse<u64>, JobId)> = BinaryHeap::new();
    let mut busy: BTreeMap<WorkerId, JobId> = BTreeMap::new();
    let mut arrivals = requests.iter().enumerate().peekable();
    loop {
        let arrival = arrivals.peek().map(|(_, request)| request.at);
        let end = ends.peek().map(|(std::cmp::Reverse(at), _)| *at);
        let Some(at) = arrival.into_iter().chain(end).min() else { return outcome };
        let now = START + at;
        while let Some((std::cmp::Reverse(end), id)) = ends.peek().copied()
            && end <= at
        {
            ends.pop();
            let request = &requests[id.0 as usize];
            seen.entry(request.class).or_default().record(request.run);
            busy.retain(|_, job| *job != id);
            pool.apply(Event::Ended(id, Ending::Done), now).expect("a running job");
        }
        while let Some((number, request)) = arrivals.next_if(|(_, request)| request.at <= at) {
            let run = seen.get(&request.class).and_then(Histogram::estimate).unwrap_or(UNKNOWN);
            let tenant = if tenants { request.group } else { 0 };
            let shape = Arc::new(with_model(shape(tenant, run), request.model, request.load));
            pool.apply(Event::Submitted(job(number as u64, &shape, now)), now).expect("a new job");
        }
        for decision in pool.round(now) {
            match decision {
                Decision::Start { job, workers, load, .. } => {
                    for worker in workers {
                        assert_eq!(busy.insert(worker, job), None, "{worker:?} has two jobs");
                    }
                    let request = &requests[job.0 as usize];
                    let loading = if load { request.load } else { 0 };
                    let end = at + loading + request.run;
                    outcome.completions.push(end - request.at);
                    outcome.waits.push(at - request.at);
                    outcome.loading += loading;
                    outcome.working += request.run;
                    ends.push((std::cmp::Reverse(end), job));
                }
                Decision::Preempt { .. } => outcome.preemptions += 1,
                _ => {}
            }
        }
    }
}

fn print(name: &str, outcome: &mut Outcome) -> (f64, f64) {
    let jct = mean(&outcome.completions) / 1_000.0;
    let p99 = percentile(&mut outcome.completions, 0.99) as f64 / 1_000.0;
    let most = percentile(&mut outcome.waits, 1.0) as f64 / 1_000.0;
    println!("{name:<34} {jct:>9.1} {p99:>9.1} {most:>9.1} {:>7.1} %", outcome.load_share() * 100.0);
    (jct, p99)
}

pub(crate) fn run(args: &Args) -> Result<(), String> {
    let last = match &args.philly {
        Some(file) => gang_report::run(file)?,
        None => pictures(args)?,
    };
    println!("\n{last}");
    Ok(())
}

/// Replays requests for pictures; returns the last line.
fn pictures(args: &Args) -> Result<String, String> {
    let mut last = String::new();
    for (workers, compression, load) in SETTINGS {
        let requests = match &args.trace {
            Some(file) => trace::read(file, compression, load)?,
            None => trace::generate(args.requests, 1, compression, load),
        };
        println!(
            "\n{} requests, {workers} workers, time / {compression}, load {:.1} s",
            requests.len(),
            load as f64 / 1_000.0
        );
        println!("{:<34} {:>9} {:>9} {:>9} {:>9}", "", "mean s", "p99 s", "max wait", "loading");
        let mut fifo = 0.0;
        for (name, policy) in [
            ("FIFO", Policy::Fifo),
            ("FIFO, placed on a loaded worker", Policy::FifoPlaced),
            ("loaded first, oldest after 60 s", Policy::LoadedFirst),
            ("shortest first, true times", Policy::Shortest),
        ] {
            let (jct, _) = print(name, &mut baselines::run(policy, &requests, workers));
            if policy == Policy::Fifo {
                fifo = jct;
            }
        }
        let mut outcome = replay(&requests, workers, 120_000, false);
        let (jct, p99) = print("Atelier, one tenant", &mut outcome);
        print("Atelier, a tenant for each group", &mut replay(&requests, workers, 120_000, true));
        print("Atelier, one tenant, no quantum", &mut replay(&requests, workers, 0, false));
        if last.is_empty() {
            let (share, preempts) = (outcome.load_share(), outcome.preemptions);
            last = format!(
                "jobs-replay: jct_mean={jct:.1} jct_p99={p99:.1} fifo_mean={fifo:.1} load_share={share:.3} preempts={preempts}"
            );
        }
    }
    Ok(last)
}
