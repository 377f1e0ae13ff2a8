//! When jobs start and end: a copy of the pool, run forward.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Millis,
    arrivals::Arrivals,
    chance::Chance,
    decision::Decision,
    event::Event,
    model::{JobId, Level, SpecId, State},
    pool::Pool,
    simulation::{Simulation, Step},
};

/// Jobs that start and end within this time are counted.
pub const SOON: Millis = 3_600_000;

/// Quantiles of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles {
    pub p10: Millis,
    pub p50: Millis,
    pub p90: Millis,
}

/// The forecast of a job that waits.
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
    /// Jobs of the pool that start and end within [`SOON`] if all take their median time.
    pub starts: BTreeMap<(SpecId, Level), u32>,
    pub ends: BTreeMap<(SpecId, Level), u32>,
}

/// The settings of one run of a copy of a pool.
#[derive(Debug, Clone, Copy)]
struct Course<'a> {
    until: Millis,
    /// The seed of durations and arrivals. None: median durations, and no arrivals.
    draw: Option<u64>,
    arrivals: &'a Arrivals,
}

/// The outcome of a job in one course.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Outcome {
    position: usize,
    start: Millis,
    end: Option<Millis>,
}

type Outcomes = BTreeMap<JobId, Outcome>;

impl Pool {
    /// Runs copies of the pool forward, once with median durations, and `draws` times with drawn ones and
    /// with jobs that arrive like those of the last minutes. Changes of units are not predicted. Equal seeds
    /// give equal forecasts.
    #[must_use]
    pub fn forecast(
        &self,
        now: Millis,
        horizon: Millis,
        draws: u64,
        seed: u64,
        arrivals: &Arrivals,
    ) -> Forecast {
        let until = now + horizon;
        let mut forecast = Forecast::default();
        let median = self.run(now, Course { until, draw: None, arrivals }, &mut forecast);
        let drawn: Vec<Outcomes> = (0..draws)
            .map(|draw| {
                let course = Course { until, draw: Some(seed.wrapping_add(draw)), arrivals };
                self.run(now, course, &mut Forecast::default())
            })
            .collect();
        for (job, outcome) in &median {
            let all = |time: fn(&Outcome) -> Option<Millis>| {
                let times = drawn.iter().map(|outcomes| outcomes.get(job).and_then(time));
                // a course that reached the horizon counts as later than all others
                let mut times: Vec<Millis> = times.map(|time| time.unwrap_or(Millis::MAX)).collect();
                if times.is_empty() {
                    times.extend(time(outcome));
                }
                times.sort_unstable();
                quantiles(&times)
            };
            let (start, end) = (all(|outcome| Some(outcome.start)), all(|outcome| outcome.end));
            forecast.jobs.insert(*job, Outlook { position: outcome.position, start, end });
        }
        forecast
    }

    fn run(&self, now: Millis, course: Course<'_>, forecast: &mut Forecast) -> Outcomes {
        let mut chance = course.draw.map(Chance::of);
        let mut future = chance
            .map(|mut chance| course.arrivals.future(now, Chance::of(chance.next())))
            .into_iter()
            .flatten()
            .peekable();
        let duration = |job: &super::Job| match &mut chance {
            None => job.shape.run.p50,
            Some(chance) => job.shape.run.quantile(chance.below(1_000) as u64),
        };
        let mut simulation = Simulation::new(self.clone(), now, duration);
        // jobs of held tenants do not end
        let ends = self.jobs.values().filter(|entry| !self.is_held(entry.job.shape.tenant));
        let mut open: BTreeSet<JobId> = ends.map(|entry| entry.job.id).collect();
        let mut times = Outcomes::new();
        let mut kinds = BTreeMap::new();
        let soon = now + SOON;
        let mut at = now;
        loop {
            simulation.now = at;
            while let Some(job) = future.next_if(|job| job.submitted <= at) {
                simulation.apply(Event::Submitted(job));
            }
            for step in simulation.step(at) {
                match step {
                    Step::Decided(Decision::Start { job, .. }) => {
                        let position = times.len() + 1;
                        times.entry(job).or_insert(Outcome { position, start: at, end: None });
                        let kind = simulation.pool.kind(job);
                        if let Some(kind) = kind {
                            *forecast.starts.entry(kind).or_default() += u32::from(at <= soon);
                            kinds.insert(job, kind);
                        }
                    }
                    Step::Ended(job) => {
                        open.remove(&job);
                        if let Some(outcome) = times.get_mut(&job) {
                            outcome.end = Some(at);
                        }
                        if let Some(kind) = kinds.get(&job).copied().or_else(|| self.kind(job)) {
                            *forecast.ends.entry(kind).or_default() += u32::from(at <= soon);
                        }
                    }
                    Step::Decided(Decision::Expire { job }) => {
                        open.remove(&job);
                    }
                    Step::Decided(_) => {}
                }
            }
            let arrival = future.peek().map(|job| job.submitted);
            match simulation.next().into_iter().chain(arrival).min() {
                Some(next) if next <= course.until && !open.is_empty() => at = next.max(at + 1),
                _ => break,
            }
        }
        // running jobs have an end, but no start to predict
        times.retain(|job, _| self.waited(*job, now).is_some() || self.is_delayed(*job));
        times
    }

    fn is_delayed(&self, job: JobId) -> bool {
        self.jobs.get(&job).is_some_and(|entry| entry.state == State::Delayed)
    }

    /// Specification and level of a running job.
    fn kind(&self, job: JobId) -> Option<(SpecId, Level)> {
        let entry = self.jobs.get(&job)?;
        match &entry.state {
            State::Running(attempt) => Some((attempt.spec, entry.job.shape.level)),
            _ => None,
        }
    }
}

/// p10, p50 and p90 of sorted times, between the two nearest of them; `None` if the median is beyond the horizon.
fn quantiles(sorted: &[Millis]) -> Option<Quantiles> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    // of n drawn times, the next one is below the k-th with a probability of k / (n + 1)
    let at = |permille: u64| {
        let place = (sorted.len() as u64 + 1) * permille;
        let (below, part) = (usize::try_from(place / 1_000).unwrap_or_default(), place % 1_000);
        let (Some(low), Some(high)) = (below.checked_sub(1).and_then(|n| sorted.get(n)), sorted.get(below))
        else {
            return if below == 0 { first } else { last };
        };
        match *high {
            Millis::MAX if part > 0 => Millis::MAX,
            high => low + (high - low) / 1_000 * part + (high - low) % 1_000 * part / 1_000,
        }
    };
    let (p10, p50, p90) = (at(100), at(500), at(900));
    (p50 != Millis::MAX).then_some(Quantiles { p10, p50, p90 })
}
