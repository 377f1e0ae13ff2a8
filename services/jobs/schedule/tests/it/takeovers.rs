//! Preemption, each rule in a small pool.

use atelier_schedule::{
    Cause, Decision, Estimate, Event, Job, JobId, Level, Pool, Rule, Shape, Share, Tenure,
};

use crate::{
    builders::{
        HOUR, MINUTE, OTHER, SECOND, START, add, end, job, leave, long, pool, preempted, share, started,
        submit, workers_of,
    },
    invariants::check,
};

#[test]
fn a_job_of_a_lower_level_that_overruns_a_reservation_leaves() {
    let mut pool = pool(2);
    submit(&mut pool, job(1, 1, |_, shape| shape.level = Level::Background));
    pool.round(START);
    submit(&mut pool, job(2, 2, |_, shape| shape.gang = 2));
    pool.round(START);
    assert_eq!(preempted(&pool.round(START + 10 * SECOND)), []);
    assert_eq!(preempted(&pool.round(START + 11 * SECOND)), [1]);
    leave(&mut pool, 1, START + 12 * SECOND);
    assert_eq!(started(&pool.round(START + 12 * SECOND)), [2]);
}

/// A tenant without guarantee has all four units; another has a guarantee of two.
fn borrowed() -> Pool {
    let mut pool = pool(4);
    share(&mut pool, 2, Share { guarantee: 2, ..Share::default() });
    for id in 0..4 {
        submit(&mut pool, long(id, 1));
        pool.round(START + id as u64);
    }
    pool
}

#[test]
fn a_guarantee_takes_back_what_was_borrowed_after_half_a_minute() {
    let mut pool = borrowed();
    let asked = START + 10 * SECOND;
    for id in 10..14 {
        submit(&mut pool, job(id, 2, |job, _| job.submitted = asked));
    }
    assert_eq!(pool.round(asked + 29 * SECOND), []);
    let mut now = asked + 30 * SECOND;
    let mut victims = Vec::new();
    for _ in 0..6 {
        let decisions = pool.round(now);
        check(&pool, now);
        victims.extend(preempted(&decisions));
        for id in preempted(&decisions) {
            leave(&mut pool, id, now + 1);
        }
        now += SECOND;
    }
    assert_eq!(victims, [3, 2], "the youngest lose least, and no more than the guarantee");
    assert_eq!(workers_of(&pool, 10).len() + workers_of(&pool, 11).len(), 2);
    assert!(pool.explain(JobId(12), now).is_some());
}

#[test]
fn nobody_within_a_guarantee_is_a_victim() {
    let mut pool = borrowed();
    share(&mut pool, 1, Share { guarantee: 3, ..Share::default() });
    let asked = START + 10 * SECOND;
    submit(&mut pool, job(10, 2, |job, _| job.submitted = asked));
    submit(&mut pool, job(11, 2, |job, _| job.submitted = asked));
    let mut victims = Vec::new();
    for second in 0..120 {
        victims.extend(preempted(&pool.round(asked + second * SECOND)));
    }
    assert_eq!(victims, [3]);
}

#[test]
fn an_urgent_job_takes_a_background_one_after_two_seconds() {
    let mut pool = pool(2);
    for (id, level) in [(1, Level::Background), (2, Level::Ordinary)] {
        submit(
            &mut pool,
            job(id, 1, |_, shape| {
                shape.level = level;
                shape.run = Estimate::exactly(HOUR);
            }),
        );
    }
    pool.round(START);
    let urgent = |job: &mut Job, shape: &mut Shape| {
        job.submitted = START + MINUTE;
        shape.level = Level::Urgent;
    };
    submit(&mut pool, job(3, 2, urgent));
    assert_eq!(pool.round(START + MINUTE + SECOND), []);
    let decisions = pool.round(START + MINUTE + 2 * SECOND);
    assert_eq!(decisions, [Decision::Preempt { job: JobId(1), taker: JobId(3), cause: Cause::Urgent }]);
    // the freed worker goes to that tenant, whichever other jobs wait
    submit(&mut pool, job(4, 3, urgent));
    leave(&mut pool, 1, START + MINUTE + 3 * SECOND);
    let decisions = pool.round(START + MINUTE + 3 * SECOND);
    assert!(matches!(decisions[0], Decision::Start { job: JobId(3), rule: Rule::Nomination, .. }));
    assert_eq!(pool.job(JobId(1)).unwrap().job.preemptions, 1);
}

