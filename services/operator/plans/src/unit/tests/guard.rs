use super::*;

fn waiting() -> ObservedPod {
    let nominated = Some(NODE.to_owned());
    ObservedPod { node: None, nominated, phase: Phase::Pending, ..instance_pod() }
}

fn hand_over(successor: ObservedPod, guard: ObservedPod, change: impl FnOnce(&mut Snapshot)) -> Plan {
    let mut snapshot = Snapshot { guards: vec![guard], ..snapshot(vec![placeholder(), successor]) };
    change(&mut snapshot);
    planned(&unit(true), &snapshot)
}

/// After this number of seconds.
fn at(seconds: u64) -> Timestamp {
    after(i64::try_from(seconds).unwrap())
}

#[test]
fn the_placeholder_stays_until_the_scheduler_has_tried_the_successor_and_the_guard() {
    let untried = ObservedPod { unschedulable: None, ..guard() };
    let limit = Settings::default().hand_off_seconds;
    for (successor, guard) in [(waiting(), guard()), (tried(waiting()), untried.clone())] {
        let early = hand_over(successor, guard, |snapshot| snapshot.now = at(limit - 1));
        assert_eq!((&early.before_status, ready(&early)), (&vec![], InstanceReason::HandingOver));
        assert_eq!(early.requeue_after, Some(Duration::from_secs(1)));
    }
    let steps = ["kill", "ensure tenant", "bind"];
    assert_eq!(words(&hand_over(tried(waiting()), guard(), |_| {}).before_status), steps);
    let dead = hand_over(waiting(), untried, |snapshot| snapshot.now = at(limit));
    assert_eq!(words(&dead.before_status), steps, "a scheduler that does not answer does not run");
}

#[test]
fn a_scheduler_has_time_to_list_again_after_an_outage() {
    let (gap, limit) = (10, Settings::default().scheduler_return_seconds);
    let since_the_gap = |seconds| {
        hand_over(waiting(), guard(), |snapshot| {
            snapshot.scheduler_heard = false;
            snapshot.observed_since = at(gap);
            snapshot.now = at(gap + seconds);
        })
    };
    assert_eq!(since_the_gap(limit - 1).before_status, []);
    assert_eq!(words(&since_the_gap(limit).before_status), ["kill", "ensure tenant", "bind"]);
}

#[test]
fn a_guard_that_is_missing_or_of_another_size_is_created() {
    let begun = planned(&unit(true), &snapshot(vec![placeholder(), tried(waiting())]));
    assert_eq!(words(&begun.before_status), ["create guard", "nominate"]);
    let small = ObservedPod { template: "other".to_owned(), ..guard() };
    let begun = hand_over(tried(waiting()), small, |_| {});
    assert_eq!(words(&begun.before_status), ["create guard", "nominate"]);
    let cleared = ObservedPod { nominated: None, ..guard() };
    let begun = hand_over(tried(waiting()), cleared, |snapshot| snapshot.now = after(1));
    assert_eq!(words(&begun.before_status), ["nominate"]);
}

#[test]
fn the_guard_stays_until_the_scheduler_has_tried_a_pod_that_is_younger_than_the_binding() {
    let asked = planned(&unit(true), &guarded(vec![instance_pod()]));
    assert_eq!(words(&asked.before_status), ["create barrier"]);
    let [Action::CreatePod(created)] = &asked.before_status[..] else { panic!("{asked:?}") };
    assert_eq!(created.spec.as_ref().unwrap().containers[0].resources, None);
    let name = created.metadata.name.clone().unwrap();
    let barrier = ObservedPod { name, uid: "barrier".to_owned(), role: Role::Barrier, ..guard() };
    let after_binding = |barrier, now| {
        let guards = vec![guard(), barrier];
        planned(&unit(true), &Snapshot { guards, now, ..snapshot(vec![instance_pod()]) })
    };
    let untried = ObservedPod { unschedulable: None, created_at: after(20), ..barrier.clone() };
    assert_eq!(after_binding(untried.clone(), after(20)).before_status, []);
    assert_eq!(words(&after_binding(barrier.clone(), after(20)).before_status), ["kill", "kill"]);
    let limit = Settings::default().scheduler_return_seconds;
    assert_eq!(words(&after_binding(untried, at(20 + limit)).before_status)[..2], ["kill", "kill"]);
    let of_another_binding = ObservedPod { name: "other".to_owned(), ..barrier };
    assert_eq!(words(&after_binding(of_another_binding, after(20)).before_status), ["create barrier"]);
}

#[test]
fn guards_go_with_the_place_and_with_the_unit() {
    let lost = planned(&unit(false), &guarded(vec![pending(None)]));
    assert_eq!(lost.before_status, [Action::DeletePod { pod: guard().reference(), grace: Some(0) }]);
    let mut removed = unit(false);
    removed.metadata.deletion_timestamp = Some(Time(start()));
    assert_eq!(words(&planned(&removed, &guarded(vec![placeholder()])).before_status), ["kill", "kill"]);
}
