//! Longer simulations of a pool: starvation and shares.

use atelier_schedule::{Decision, Estimate, Event, Job, Level, Millis, Share, Simulation, Step, TenantId};

use crate::builders::{MINUTE, SECOND, START, job, long, model, pool, share, submit};

fn median(job: &Job) -> Millis {
    job.shape.run.p50
}

fn starts(steps: &[Step], id: u128) -> bool {
    steps.iter().any(|step| matches!(step, Step::Decided(Decision::Start { job, .. }) if job.0 == id))
}

#[test]
fn a_gang_is_not_starved_by_jobs_that_keep_coming() {
    let mut simulation = Simulation::new(pool(4), START, median);
    let mut ids = 0;
    let mut found = None;
    for second in 0..900 {
        let now = START + second * SECOND;
        simulation.now = now;
        // more than four workers finish
        for tenant in [2, 3] {
            ids += 1;
            simulation.apply(Event::Submitted(job(ids, tenant, |job, shape| {
                job.submitted = now;
                shape.run = Estimate::exactly((1 + (ids as u64 * 7) % 12) * SECOND);
            })));
        }
        if second == 30 {
            simulation.apply(Event::Submitted(job(1_000_000, 1, |job, shape| {
                job.submitted = now;
                shape.gang = 4;
            })));
        }
        if starts(&simulation.step(now), 1_000_000) {
            found = Some(second);
            break;
        }
    }
    let second = found.expect("the gang starts");
    assert!(second < 30 + 60, "after {} s", second - 30);
}

#[test]
fn a_rare_model_is_not_starved_by_popular_ones() {
    let mut simulation = Simulation::new(pool(2), START, median);
    let mut found = None;
    for second in 0..4_000u64 {
        let now = START + second * SECOND;
        simulation.now = now;
        // twice what two workers finish
        if second % 3 == 0 {
            simulation.apply(Event::Submitted(job(u128::from(second) + 1, 1, |job, shape| {
                job.submitted = now;
                model(shape, 1 + u128::from(second / 3 % 3), 20 * SECOND);
            })));
        }
        if second == 300 {
            simulation.apply(Event::Submitted(job(1_000_000, 1, |job, shape| {
                job.submitted = now;
                model(shape, 9, 20 * SECOND);
            })));
        }
        if starts(&simulation.step(now), 1_000_000) {
            found = Some(second);
            break;
        }
    }
    let second = found.expect("the rare model is loaded");
    assert!(second < 300 + 1_800, "after {} s", second - 300);
}

/// Parts of the time of all units, in ten thousandths, that four tenants use in 20 minutes.
fn parts(shares: [Share; 4], seconds: [u64; 4]) -> [u64; 4] {
    let mut pool = pool(20);
    for (tenant, one) in shares.iter().enumerate() {
        share(&mut pool, tenant as u128, *one);
    }
    for id in 0..4_800u128 {
        submit(
            &mut pool,
            job(id, id % 4, |_, shape| shape.run = Estimate::exactly(seconds[(id % 4) as usize] * SECOND)),
        );
    }
    let mut simulation = Simulation::new(pool, START, median);
    let (mut used, mut now) = ([0; 4], START);
    while now < START + 20 * MINUTE {
        simulation.step(now);
        let next = simulation.next().unwrap().max(now + 1);
        for (tenant, used) in used.iter_mut().enumerate() {
            *used += u64::from(simulation.pool.held_by(TenantId(tenant as u128))) * (next - now);
        }
        now = next;
    }
    let all: u64 = used.iter().sum();
    assert!(all >= 20 * 20 * MINUTE, "units were idle");
    used.map(|used| used * 10_000 / all)
}

#[test]
fn shares_follow_the_weights() {
    let shares = [1_000, 2_000, 3_000, 4_000].map(|weight| Share { weight, ..Share::default() });
    let parts = parts(shares, [10, 20, 30, 60]);
    for (part, expected) in parts.iter().zip([1_000, 2_000, 3_000, 4_000u64]) {
        assert!(part.abs_diff(expected) <= 300, "{parts:?}");
    }
}

#[test]
fn what_is_not_guaranteed_is_shared_by_weight() {
    // 10 of 20 units are guaranteed to the first; the other half is shared by all four
    let mut shares = [Share::default(); 4];
    shares[0].guarantee = 10;
    let parts = parts(shares, [20; 4]);
    for (part, expected) in parts.iter().zip([6_250, 1_250, 1_250, 1_250u64]) {
        assert!(part.abs_diff(expected) <= 300, "{parts:?}");
    }
}

#[test]
fn a_tenant_gets_no_credit_for_a_pause() {
    let mut pool = pool(10);
    for id in 0..4_000 {
        submit(&mut pool, job(id, 1, |_, _| {}));
    }
    let mut simulation = Simulation::new(pool, START, median);
    let mut now = START;
    let mut arrived = false;
    while now < START + 40 * MINUTE {
        if !arrived && now >= START + 30 * MINUTE {
            arrived = true;
            for id in 10_000..12_000 {
                simulation.now = now;
                simulation.apply(Event::Submitted(job(id, 2, |job, _| job.submitted = now)));
            }
        }
        simulation.step(now);
        assert!(
            simulation.pool.held_by(TenantId(2)) <= 7,
            "the newcomer holds {}",
            simulation.pool.held_by(TenantId(2))
        );
        now = simulation.next().unwrap().max(now + 1);
    }
    assert!(simulation.pool.held_by(TenantId(2)) >= 4);
}

#[test]
fn urgent_jobs_do_not_make_ordinary_ones_starve() {
    let mut pool = pool(4);
    share(&mut pool, 1, Share { urgent: 1, ..Share::default() });
    for id in 0..100 {
        submit(&mut pool, job(id, 1, |_, shape| shape.level = Level::Urgent));
    }
    for id in 100..200 {
        submit(&mut pool, job(id, 2, |_, _| {}));
    }
    submit(&mut pool, long(300, 2));
    let mut simulation = Simulation::new(pool, START, median);
    let mut now = START;
    while now < START + 2 * MINUTE {
        simulation.step(now);
        assert!(simulation.pool.held_by(TenantId(2)) >= 1);
        now = simulation.next().unwrap().max(now + 1);
    }
}
