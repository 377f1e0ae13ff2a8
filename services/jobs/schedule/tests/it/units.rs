//! Nodes, groups, units that come and go, lending.

use atelier_schedule::{
    Decision, Ending, Estimate, Event, GroupId, GroupMode, JobId, NodeId, Pool, Share, Spec, State, Tenure,
    Waiting, WantedBack, WorkerId,
};

use crate::{
    builders::{
        HOUR, MINUTE, OTHER, SECOND, SPEC, START, add, end, job, long, pool, share, started, submit,
        workers_of,
    },
    invariants::check,
};

fn strict(group: u128) -> Option<(GroupId, GroupMode)> {
    Some((GroupId(group), GroupMode::Strict))
}

#[test]
fn a_single_job_goes_to_the_node_of_least_free_degree() {
    let mut pool = pool(12);
    submit(&mut pool, long(1, 1));
    pool.round(START);
    let first = workers_of(&pool, 1)[0] / 4;
    for id in 2..5 {
        submit(&mut pool, long(id, 1));
        pool.round(START);
        assert_eq!(workers_of(&pool, id)[0] / 4, first);
    }
    let capacity = pool.capacity();
    assert_eq!(capacity[&NodeId(first)].free_degree, 0);
    assert_eq!(capacity.values().map(|node| node.free_degree).sum::<u64>(), 2_000);
    // so a gang on one node still fits
    submit(&mut pool, job(9, 1, |_, shape| (shape.gang, shape.same_node) = (4, true)));
    pool.round(START);
    let nodes: Vec<u128> = workers_of(&pool, 9).into_iter().map(|worker| worker / 4).collect();
    assert!(nodes.iter().all(|node| *node == nodes[0]));
    check(&pool, START);
}

#[test]
fn specifications_are_taken_in_the_order_of_the_job() {
    let mut pool = pool(1);
    add(&mut pool, 50, 50, OTHER, Tenure::Firm);
    let ask = |id| job(id, 1, |_, shape| shape.specs = vec![OTHER, SPEC]);
    submit(&mut pool, ask(1));
    submit(&mut pool, ask(2));
    pool.round(START);
    assert_eq!((workers_of(&pool, 1), workers_of(&pool, 2)), (vec![50], vec![0]));
}

#[test]
fn a_strict_group_holds_one_node() {
    let mut pool = pool(8);
    let ask = |id, group| job(id, 1, |_, shape| shape.group = strict(group));
    for id in 0..6 {
        submit(&mut pool, ask(id, 1));
    }
    submit(&mut pool, ask(10, 2));
    submit(&mut pool, ask(11, 3));
    let decisions = pool.round(START);
    check(&pool, START);
    let bound: Vec<_> =
        decisions.iter().filter(|decision| matches!(decision, Decision::Bind { .. })).collect();
    assert_eq!(bound.len(), 2, "{bound:?}");
    assert_eq!(started(&decisions), [0, 1, 2, 3, 10]);
    assert!(matches!(pool.explain(JobId(4), START).unwrap().waiting, Waiting::GroupNode { .. }));
    let Waiting::GroupsHoldAllNodes { groups, .. } = pool.explain(JobId(11), START).unwrap().waiting else {
        panic!("{:?}", pool.explain(JobId(11), START));
    };
    assert_eq!(groups, [GroupId(1), GroupId(2)]);
    // jobs without a group may use such nodes
    submit(&mut pool, job(20, 2, |_, _| {}));
    assert_eq!(started(&pool.round(START)), [20]);
    // a node on which nothing of its group runs goes to the next group
    end(&mut pool, 10, START + SECOND);
    let decisions = pool.round(START + SECOND);
    assert!(matches!(decisions[0], Decision::Unbind { group: GroupId(2), .. }), "{decisions:?}");
    assert!(matches!(decisions[1], Decision::Bind { group: GroupId(3), .. }), "{decisions:?}");
    assert_eq!(started(&decisions), [11]);
    check(&pool, START + SECOND);
}

#[test]
fn a_group_finds_its_node_again_within_ten_minutes_if_nobody_needs_it() {
    let mut pool = pool(8);
    let ask = |id, group| job(id, 1, |_, shape| shape.group = strict(group));
    submit(&mut pool, ask(1, 1));
    pool.round(START);
    let node = workers_of(&pool, 1)[0] / 4;
    end(&mut pool, 1, START + SECOND);
    // another group gets a node without a group, although this one has the fewest free workers
    for id in 50..53 {
        submit(&mut pool, long(id, 2));
    }
    submit(&mut pool, ask(2, 2));
    pool.round(START + SECOND);
    assert_ne!(workers_of(&pool, 2)[0] / 4, node);
    submit(&mut pool, ask(3, 1));
    pool.round(START + 2 * SECOND);
    assert_eq!(workers_of(&pool, 3)[0] / 4, node);
    end(&mut pool, 3, START + 3 * SECOND);
    assert_eq!(pool.round(START + 10 * MINUTE), []);
    let decisions = pool.round(START + 3 * SECOND + 10 * MINUTE);
    assert!(matches!(decisions[..], [Decision::Unbind { group: GroupId(1), .. }]), "{decisions:?}");
    check(&pool, START + 3 * SECOND + 10 * MINUTE);
}

