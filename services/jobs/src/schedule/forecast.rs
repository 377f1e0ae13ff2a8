//! When jobs start and end: the pool run forward from a copy.

use std::collections::BTreeMap;

use super::{
    decision::Decision,
    model::{JobId, Level, Millis, SpecId},
    pool::Pool,
    simulation::{Simulation, Step},
};

/// Quantiles of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles {
    pub p10: Millis,
    pub p50: Millis,
    pub p90: Millis,
}

/// What is expected of a job that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlook {
    /// Its position in the order of starts if all jobs take their median time, from 1.
    pub position: usize,
    /// `None` if most runs reached the horizon before.
    pub start: Option<Quantiles>,
    pub end: Option<Quantiles>,
}

/// The expected course of a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forecast {
    pub jobs: BTreeMap<JobId, Outlook>,
    /// Jobs that start and end within the horizon if all take their median time.
    pub starts: BTreeMap<(SpecId, Level), u32>,
    pub ends: BTreeMap<(SpecId, Level), u32>,
}

/// How far, and with how many drawn courses, a pool is run forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Course {
    until: Millis,
    /// No draws: median durations.
    draw: Option<u64>,
}

/// What becomes of a job in one course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fate {
    position: usize,
    start: Millis,
    end: Option<Millis>,
}

type Fates = BTreeMap<JobId, Fate>;

impl Pool {
    /// Runs copies of the pool forward, once with median durations and `draws` times with drawn ones. Jobs that come later
    /// and units that come and go are not foreseen. Equal seeds give equal forecasts.
    #[must_use]
    pub fn forecast(&self, now: Millis, horizon: Millis, draws: u64, seed: u64) -> Forecast {
        let until = now + horizon;
        let mut forecast = Forecast::default();
        let median = self.run(now, Course { until, draw: None }, &mut forecast);
        let drawn: Vec<Fates> = (0..draws)
            .map(|draw| {
                let course = Course { until, draw: Some(seed.wrapping_add(draw)) };
                self.run(now, course, &mut Forecast::default())
            })
            .collect();
        for (job, fate) in &median {
            let all = |time: fn(&Fate) -> Option<Millis>| {
                let times = drawn.iter().map(|fates| fates.get(job).and_then(time));
                // a course that reached the horizon counts as later than all others
                let mut times: Vec<Millis> = times.map(|time| time.unwrap_or(Millis::MAX)).collect();
                if times.is_empty() {
                    times.extend(time(fate));
                }
                times.sort_unstable();
                quantiles(&times)
            };
            let (start, end) = (all(|fate| Some(fate.start)), all(|fate| fate.end));
            forecast.jobs.insert(*job, Outlook { position: fate.position, start, end });
        }
        forecast
    }

    fn run(&self, now: Millis, course: Course, forecast: &mut Forecast) -> Fates {
        let mut draws = course.draw.unwrap_or_default();
        let duration = |job: &super::Job| match course.draw {
            None => job.shape.run.p50,
            Some(_) => {
                draws = draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
                job.shape.run.quantile(mix(draws) % 1_000)
            }
        };
        let mut simulation = Simulation::new(self.clone(), now, duration);
        let mut times = Fates::new();
        let mut kinds = BTreeMap::new();
        let mut at = now;
        loop {
            for step in simulation.step(at) {
                match step {
                    Step::Decided(Decision::Start { job, .. }) => {
                        let position = times.len() + 1;
                        times.entry(job).or_insert(Fate { position, start: at, end: None });
                        let kind = simulation.pool.kind(job);
                        if let Some(kind) = kind {
                            *forecast.starts.entry(kind).or_default() += 1;
                            kinds.insert(job, kind);
                        }
                    }
                    Step::Ended(job) => {
                        if let Some(fate) = times.get_mut(&job) {
                            fate.end = Some(at);
                        }
                        if let Some(kind) = kinds.get(&job).copied().or_else(|| self.kind(job)) {
                            *forecast.ends.entry(kind).or_default() += 1;
                        }
                    }
                    Step::Decided(_) => {}
                }
            }
            match simulation.next() {
                Some(next) if next <= course.until => at = next.max(at + 1),
                _ => break,
            }
        }
        // jobs that run already have an end, but no start to foresee
        times.retain(|job, _| self.waited(*job, now).is_some() || self.is_delayed(*job));
        times
    }

    fn is_delayed(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|entry| entry.state == super::State::Delayed)
    }

    /// Specification and level of a running job.
    fn kind(&self, job: JobId) -> Option<(SpecId, Level)> {
        let entry = self.jobs.get(&job)?;
        match &entry.state {
            super::State::Running(attempt) => Some((attempt.spec, entry.job.shape.level)),
            _ => None,
        }
    }
}

/// p10, p50 and p90 of sorted times; `None` if the median is beyond the horizon.
fn quantiles(sorted: &[Millis]) -> Option<Quantiles> {
    let at = |permille: usize| sorted.get((sorted.len() * permille / 1_000).min(sorted.len() - 1)).copied();
    if sorted.is_empty() {
        return None;
    }
    let (p10, p50, p90) = (at(100)?, at(500)?, at(900)?);
    (p50 != Millis::MAX).then_some(Quantiles { p10, p50, p90 })
}

/// A well-mixed number of a counter (`SplitMix64`).
fn mix(counter: u64) -> u64 {
    let mut mixed = counter;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
