//! The Philly trace with the scheduling core and with simple schedulers: a table, and the last line of the benchmark.

use std::collections::BTreeMap;

use schedule::Share;

use super::{
    gang_core,
    gangs::{self, NODE, Outcome, Policy},
    mean, percentile,
    philly::{self, Training},
};

/// Nodes of the pool. The GPU time submitted in the busiest month is 92, 84 and 77 % of what these have.
const NODES: [usize; 3] = [80, 88, 96];
/// The last line is about this one.
const MAIN: usize = 88;
const HOUR: f64 = 3_600_000.0;

/// Replays `philly.csv`; returns the last line.
pub(crate) fn run(file: &str) -> Result<String, String> {
    let jobs = philly::read(file)?;
    let mut last = String::new();
    for nodes in NODES {
        println!("\n{} jobs, {nodes} nodes of {NODE} GPUs; hours", jobs.len());
        println!(
            "{:<34} {:>7} {:>7} {:>7} {:>8} {:>7} {:>7} {:>7} {:>9} {:>11}",
            "", "mean", "wait", "p99", "max wait", "1 GPU", "2 to 8", "more", "preempted", "lost GPU h"
        );
        let simple = |name: &str, policy| print(name, &jobs, &gangs::run(policy, &jobs, nodes)).0;
        let fifo = simple("FIFO", Policy::Fifo);
        let easy = simple("FIFO + EASY, p90 of ended jobs", Policy::Easy);
        simple("FIFO + EASY, true times", Policy::EasyTrue);
        simple("shortest first, true times", Policy::Shortest);
        let none = BTreeMap::new();
        let outcome = gang_core::run(&jobs, nodes, true, &none);
        let (jct, p99) = print("Atelier, a tenant for each VC", &jobs, &outcome);
        print("Atelier, one tenant", &jobs, &gang_core::run(&jobs, nodes, false, &none));
        let shares = guarantees(&jobs, nodes as u32 * NODE / 2);
        print("Atelier, VCs, half guaranteed", &jobs, &gang_core::run(&jobs, nodes, true, &shares));
        if nodes == MAIN {
            // no job of this trace loads a model
            last = format!(
                "jobs-replay: jct_mean={jct:.0} jct_p99={p99:.0} fifo_mean={fifo:.0} easy_mean={easy:.0} load_share=0.000 preempts={}",
                outcome.preemptions
            );
        }
    }
    Ok(last)
}

/// Prints a row; returns the mean and the p99 of the completion times, in seconds.
fn print(name: &str, jobs: &[Training], outcome: &Outcome) -> (f64, f64) {
    let all = || jobs.iter().zip(outcome.completions.iter().copied());
    let of = |low: u32, high: u32| {
        let kept = all().filter(|(job, _)| (low..=high).contains(&job.gpus)).map(|(_, time)| time);
        mean(&kept.collect::<Vec<_>>()) / HOUR
    };
    let waits: Vec<u64> = all().map(|(job, time)| time - job.run).collect();
    let most = waits.iter().copied().max().unwrap_or_default() as f64;
    let jct = mean(&outcome.completions);
    let p99 = percentile(&mut outcome.completions.clone(), 0.99) as f64;
    println!(
        "{name:<34} {:>7.2} {:>7.2} {:>7.1} {:>8.1} {:>7.2} {:>7.2} {:>7.2} {:>9} {:>11.0}",
        jct / HOUR,
        mean(&waits) / HOUR,
        p99 / HOUR,
        most / HOUR,
        of(1, 1),
        of(2, NODE),
        of(NODE + 1, u32::MAX),
        outcome.preemptions,
        outcome.lost as f64 / HOUR
    );
    (jct / 1_000.0, p99 / 1_000.0)
}

/// Guarantees that sum up to `units`, in proportion to the GPU time of the virtual clusters.
fn guarantees(jobs: &[Training], units: u32) -> BTreeMap<u64, Share> {
    let mut used: BTreeMap<u64, f64> = BTreeMap::new();
    for job in jobs {
        *used.entry(job.cluster).or_default() += job.run as f64 * f64::from(job.gpus);
    }
    let all: f64 = used.values().sum();
    let share = |used: f64| Share { guarantee: (used / all * f64::from(units)) as u32, ..Share::default() };
    used.into_iter().map(|(cluster, used)| (cluster, share(used))).collect()
}