#[test]
fn groups_alternate_on_one_node() {
    let mut pool = pool(1);
    let ask = |id, tenant, group| job(id, tenant, |_, shape| shape.group = strict(group));
    for id in 0..10 {
        submit(&mut pool, ask(id, 1, 1));
        submit(&mut pool, ask(100 + id, 2, 2));
    }
    let (mut now, mut order) = (START, Vec::new());
    for _ in 0..20 {
        let decisions = pool.round(now);
        check(&pool, now);
        let [running] = started(&decisions)[..] else { panic!("{decisions:?}") };
        order.push(running / 100);
        now += 10 * SECOND;
        end(&mut pool, running, now);
    }
    let alternations = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(alternations >= 17, "{order:?}");
}

#[test]
fn a_group_that_loses_its_node_starts_elsewhere_at_once() {
    let mut pool = pool(1);
    add(&mut pool, 2, 2, OTHER, Tenure::Firm);
    let ask = |id, tenant, group, spec| {
        job(id, tenant, |_, shape| (shape.group, shape.specs) = (strict(group), vec![spec]))
    };
    submit(&mut pool, ask(1, 1, 1, OTHER));
    assert_eq!(started(&pool.round(START)), [1]);
    // the group is on a node without workers of this specification, and leaves it when another one takes it
    submit(&mut pool, ask(2, 1, 1, SPEC));
    submit(&mut pool, ask(3, 2, 2, OTHER));
    assert_eq!(started(&pool.round(START)), []);
    end(&mut pool, 1, START + SECOND);
    let mut decided = started(&pool.round(START + SECOND));
    decided.sort_unstable();
    assert_eq!(decided, [2, 3]);
    check(&pool, START + SECOND);
}

#[test]
fn a_group_with_many_jobs_yields_its_node_after_a_quantum() {
    let mut pool = pool(4);
    let ask = |id, tenant, group| job(id, tenant, |_, shape| shape.group = strict(group));
    for id in 0..200 {
        submit(&mut pool, ask(id, 1, 1));
    }
    submit(&mut pool, ask(1_000, 2, 2));
    // the workers never end their jobs at one time
    let mut ends = std::collections::BTreeMap::new();
    let (mut now, mut begun) = (START, None);
    while begun.is_none() && now < START + 10 * MINUTE {
        for id in started(&pool.round(now)) {
            ends.insert(id, now + 10 * SECOND + u64::try_from(id % 4).unwrap() * 3 * SECOND);
            if id == 1_000 {
                begun = Some(now);
            }
        }
        check(&pool, now);
        if begun.is_none() && now > START {
            let why = pool.explain(JobId(1_000), now).unwrap();
            let on_node =
                matches!(why.waiting, Waiting::GroupNode { .. } | Waiting::GroupsHoldAllNodes { .. });
            assert!(on_node, "{why:?}");
        }
        now += SECOND;
        for (id, _) in ends.clone().into_iter().filter(|(_, at)| *at <= now) {
            ends.remove(&id);
            end(&mut pool, id, now);
        }
    }
    // 2 minutes, and the longest job
    assert!(begun.is_some_and(|at| at <= START + 145 * SECOND), "{begun:?}");
}

#[test]
fn nodes_of_groups_count_against_the_share_of_a_tenant() {
    // of two tenants with a node each, the one with three times the weight gets another
    for (weight, gets) in [(1, false), (3, true)] {
        let mut pool = pool(8);
        share(&mut pool, 2, Share { weight: weight * Share::default().weight, ..Share::default() });
        let ask = |id, tenant, group| {
            job(id, tenant, |job, shape| {
                (shape.group, shape.run) = (strict(group), Estimate::exactly(HOUR));
                if group == 3 {
                    (job.priority, job.submitted) = (4, START + 2 * SECOND);
                }
            })
        };
        // the first group uses more, and both have more jobs than run
        for id in 0..8 {
            submit(&mut pool, ask(id, 1, 1));
            submit(&mut pool, ask(100 + id, 2, 2));
        }
        pool.round(START);
        end(&mut pool, 0, START + SECOND);
        pool.round(START + SECOND);
        submit(&mut pool, ask(200, 2, 3));
        let node = |pool: &Pool, group| pool.snapshot().groups[&GroupId(group)].node;
        let before = (node(&pool, 1), node(&pool, 2));
        assert!(before.0.is_some() && before.1.is_some());
        pool.round(START + 3 * MINUTE);
        check(&pool, START + 3 * MINUTE);
        let yields = pool.snapshot().groups[&GroupId(1)].yields;
        assert_eq!(yields, gets, "weight {weight}");
        assert!(!pool.snapshot().groups[&GroupId(2)].yields, "its own jobs go first");
    }
}

