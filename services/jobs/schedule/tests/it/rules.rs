//! Order, quanta, gangs, time and explanations, each rule in a small pool.

use atelier_schedule::{
    Arrivals, Decision, Ending, Estimate, Event, Hold, JobId, Level, Pool, Refused, Rule, Share, State,
    TenantId, Waiting, WorkerId,
};

use crate::{
    builders::{
        HOUR, MINUTE, OTHER, SECOND, SPEC, START, end, job, long, model, pool, share, started, submit,
        workers_of,
    },
    invariants::check,
};

#[test]
fn levels_go_first_then_priority_then_age() {
    let mut pool = pool(1);
    submit(&mut pool, job(1, 1, |_, shape| shape.level = Level::Background));
    submit(&mut pool, job(2, 1, |_, _| {}));
    submit(&mut pool, job(3, 1, |job, _| job.priority = 8));
    submit(&mut pool, job(4, 1, |_, shape| shape.level = Level::Urgent));
    submit(&mut pool, job(5, 1, |job, _| job.submitted = START + 1));
    let mut order = Vec::new();
    for now in START.. {
        let decisions = pool.round(now);
        check(&pool, now);
        let Some(next) = started(&decisions).first().copied() else { break };
        order.push(next);
        end(&mut pool, next, now);
    }
    assert_eq!(order, [4, 3, 2, 5, 1]);
}

#[test]
fn ten_starts_count_before_the_first_has_ended() {
    let mut pool = pool(8);
    for id in 0..20 {
        submit(&mut pool, job(id, 1, |_, _| {}));
        submit(&mut pool, job(100 + id, 2, |_, _| {}));
    }
    let decisions = pool.round(START);
    assert_eq!(started(&decisions).iter().filter(|id| **id < 100).count(), 4);
}

#[test]
fn time_that_was_charged_but_not_used_is_refunded() {
    let mut pool = pool(2);
    submit(&mut pool, job(1, 1, |_, shape| shape.run = Estimate::exactly(100 * SECOND)));
    submit(&mut pool, job(2, 2, |_, shape| shape.run = Estimate::exactly(10 * SECOND)));
    pool.round(START);
    let usage = |pool: &Pool, tenant| pool.tenant(TenantId(tenant)).unwrap().usage;
    assert_eq!(usage(&pool, 1), 10 * usage(&pool, 2), "charged at the start");
    end(&mut pool, 1, START + 10 * SECOND);
    end(&mut pool, 2, START + 10 * SECOND);
    assert_eq!(usage(&pool, 1), usage(&pool, 2));
}

#[test]
fn an_attempt_that_goes_on_is_charged_again() {
    let mut pool = pool(2);
    submit(&mut pool, job(1, 1, |_, shape| shape.run = Estimate::exactly(5 * SECOND)));
    pool.round(START);
    let usage = |pool: &Pool| pool.tenant(TenantId(1)).unwrap().usage;
    let first = usage(&pool);
    pool.round(START + 4 * SECOND);
    assert_eq!(usage(&pool), first);
    pool.round(START + 5 * SECOND);
    assert_eq!(usage(&pool), 2 * first);
}

#[test]
fn an_epoch_divides_all_use() {
    let mut pool = pool(3);
    for tenant in 1..4u128 {
        let run = Estimate::exactly(tenant as u64 * 100 * SECOND);
        submit(&mut pool, job(tenant, tenant, |_, shape| shape.run = run));
    }
    pool.round(START);
    let usage = |pool: &Pool, tenant| pool.tenant(TenantId(tenant)).unwrap().usage;
    let before = [1, 2, 3].map(|tenant| usage(&pool, tenant));
    // an attempt that is not charged meanwhile, since no round was due
    pool.apply(Event::ShareSet(TenantId(9), Share::default()), START + 17 * HOUR).unwrap();
    let after = [1, 2, 3].map(|tenant| usage(&pool, tenant));
    assert!(after[0] > 0 && after[0] < before[0] >> 30, "{before:?} {after:?}");
    assert_eq!(after.map(|usage| usage / after[0]), [1, 2, 3]);
    assert_eq!(Pool::restore(pool.snapshot()), pool);
}