#[test]
fn an_urgent_job_takes_an_ordinary_one_only_from_who_has_more() {
    let mut pool = pool(4);
    for (id, tenant) in [(0, 1), (1, 1), (2, 1), (3, 2)] {
        submit(&mut pool, long(id, tenant));
    }
    pool.round(START);
    let urgent = |id, tenant| {
        job(id, tenant, |job, shape| {
            job.submitted = START + MINUTE;
            shape.level = Level::Urgent;
        })
    };
    // 2 with the new one against 2 without the lost one: not 10 % less
    submit(&mut pool, urgent(10, 2));
    assert_eq!(preempted(&pool.round(START + MINUTE + 5 * SECOND)), []);
    submit(&mut pool, urgent(11, 3));
    assert_eq!(preempted(&pool.round(START + MINUTE + 5 * SECOND)), [0]);
}

#[test]
fn a_job_is_preempted_three_times_at_most_and_safe_for_a_minute() {
    let mut pool = pool(1);
    submit(
        &mut pool,
        job(1, 1, |_, shape| {
            shape.level = Level::Background;
            shape.run = Estimate::exactly(HOUR);
        }),
    );
    let mut now = START;
    let mut preemptions = 0;
    for id in 10..16 {
        pool.round(now);
        now += 2 * SECOND;
        submit(
            &mut pool,
            job(id, 2, |job, shape| {
                job.submitted = now;
                shape.level = Level::Urgent;
            }),
        );
        let soon = preempted(&pool.round(now + 3 * SECOND));
        assert_eq!(soon.is_empty(), id > 10, "a restarted job is safe for a minute");
        now += 70 * SECOND;
        let victims = if soon.is_empty() { preempted(&pool.round(now)) } else { soon };
        if victims.is_empty() {
            break;
        }
        preemptions += 1;
        leave(&mut pool, 1, now);
        assert_eq!(started(&pool.round(now)), [id]);
        end(&mut pool, id, now + SECOND);
        now += SECOND;
    }
    assert_eq!(preemptions, 3);
}

#[test]
fn the_cheapest_loss_is_taken() {
    let mut pool = pool(3);
    for id in 0..3 {
        submit(
            &mut pool,
            job(id, 1, |_, shape| {
                shape.level = Level::Background;
                shape.checkpoints = true;
                shape.run = Estimate::exactly(HOUR);
            }),
        );
        pool.round(START + id as u64 * MINUTE);
    }
    pool.apply(Event::Checkpointed(JobId(1)), START + 9 * MINUTE).unwrap();
    submit(
        &mut pool,
        job(10, 2, |job, shape| {
            job.submitted = START + 10 * MINUTE;
            shape.level = Level::Urgent;
        }),
    );
    assert_eq!(preempted(&pool.round(START + 10 * MINUTE + 2 * SECOND)), [1]);
}

#[test]
fn nothing_is_taken_from_a_higher_level() {
    let mut pool = pool(4);
    share(&mut pool, 1, Share { urgent: 4, ..Share::default() });
    share(&mut pool, 2, Share { guarantee: 2, ..Share::default() });
    for id in 0..4 {
        submit(
            &mut pool,
            job(id, 1, |_, shape| {
                shape.level = Level::Urgent;
                shape.run = Estimate::exactly(HOUR);
            }),
        );
    }
    pool.round(START);
    submit(&mut pool, job(10, 2, |_, _| {}));
    assert_eq!(preempted(&pool.round(START + MINUTE)), []);
    submit(&mut pool, job(11, 2, |_, shape| shape.level = Level::Urgent));
    assert_eq!(preempted(&pool.round(START + 2 * MINUTE)), [0]);
}

#[test]
fn what_others_left_is_not_used_above_the_limit() {
    let mut pool = pool(1);
    share(&mut pool, 2, Share { limit: 1, ..Share::default() });
    submit(
        &mut pool,
        job(1, 1, |_, shape| (shape.level, shape.run) = (Level::Background, Estimate::exactly(HOUR))),
    );
    pool.round(START);
    submit(&mut pool, job(2, 2, |_, shape| shape.level = Level::Urgent));
    submit(&mut pool, job(3, 2, |_, shape| shape.specs = vec![OTHER]));
    pool.round(START);
    assert_eq!(preempted(&pool.round(START + 2 * SECOND)), [1]);
    add(&mut pool, 9, 9, OTHER, Tenure::Firm);
    assert_eq!(started(&pool.round(START + 3 * SECOND)), [3]);
    leave(&mut pool, 1, START + 4 * SECOND);
    assert_eq!(started(&pool.round(START + 4 * SECOND)), [1], "the tenant of the urgent job is at its limit");
    check(&pool, START + 4 * SECOND);
    end(&mut pool, 3, START + 5 * SECOND);
    assert_eq!(preempted(&pool.round(START + 5 * SECOND)), [0; 0], "who has just been preempted is safe");
}