#[test]
fn an_explanation_tells_when_a_node_is_left() {
    let mut pool = pool(2);
    let ask = |id, group| job(id, 1, |_, shape| shape.group = strict(group));
    submit(&mut pool, ask(1, 1));
    submit(&mut pool, ask(2, 2));
    pool.round(START);
    for later in [START, START + 5 * SECOND] {
        let waiting = pool.explain(JobId(2), later).unwrap().waiting;
        let until = Some(START + 10 * SECOND);
        assert_eq!(waiting, Waiting::GroupsHoldAllNodes { groups: vec![GroupId(1)], until });
    }
}

#[test]
fn a_group_leaves_a_lost_node_after_a_minute() {
    let mut pool = pool(8);
    submit(&mut pool, job(1, 1, |_, shape| shape.group = strict(1)));
    pool.round(START);
    let node = workers_of(&pool, 1)[0] / 4;
    for worker in 0..4 {
        pool.apply(Event::WorkerRemoved(WorkerId(node * 4 + worker)), START + SECOND).unwrap();
    }
    assert_eq!(pool.round(START + SECOND), [], "the job waits for its node");
    let decisions = pool.round(START + MINUTE + SECOND);
    assert!(matches!(decisions[0], Decision::Unbind { .. }), "{decisions:?}");
    assert_eq!(started(&decisions), [1]);
    check(&pool, START + MINUTE + SECOND);
}

#[test]
fn a_group_that_prefers_its_node_may_leave_it() {
    let mut pool = pool(8);
    let ask = |id| job(id, 1, |_, shape| shape.group = Some((GroupId(1), GroupMode::Prefer)));
    submit(&mut pool, ask(1));
    pool.round(START);
    let node = workers_of(&pool, 1)[0] / 4;
    for id in 2..7 {
        submit(&mut pool, ask(id));
        pool.round(START);
        let same = workers_of(&pool, id)[0] / 4 == node;
        assert_eq!(same, id < 5, "job {id}");
        if !same {
            break;
        }
    }
}

#[test]
fn a_job_recalled_twice_runs_on_firm_units_only() {
    let mut pool = pool(0);
    add(&mut pool, 1, 1, SPEC, Tenure::Lent);
    submit(&mut pool, long(1, 1));
    for _ in 0..2 {
        assert_eq!(started(&pool.round(START)), [1]);
        pool.apply(Event::Ended(JobId(1), Ending::Recalled), START).unwrap();
    }
    assert_eq!(pool.round(START), []);
    assert_eq!(
        pool.explain(JobId(1), START).unwrap().waiting,
        Waiting::NoUnit { specs: vec![SPEC], units: 1 }
    );
    add(&mut pool, 2, 1, SPEC, Tenure::Firm);
    assert_eq!(started(&pool.round(START)), [1]);
}

#[test]
fn a_recalled_worker_takes_no_more_jobs() {
    let mut pool = pool(1);
    submit(&mut pool, long(1, 1));
    pool.round(START);
    let worker = pool.worker(WorkerId(0)).unwrap().clone();
    assert_eq!(pool.recall_rank(&worker, START), 3);
    pool.apply(Event::WorkerRecalled(WorkerId(0), START + 15 * SECOND), START).unwrap();
    pool.apply(Event::Ended(JobId(1), Ending::Recalled), START).unwrap();
    assert_eq!(pool.round(START), []);
    pool.apply(Event::WorkerRemoved(WorkerId(0)), START).unwrap();
    add(&mut pool, 7, 1, SPEC, Tenure::Lent);
    assert_eq!(started(&pool.round(START)), [1]);
}