#[test]
fn urgent_above_the_allowance_is_ordinary() {
    let mut pool = pool(3);
    for id in 0..3 {
        submit(&mut pool, job(id, 1, |_, shape| shape.level = Level::Urgent));
        submit(&mut pool, job(10 + id, 2, |_, _| {}));
        submit(&mut pool, job(20 + id, 3, |_, _| {}));
    }
    let started = started(&pool.round(START));
    assert_eq!(started[0], 0, "the first is within the allowance");
    assert!(started.contains(&10) && started.contains(&20), "{started:?}");
    let explanation = pool.explain(JobId(1), START).unwrap();
    assert_eq!(explanation.waiting, Waiting::UrgentSpent { held: 1, allowance: 1 });
    assert!(matches!(explanation.waiting, Waiting::UrgentSpent { .. }), "{explanation:?}");
}

#[test]
fn who_comes_back_is_level_with_what_others_have_used_and_not_with_what_they_are_charged_ahead() {
    // the first tenant's jobs are shorter than expected: most of what each is charged at its start is refunded
    let short = |id, tenant| job(id, tenant, |_, shape| shape.run = Estimate::exactly(MINUTE));
    let mut pool = pool(2);
    for id in 0..100 {
        submit(&mut pool, short(id, 1));
    }
    let mut now = START;
    for id in 0..20 {
        assert_eq!(started(&pool.round(now)), if id == 0 { vec![0, 1] } else { vec![id + 1] });
        now += SECOND;
        end(&mut pool, id, now);
    }
    pool.round(now);
    submit(&mut pool, job(5_000, 2, |job, _| job.submitted = now));
    end(&mut pool, 20, now + SECOND);
    assert_eq!(started(&pool.round(now + SECOND)), [5_000]);
    check(&pool, now + SECOND);
}

#[test]
fn urgent_jobs_of_one_tenant_leave_turns_to_the_others() {
    let mut pool = pool(1);
    for id in 0..100 {
        submit(&mut pool, job(id, 3, |_, shape| shape.level = Level::Urgent));
    }
    submit(&mut pool, job(4_000, 3, |_, _| {}));
    let run = |pool: &mut Pool, from: u64, count: u64| -> Vec<u128> {
        let rounds = (from..from + count).map(|n| START + n * 10 * SECOND);
        let ran = rounds.flat_map(|now| {
            let ran = started(&pool.round(now));
            check(pool, now);
            ran.iter().for_each(|id| end(pool, *id, now + 10 * SECOND));
            ran
        });
        ran.collect()
    };
    // the tenant's own ordinary job waits for all of them
    assert_eq!(run(&mut pool, 0, 10), (0..10).collect::<Vec<_>>());
    for id in 5_000..5_003 {
        submit(&mut pool, job(id, 2, |_, _| {}));
    }
    let after = run(&mut pool, 10, 12);
    assert_eq!(after, [5_000, 10, 11, 12, 13, 5_001, 14, 15, 16, 17, 5_002, 18]);
}

#[test]
fn urgent_jobs_leave_turns_on_a_loaded_worker_too() {
    let mut pool = pool(1);
    let ask = |id, tenant, level| {
        job(id, tenant, |_, shape| {
            model(shape, 1, SECOND);
            shape.level = level;
        })
    };
    for id in 0..100 {
        submit(&mut pool, ask(id, 1, Level::Urgent));
    }
    submit(&mut pool, ask(1_000, 2, Level::Ordinary));
    let mut order = Vec::new();
    for now in (START..).step_by(10_000).take(6) {
        let decisions = pool.round(now);
        let [next] = started(&decisions)[..] else { panic!("{decisions:?}") };
        order.push(next);
        end(&mut pool, next, now + 10 * SECOND);
    }
    assert_eq!(order, [0, 1, 2, 3, 1_000, 4]);
}

#[test]
fn a_limit_stops_a_tenant_and_nobody_else() {
    let mut pool = pool(4);
    share(&mut pool, 1, Share { limit: 1, ..Share::default() });
    submit(&mut pool, job(1, 1, |_, _| {}));
    submit(&mut pool, job(2, 1, |_, _| {}));
    submit(&mut pool, job(3, 2, |_, _| {}));
    assert_eq!(started(&pool.round(START)), [1, 3]);
    assert_eq!(pool.explain(JobId(2), START).unwrap().waiting, Waiting::Quota { held: 1, limit: 1 });
    // a gang must not exceed it either
    share(&mut pool, 2, Share { limit: 2, ..Share::default() });
    submit(&mut pool, job(4, 2, |_, shape| shape.gang = 2));
    assert_eq!(started(&pool.round(START)), []);
    end(&mut pool, 1, START + 1);
    assert_eq!(started(&pool.round(START + 1)), [2]);
}

