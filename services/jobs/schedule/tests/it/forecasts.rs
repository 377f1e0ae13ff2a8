//! Forecasts, compared with the actual starts.

use std::collections::BTreeMap;

use atelier_schedule::{
    Arrivals, Decision, Estimate, Event, Job, JobId, Millis, Pool, Quantiles, Simulation, Step,
};

use crate::builders::{HOUR, MINUTE, SECOND, START, job, model, pool, submit};

fn median(job: &Job) -> Millis {
    job.shape.run.p50
}

#[test]
fn a_forecast_without_chance_comes_true() {
    let mut pool = pool(3);
    for id in 0..60u128 {
        submit(
            &mut pool,
            job(id, id % 3, |_, shape| {
                model(shape, id % 5, 7 * SECOND);
                shape.run = Estimate::exactly((5 + id as u64 % 11) * SECOND);
            }),
        );
    }
    pool.round(START);
    let forecast = pool.forecast(START, HOUR, 4, 1, &Arrivals::default());
    assert_eq!(forecast.jobs.len(), 57);
    let mut simulation = Simulation::new(pool, START, median);
    let mut now = START;
    let mut position = 0;
    while let Some(next) = simulation.next() {
        now = next.max(now + 1);
        for step in simulation.step(now) {
            if let Step::Decided(Decision::Start { job, .. }) = step {
                position += 1;
                let outlook = forecast.jobs[&job];
                assert_eq!(outlook.position, position);
                let start = outlook.start.unwrap();
                assert_eq!((start.p10, start.p50, start.p90), (now, now, now));
            }
        }
    }
    assert_eq!(position, 57);
    assert_eq!(forecast.ends.values().sum::<u32>(), 60);
}

#[test]
fn a_forecast_has_a_range_and_a_horizon() {
    let mut pool = pool(1);
    for id in 0..20 {
        submit(&mut pool, job(id, 1, |_, shape| shape.run = Estimate { p50: MINUTE, p90: 2 * MINUTE }));
    }
    pool.round(START);
    let forecast = pool.forecast(START, 15 * MINUTE, 16, 7, &Arrivals::default());
    assert_eq!(forecast, pool.forecast(START, 15 * MINUTE, 16, 7, &Arrivals::default()));
    let early = forecast.jobs[&JobId(5)].start.unwrap();
    assert!(early.p10 < early.p50 && early.p50 < early.p90, "{early:?}");
    assert!(forecast.jobs.get(&JobId(19)).is_none_or(|outlook| outlook.start.is_none()));
    // 15 one after the other, of which the last one may end at the horizon
    let ends: u32 = forecast.ends.values().sum();
    assert!((14..=15).contains(&ends), "{ends}");
}

/// A pool of one worker with a queue of `jobs` jobs of one tenant, 10 s each.
fn queue(jobs: u128) -> Pool {
    let mut pool = pool(1);
    for id in 0..jobs {
        submit(&mut pool, job(id, 1, |_, _| {}));
    }
    pool.round(START);
    pool
}

/// A job of another tenant, `seconds` after the start or before it.
fn arrival(id: u128, seconds: i64) -> Job {
    job(id, 2, |job, _| job.submitted = START.saturating_add_signed(seconds * 1_000))
}

#[test]
fn a_forecast_of_regular_arrivals_comes_true() {
    let pool = queue(40);
    let past = (1..=10).flat_map(|minute| [7, 31].map(|second| arrival(0, second - 60 * minute)));
    let arrivals = Arrivals::new(past, START - Arrivals::WINDOW, START);
    let forecast = pool.forecast(START, HOUR, 4, 1, &arrivals);
    assert_eq!(forecast.jobs.len(), 39, "jobs that may come are not in it");

    let mut future: Vec<Job> = (0..60)
        .flat_map(|minute| [31, 7].map(|second| arrival(1_000 - minute, second + 60 * minute as i64)))
        .collect();
    future.sort_by_key(|job| std::cmp::Reverse(job.submitted));
    let mut simulation = Simulation::new(pool, START, median);
    let mut starts = BTreeMap::new();
    let mut now = START;
    while starts.len() < 39 {
        while let Some(job) = future.pop_if(|job| job.submitted <= now) {
            let id = JobId(1_000 + u128::from(now));
            simulation.now = now;
            assert!(simulation.apply(Event::Submitted(Job { id, ..job })));
        }
        for step in simulation.step(now) {
            if let Step::Decided(Decision::Start { job, .. }) = step
                && job.0 < 1_000
            {
                starts.insert(job, now);
            }
        }
        let next = simulation.next().into_iter().chain(future.last().map(|job| job.submitted)).min();
        now = next.unwrap().max(now + 1);
    }
    for (id, began) in &starts {
        let all = Quantiles { p10: *began, p50: *began, p90: *began };
        assert_eq!(forecast.jobs[id].start, Some(all), "{id:?}");
    }
    // 38 jobs before it, and two of three slots of the other tenant's
    assert!(starts[&JobId(39)] > START + 500 * SECOND);
}

#[test]
fn one_large_batch_is_not_what_is_usual() {
    let pool = queue(20);
    let batch = (0..200).map(|id| arrival(id, -90));
    let arrivals = Arrivals::new(batch, START - Arrivals::WINDOW, START);
    let forecast = |arrivals| pool.forecast(START, HOUR, 4, 1, &arrivals);
    assert_eq!(forecast(arrivals), forecast(Arrivals::default()));
}

#[test]
fn arrivals_that_are_not_known_for_long_count_for_their_time() {
    let pool = queue(20);
    // a job each 2 s, of which two minutes are known
    let past: Vec<Job> = (1..=60).map(|n| arrival(0, -2 * n)).collect();
    let start = |since| {
        let arrivals = Arrivals::new(past.clone(), since, START);
        pool.forecast(START, HOUR, 4, 1, &arrivals).jobs[&JobId(19)].start.unwrap().p50
    };
    assert!(start(START - 2 * MINUTE) > start(START - Arrivals::WINDOW) + 30 * SECOND);
}