#[test]
fn a_lost_worker_brings_its_job_back() {
    let mut pool = pool(2);
    submit(&mut pool, job(1, 1, |_, shape| shape.gang = 2));
    pool.round(START);
    pool.apply(Event::WorkerRemoved(WorkerId(1)), START + 1).unwrap();
    assert_eq!(pool.job(JobId(1)).unwrap().state, State::Queued { since: START + 1 });
    assert_eq!(pool.worker(WorkerId(0)).unwrap().current, None);
    assert_eq!(pool.round(START + 1), []);
    add(&mut pool, 5, 0, SPEC, Tenure::Firm);
    assert_eq!(started(&pool.round(START + 2)), [1]);
}

#[test]
fn idle_stock_is_lent_but_not_what_is_held_back() {
    let mut pool = pool(1);
    let spec = Spec { idle_stock: 10, hold_back: 4, lent_limit: 5, ..Spec::default() };
    pool.apply(Event::SpecSet(SPEC, spec), START).unwrap();
    for id in 0..1_000 {
        submit(&mut pool, job(id, 1, |_, _| {}));
    }
    let lends = |decisions: &[Decision]| -> Vec<Decision> {
        decisions.iter().filter(|decision| matches!(decision, Decision::Lend { .. })).cloned().collect()
    };
    assert_eq!(lends(&pool.round(START)), [Decision::Lend { spec: SPEC, units: 5 }]);
    assert_eq!(lends(&pool.round(START)), []);
    pool.apply(Event::LendRefused(SPEC, 2), START).unwrap();
    assert_eq!(lends(&pool.round(START)), [Decision::Lend { spec: SPEC, units: 2 }]);
    let spec = Spec { idle_stock: 6, ..spec };
    pool.apply(Event::LendRefused(SPEC, 5), START).unwrap();
    pool.apply(Event::SpecSet(SPEC, spec), START).unwrap();
    assert_eq!(lends(&pool.round(START)), [Decision::Lend { spec: SPEC, units: 2 }]);
}

#[test]
fn what_the_stock_wants_back_is_returned_instead_of_the_next_job() {
    let mut pool = pool(1);
    for worker in 1..5 {
        add(&mut pool, worker, 1, SPEC, Tenure::Lent);
    }
    for id in 0..20 {
        submit(&mut pool, long(id, 1));
    }
    assert_eq!(started(&pool.round(START)).len(), 5);
    let want = |pool: &mut Pool, units, workers: &[u128]| {
        let workers = workers.iter().copied().map(WorkerId).collect();
        pool.apply(Event::UnitsWanted(vec![WantedBack { units, workers }]), START).unwrap();
    };
    let end_on = |pool: &mut Pool, worker| {
        let job = pool.worker(WorkerId(worker)).unwrap().current.unwrap();
        pool.apply(Event::Ended(job, Ending::Done), START + MINUTE).unwrap();
        pool.round(START + MINUTE)
    };
    // firm workers return nothing
    want(&mut pool, 1, &[0, 1, 2]);
    assert_eq!(pool.round(START + MINUTE), [], "none is interrupted");
    for worker in [0, 3] {
        assert_eq!(started(&end_on(&mut pool, worker)).len(), 1, "worker {worker}");
    }
    assert_eq!(Pool::restore(pool.snapshot()), pool);
    assert_eq!(end_on(&mut pool, 2), [Decision::Return { worker: WorkerId(2) }]);
    assert_eq!(started(&end_on(&mut pool, 1)).len(), 1, "one was wanted");
    want(&mut pool, 2, &[1, 4]);
    want(&mut pool, 0, &[]);
    assert_eq!(started(&end_on(&mut pool, 4)).len(), 1, "not any more");
    check(&pool, START + MINUTE);
}

#[test]
fn lent_units_without_work_are_returned() {
    let mut pool = pool(0);
    let spec = Spec { idle_stock: 2, hold_back: 2, lent_limit: 5, ..Spec::default() };
    pool.apply(Event::SpecSet(SPEC, spec), START).unwrap();
    for worker in 0..3 {
        add(&mut pool, worker, 1, SPEC, Tenure::Lent);
    }
    submit(&mut pool, long(1, 1));
    assert_eq!(started(&pool.round(START)), [1]);
    assert_eq!(pool.round(START + MINUTE), [], "kept warm");
    // the hold-back lacks one
    pool.apply(Event::SpecSet(SPEC, Spec { idle_stock: 1, ..spec }), START).unwrap();
    assert_eq!(pool.round(START + MINUTE), [Decision::Return { worker: WorkerId(1) }]);
    pool.apply(Event::SpecSet(SPEC, spec), START).unwrap();
    pool.apply(Event::WorkerRemoved(WorkerId(1)), START + MINUTE).unwrap();
    assert_eq!(pool.round(START + 5 * MINUTE), [Decision::Return { worker: WorkerId(2) }]);
    check(&pool, START + 5 * MINUTE);
}