#[test]
fn a_worker_keeps_its_model_for_a_quantum() {
    let mut pool = pool(1);
    let ask = |id, number| job(id, 1, |_, shape| model(shape, number, 10 * SECOND));
    submit(&mut pool, ask(1, 1));
    pool.round(START);
    submit(&mut pool, ask(2, 2));
    submit(&mut pool, ask(3, 1));
    end(&mut pool, 1, START + 20 * SECOND);
    let now = START + 20 * SECOND;
    assert!(matches!(pool.explain(JobId(2), now).unwrap().waiting, Waiting::Quantum { .. }));
    let decisions = pool.round(now);
    assert_eq!(
        decisions,
        [Decision::Start { job: JobId(3), workers: vec![WorkerId(0)], load: false, rule: Rule::Quantum }]
    );
    // after the quantum the global order decides
    submit(&mut pool, ask(4, 1));
    end(&mut pool, 3, START + 200 * SECOND);
    assert_eq!(started(&pool.round(START + 200 * SECOND)), [2]);
    check(&pool, START + 200 * SECOND);
}

#[test]
fn a_worker_without_work_for_its_model_switches_at_once() {
    let mut pool = pool(1);
    submit(&mut pool, job(1, 1, |_, shape| model(shape, 1, SECOND)));
    pool.round(START);
    submit(&mut pool, job(2, 1, |_, shape| model(shape, 2, SECOND)));
    end(&mut pool, 1, START + 1);
    let decisions = pool.round(START + 1);
    assert!(matches!(decisions[..], [Decision::Start { job: JobId(2), load: true, .. }]), "{decisions:?}");
}

#[test]
fn an_urgent_job_does_not_wait_for_a_quantum() {
    let mut pool = pool(1);
    submit(&mut pool, job(1, 1, |_, shape| model(shape, 1, SECOND)));
    pool.round(START);
    submit(&mut pool, job(2, 1, |_, shape| model(shape, 1, SECOND)));
    submit(
        &mut pool,
        job(3, 1, |_, shape| {
            model(shape, 2, SECOND);
            shape.level = Level::Urgent;
        }),
    );
    end(&mut pool, 1, START + 1);
    assert_eq!(started(&pool.round(START + 1)), [3]);
}

#[test]
fn a_switch_takes_the_model_with_most_age_for_each_worker() {
    let mut pool = pool(1);
    submit(&mut pool, long(1, 1));
    pool.round(START);
    submit(&mut pool, job(2, 1, |_, shape| model(shape, 1, SECOND)));
    for id in 3..6 {
        submit(
            &mut pool,
            job(id, 1, |job, shape| {
                job.submitted = START + SECOND;
                model(shape, 2, SECOND);
            }),
        );
    }
    end(&mut pool, 1, START + MINUTE);
    assert_eq!(started(&pool.round(START + MINUTE)), [3]);
}

#[test]
fn a_loaded_worker_is_preferred() {
    let mut pool = pool(4);
    for id in 0..4 {
        submit(&mut pool, job(id, 1, |_, shape| model(shape, id, SECOND)));
    }
    pool.round(START);
    let worker = workers_of(&pool, 2);
    (0..4).for_each(|id| end(&mut pool, id, START + 1));
    submit(&mut pool, job(9, 1, |_, shape| model(shape, 2, SECOND)));
    pool.round(START + 1);
    assert_eq!(workers_of(&pool, 9), worker);
}

#[test]
fn a_gang_starts_with_all_workers_or_none() {
    let mut pool = pool(4);
    submit(&mut pool, job(1, 1, |_, _| {}));
    submit(&mut pool, job(2, 2, |_, shape| shape.gang = 4));
    let decisions = pool.round(START);
    assert_eq!(started(&decisions), [1]);
    let reserve = decisions.iter().find_map(|decision| match decision {
        Decision::Reserve { job, at, workers, .. } => Some((*job, *at, workers.len())),
        _ => None,
    });
    assert_eq!(reserve, None, "the tenant of the gang came second");
    let decisions = pool.round(START + 1);
    assert!(
        matches!(&decisions[..], [Decision::Reserve { job: JobId(2), at, workers, .. }]
            if *at == START + 10 * SECOND && workers.len() == 4),
        "{decisions:?}"
    );
    end(&mut pool, 1, START + 10 * SECOND);
    let decisions = pool.round(START + 10 * SECOND);
    assert!(
        matches!(&decisions[..], [Decision::Start { job: JobId(2), workers, rule: Rule::Reservation, .. }]
            if workers.len() == 4),
        "{decisions:?}"
    );
}

