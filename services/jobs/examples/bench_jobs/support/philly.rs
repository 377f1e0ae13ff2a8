//! Trainings on one or more GPUs: a reader of the Philly trace. Nothing of the trace is in this repository.
//!
//! Source: `msr-fiddle/philly-traces` (CC BY 4.0, Microsoft), as reduced by `siasosp23/artifacts` to a table with the columns
//! `timestamp,duration,num_gpus,gpu_time,cluster` (`sia-simulator/traces/philly.csv`, 82,247 jobs of 15 virtual clusters).

use std::collections::BTreeMap;

use schedule::{Estimate, Histogram};

use super::{MINUTE, trace};

/// A job that runs on all its GPUs or not at all. Times in milliseconds, from the first submission.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Training {
    pub(crate) at: u64,
    pub(crate) run: u64,
    pub(crate) gpus: u32,
    /// The virtual cluster, numbered from 0.
    pub(crate) cluster: u64,
}

/// The jobs of `philly.csv`, in the order of their submission.
pub(crate) fn read(path: &str) -> Result<Vec<Training>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut lines = text.lines().filter(|line| !line.is_empty());
    if lines.next() != Some("timestamp,duration,num_gpus,gpu_time,cluster") {
        return Err(format!("{path} is not the reduced Philly trace"));
    }
    let mut numbers = BTreeMap::new();
    let mut jobs = Vec::new();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let [at, seconds, gpus, _, name] = fields[..] else { return Err(format!("{path}: {line}")) };
        let (Some(at), Ok(seconds), Ok(gpus)) = (trace::time(at), seconds.parse::<f64>(), gpus.parse())
        else {
            return Err(format!("{path}: {line}"));
        };
        let next = numbers.len() as u64;
        let cluster = *numbers.entry(name).or_insert(next);
        jobs.push(Training { at, run: (seconds * 1_000.0) as u64, gpus, cluster });
    }
    jobs.sort_by_key(|job| job.at);
    let first = jobs.first().map_or(0, |job| job.at);
    jobs.iter_mut().for_each(|job| job.at -= first);
    Ok(jobs)
}

/// Before any job has ended.
const UNKNOWN: Estimate = Estimate { p50: 60 * MINUTE, p90: 24 * 60 * MINUTE };

/// Known durations: those of the jobs that ended.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    by_cluster: BTreeMap<(u64, u32), Histogram>,
    by_gpus: BTreeMap<u32, Histogram>,
    all: Histogram,
}

impl Ended {
    pub(crate) fn record(&mut self, job: &Training) {
        self.by_cluster.entry((job.cluster, job.gpus)).or_default().record(job.run);
        self.by_gpus.entry(job.gpus).or_default().record(job.run);
        self.all.record(job.run);
    }

    /// Estimates from jobs of the same virtual cluster with as many GPUs; with too few of them, from a wider
    /// class.
    pub(crate) fn estimate(&self, job: &Training) -> Estimate {
        let own = self.by_cluster.get(&(job.cluster, job.gpus)).and_then(Histogram::estimate);
        let gpus = || self.by_gpus.get(&job.gpus).and_then(Histogram::estimate);
        own.or_else(gpus).or_else(|| self.all.estimate()).unwrap_or(UNKNOWN)
    }
}