#[test]
fn short_jobs_use_workers_that_are_kept_for_a_gang() {
    let mut pool = pool(4);
    submit(&mut pool, job(1, 1, |_, shape| shape.run = Estimate::exactly(MINUTE)));
    pool.round(START);
    submit(&mut pool, job(2, 2, |_, shape| shape.gang = 4));
    pool.round(START);
    submit(&mut pool, job(3, 3, |_, shape| shape.run = Estimate::exactly(MINUTE)));
    submit(&mut pool, job(4, 3, |_, shape| shape.run = Estimate::exactly(MINUTE + 1)));
    submit(&mut pool, job(5, 3, |_, shape| shape.run = Estimate { p50: SECOND, p90: 2 * MINUTE }));
    submit(
        &mut pool,
        job(6, 3, |_, shape| {
            shape.gang = 2;
            shape.run = Estimate::exactly(2 * MINUTE);
        }),
    );
    assert_eq!(started(&pool.round(START)), [3]);
    assert_eq!(
        pool.explain(JobId(4), START).unwrap().waiting,
        Waiting::Reserved { job: JobId(2), until: START + MINUTE }
    );
    assert_eq!(
        pool.explain(JobId(2), START).unwrap().waiting,
        Waiting::Gathering { at: START + MINUTE, workers: 4 }
    );
    check(&pool, START);
}

#[test]
fn delayed_expired_and_promoted_jobs() {
    let mut pool = pool(1);
    submit(&mut pool, long(1, 1));
    pool.round(START);
    submit(&mut pool, job(2, 1, |job, _| job.not_before = START + MINUTE));
    submit(&mut pool, job(3, 1, |job, _| job.deadline = Some(START + 2 * MINUTE)));
    submit(&mut pool, job(4, 1, |_, shape| shape.level = Level::Background));
    assert_eq!(pool.explain(JobId(2), START).unwrap().waiting, Waiting::NotBefore { at: START + MINUTE });
    assert_eq!(pool.next_wake(START), Some(START + MINUTE));
    assert_eq!(pool.round(START + MINUTE), []);
    assert_eq!(pool.job(JobId(2)).unwrap().state, State::Queued { since: START + MINUTE });
    assert_eq!(pool.round(START + 2 * MINUTE), [Decision::Expire { job: JobId(3) }]);
    assert!(pool.job(JobId(3)).is_none());
    assert_eq!(pool.round(START + 6 * HOUR), [Decision::Promote { job: JobId(4) }]);
    check(&pool, START + 6 * HOUR);
}

#[test]
fn jobs_of_a_held_tenant_leave_and_wait_until_it_is_released() {
    let mut pool = pool(2);
    let guaranteed = Share { guarantee: 2, ..Share::default() };
    share(&mut pool, 1, guaranteed);
    for id in 1..4 {
        submit(&mut pool, long(id, 1));
    }
    assert_eq!(started(&pool.round(START)), [1, 2]);
    pool.apply(Event::TenantHeld(TenantId(1), Some(Hold::TenantSuspended)), START).unwrap();
    assert_eq!(pool.round(START), [Decision::Stop { job: JobId(1) }, Decision::Stop { job: JobId(2) }]);
    check(&pool, START);
    assert_eq!(pool.round(START + SECOND), [], "each is told once");
    for id in 1..3 {
        pool.apply(Event::Ended(JobId(id), Ending::Retry { not_before: START }), START + SECOND).unwrap();
    }
    // held jobs are no demand: they neither make a guarantee unmet nor request units
    let later = START + HOUR;
    assert_eq!(pool.round(later), []);
    assert_eq!((pool.wanted(SPEC), pool.below_guarantee(), pool.queued().len()), (0, 0, 0));
    let why = pool.explain(JobId(3), later).unwrap();
    assert_eq!(why.waiting, Waiting::Held(Hold::TenantSuspended));
    let forecast = pool.forecast(later, HOUR, 2, 0, &Arrivals::default());
    assert!(forecast.jobs.is_empty(), "{forecast:?}");
    check(&pool, later);
    // other tenants have the workers, and a job that is submitted while its tenant is held waits too
    submit(&mut pool, job(10, 2, |job, _| job.submitted = later));
    submit(&mut pool, job(4, 1, |job, _| job.submitted = later));
    assert_eq!(started(&pool.round(later)), [10]);
    assert_eq!(pool.job(JobId(3)).unwrap().state, State::Queued { since: START }, "it keeps its place");
    pool.apply(Event::TenantHeld(TenantId(1), None), later).unwrap();
    assert_eq!(started(&pool.round(later)), [1], "in its place");
    assert_eq!(pool.job(JobId(1)).unwrap().job.preemptions, 0);
    check(&pool, later);
}

#[test]
fn what_runs_goes_on_while_it_is_not_known_what_a_tenant_may_spend() {
    let mut pool = pool(2);
    submit(&mut pool, long(1, 1));
    assert_eq!(started(&pool.round(START)), [1]);
    pool.apply(Event::TenantHeld(TenantId(1), Some(Hold::AllowanceExpired)), START).unwrap();
    submit(&mut pool, long(2, 1));
    assert_eq!(pool.round(START + SECOND), [], "nothing starts, and nothing is told to leave");
    let why = pool.explain(JobId(2), START + SECOND).unwrap();
    assert_eq!(why.waiting, Waiting::Held(Hold::AllowanceExpired));
    check(&pool, START + SECOND);
    // then it is known that nothing is left
    pool.apply(Event::TenantHeld(TenantId(1), Some(Hold::BudgetExhausted)), START + SECOND).unwrap();
    assert_eq!(pool.round(START + SECOND), [Decision::Stop { job: JobId(1) }]);
    check(&pool, START + SECOND);
}

#[test]
fn nothing_is_kept_for_a_held_tenant() {
    let mut pool = pool(4);
    for id in 1..4 {
        submit(&mut pool, job(id, 1, |_, shape| shape.run = Estimate::exactly(MINUTE)));
    }
    pool.round(START);
    submit(&mut pool, job(9, 2, |_, shape| (shape.gang, shape.specs) = (4, vec![SPEC])));
    pool.round(START);
    assert_eq!(pool.snapshot().reservations.len(), 1);
    submit(&mut pool, long(10, 1));
    assert_eq!(started(&pool.round(START)), [], "the idle worker is reserved");
    pool.apply(Event::TenantHeld(TenantId(2), Some(Hold::TenantSuspended)), START).unwrap();
    assert_eq!(started(&pool.round(START)), [10]);
    assert!(pool.snapshot().reservations.is_empty());
    check(&pool, START);
}

#[test]
fn waiting_jobs_say_why() {
    let mut pool = pool(1);
    submit(&mut pool, long(1, 1));
    pool.round(START);
    submit(&mut pool, job(2, 1, |_, _| {}));
    submit(&mut pool, job(3, 1, |_, _| {}));
    submit(&mut pool, job(4, 2, |_, _| {}));
    submit(&mut pool, job(5, 2, |_, shape| shape.specs = vec![OTHER]));
    submit(&mut pool, job(6, 3, |_, shape| shape.gang = 2));
    pool.round(START);
    let why = |id| pool.explain(JobId(id), START).unwrap();
    assert_eq!((why(3).waiting, why(3).ahead_of_own), (Waiting::BehindOwn { jobs: 1 }, 1));
    assert_eq!(
        why(2).waiting,
        Waiting::BehindShare { ahead: vec![TenantId(2), TenantId(3)], held: 1, weight: 1_000 },
        "newcomers start level with what the other has used, and that one is charged for what it uses now"
    );
    assert_eq!(why(4).waiting, Waiting::Busy { until: Some(START + HOUR) });
    assert_eq!(why(5).waiting, Waiting::NoUnit { specs: vec![OTHER], units: 1 });
    assert_eq!(why(6).waiting, Waiting::NoUnit { specs: vec![SPEC], units: 2 });
    assert!(pool.explain(JobId(1), START).is_none());
}

#[test]
fn events_that_do_not_fit_are_refused() {
    let mut pool = pool(1);
    submit(&mut pool, job(1, 1, |_, _| {}));
    let before = pool.clone();
    let refused = |pool: &mut Pool, event| pool.apply(event, START).unwrap_err();
    assert_eq!(refused(&mut pool, Event::Submitted(job(1, 2, |_, _| {}))), Refused::DuplicateJob);
    assert_eq!(refused(&mut pool, Event::Submitted(job(2, 2, |_, s| s.gang = 0))), Refused::AsksForNothing);
    assert_eq!(
        refused(&mut pool, Event::Changed(job(1, 1, |_, s| s.specs.clear()))),
        Refused::AsksForNothing
    );
    assert_eq!(refused(&mut pool, Event::Cancelled(JobId(9))), Refused::UnknownJob);
    assert_eq!(refused(&mut pool, Event::Ended(JobId(1), Ending::Done)), Refused::NotRunning);
    assert_eq!(refused(&mut pool, Event::WorkerRemoved(WorkerId(9))), Refused::UnknownWorker);
    assert_eq!(pool, before);
    pool.round(START);
    assert_eq!(refused(&mut pool, Event::Cancelled(JobId(1))), Refused::Running);
}
