//! Tables: state and observation on the left, the step on the right.

mod secrets;

use ids::InstanceId;
use units::Time;
use units::{HeldReason, LastFailure, Run, RunEndReason, UnitState};

use super::{
    super::fixture::{at, claim, condition, desired, idle_unit, instance, pod, run, status, unit_with},
    super::mount::Mount,
    *,
};
use crate::claim::{Claim, Place};
use crate::unit::{Condition, DesiredInstance};
use secrets::secret;

fn pending() -> Instance {
    instance(State::Pending { reason: None, wait: false, held: None, left: None })
}

fn starting() -> Instance {
    instance(State::Starting { claim: claim(), reason: None, restarting: false })
}

fn running() -> Instance {
    instance(State::Running { claim: claim(), pod: pod() })
}

fn stopping(claim: ClaimStatus) -> Instance {
    instance(State::Stopping { claim, failure: None, reason: None, hold: None })
}

fn deleting(claim: ClaimStatus) -> Instance {
    instance(State::Deleting { claim, reason: None })
}

/// The step for an instance and the unit that it has claimed.
fn step(instance: &Instance, unit: Unit) -> Step {
    decide(instance, &Observation::Unit(unit.into()), &[], false, at(200))
}

/// The step as a word, and its reason code if it has one.
fn outline(step: &Step) -> (&'static str, Option<ReasonCode>) {
    let code = |reason: &Option<Reason>| reason.as_ref().map(|reason| reason.code);
    match step {
        Step::Wait(reason) => ("wait", code(reason)),
        Step::Record(Event::BecameReady(_)) => ("ready", None),
        Step::Record(Event::BecameUnready(reason)) => ("unready", code(reason)),
        Step::Record(Event::RemovedFromUnit) => ("removed", None),
        Step::Record(Event::RunsEnded(_)) => ("runs ended", None),
        Step::Record(Event::NodeLost) => ("node lost", None),
        Step::Record(Event::PlaceLost) => ("place lost", None),
        Step::Record(Event::Failed(failure)) => ("failed", Some(failure.reason.code)),
        Step::Record(Event::Secret(SecretChange::Planned(_))) => ("plan secret", None),
        Step::Record(_) => ("another event", None),
        Step::Act(Action::Attach(_)) => ("attach", None),
        Step::Act(Action::DetachRemoved(_)) => ("detach removed", None),
        Step::Act(Action::Claim) => ("claim", None),
        Step::Act(Action::WriteSecret(_)) => ("write secret", None),
        Step::Act(Action::Apply) => ("apply", None),
        Step::Act(Action::Vacate(_)) => ("vacate", None),
        Step::Act(Action::DeleteSecret(_)) => ("delete secret", None),
        Step::Act(Action::Release) => ("release", None),
        Step::Act(Action::Detach) => ("detach", None),
        Step::Act(Action::ReleaseLeftovers) => ("release leftovers", None),
    }
}

#[test]
fn without_a_unit_the_state_decides() {
    let storage = ids::StorageId::new();
    let mut with_storage = pending();
    let mount = |storage_id: ids::StorageId| Mount {
        storage_id,
        mount_path: storage_id.to_string(),
        read_only: false,
    };
    with_storage.order.storages = vec![mount(storage)];
    let in_cluster = super::super::AttachedStorage { object_name: "stor-1".into(), cluster: None };
    let mut attached = with_storage.clone();
    attached.attached.insert(storage, in_cluster.clone());
    // each start attaches all of them, one after the other
    let second = ids::StorageId::new();
    let mut half_attached = attached.clone();
    half_attached.order.storages = [storage, second].map(mount).to_vec();
    let mut all_attached = half_attached.clone();
    all_attached.attached.insert(second, in_cluster);
    let unknown = Observation::Unknown;
    for (instance, expected) in [
        (pending(), Step::Act(Action::Claim)),
        (with_storage, Step::Act(Action::Attach(storage))),
        (attached, Step::Act(Action::Claim)),
        (half_attached, Step::Act(Action::Attach(second))),
        (all_attached, Step::Act(Action::Claim)),
        (stopping(ClaimStatus::Unknown), Step::Act(Action::Release)),
        (deleting(ClaimStatus::Unknown), Step::Act(Action::Release)),
        (stopping(ClaimStatus::None), Step::Act(Action::Detach)),
        (deleting(ClaimStatus::None), Step::Act(Action::Detach)),
    ] {
        for due in [false, true] {
            assert_eq!(decide(&instance, &unknown, &[], due, at(200)), expected, "{:?}", instance.state);
        }
    }
    for state in [State::Stopped { failure: None, hold: None }, State::Deleted] {
        let ended = instance(state);
        assert_eq!(decide(&ended, &unknown, &[], false, at(200)), Step::Wait(None));
        assert_eq!(decide(&ended, &unknown, &[], true, at(200)), Step::Act(Action::ReleaseLeftovers));
    }
}

#[test]
fn a_removed_storage_is_detached_while_no_container_can_use_it() {
    let removed = ids::StorageId::new();
    for (state, detaches) in [
        (pending().state, true),
        (State::Stopped { failure: None, hold: None }, true),
        (starting().state, false),
        (running().state, false),
        (stopping(ClaimStatus::Unknown).state, false),
    ] {
        let mut instance = instance(state);
        instance.detaching = vec![removed];
        let step = decide(&instance, &Observation::Unknown, &[], false, at(200));
        assert_eq!(step == Step::Act(Action::DetachRemoved(removed)), detaches, "{:?}", instance.state);
    }
}

/// Whatever was recorded: what the cluster has decides, and nothing is started that its user may have stopped.
#[test]
fn after_a_restore_an_instance_continues_where_it_is_and_is_stopped_where_it_is_not() {
    let restored = |mut instance: Instance| {
        instance.restored_attempt = Some(instance.attempt);
        instance
    };
    let occupied = |instance: &Instance, attempt, restart| Unit {
        desired: Some(DesiredInstance { attempt, restart, ..desired(instance) }),
        ..idle_unit()
    };
    for instance in [restored(starting()), restored(running())] {
        let (attempt, restart) = (instance.attempt + 3, instance.restart + 1);
        let found = Event::FoundAfterRestore { attempt, restart };
        assert_eq!(step(&instance, occupied(&instance, attempt, restart)), Step::Record(found.clone()));
        let mut continued = instance.clone();
        continued.on(found).unwrap();
        assert_eq!((continued.attempt, continued.restart), (attempt, restart));
        assert!(!continued.is_restored());

        let stopped = ("failed", Some(ReasonCode::Restored));
        assert_eq!(outline(&step(&instance, idle_unit())), stopped, "its unit is empty");
        assert_eq!(outline(&step(&instance, occupied(&running(), 1, 0))), stopped, "its unit is another's");
        assert!(step(&instance, idle_unit()).needs_confirmation());
    }
    // a later start is not affected
    let mut later = restored(running());
    later.attempt += 1;
    assert_eq!(outline(&step(&later, idle_unit())).0, "removed");
}

#[test]
fn a_unit_that_it_has_not_claimed_is_vacated_first_in_every_state() {
    let unclaimed = ["unit-8", "unit-9"].map(|name| UnitRef { cluster: "uk-2".into(), name: name.into() });
    for instance in [
        pending(),
        starting(),
        running(),
        stopping(ClaimStatus::Held(claim())),
        instance(State::Stopped { failure: None, hold: None }),
        instance(State::Deleted),
    ] {
        let step = decide(&instance, &Observation::Unknown, &unclaimed, false, at(200));
        assert_eq!(step, Step::Act(Action::Vacate(unclaimed[0].clone())), "{:?}", instance.state);
    }
}

#[test]
fn a_cluster_that_says_nothing_or_has_no_unit() {
    let held = || ClaimStatus::Held(claim());
    for (instance, observation, expected) in [
        (starting(), Observation::Unknown, ("wait", Some(ReasonCode::ClusterUnreachable))),
        // a running instance stays as it is
        (running(), Observation::Unknown, ("wait", None)),
        (stopping(held()), Observation::Unknown, ("wait", Some(ReasonCode::ClusterUnreachable))),
        (deleting(held()), Observation::Unknown, ("wait", Some(ReasonCode::ClusterUnreachable))),
        (starting(), Observation::Gone, ("failed", Some(ReasonCode::UnitGone))),
        (running(), Observation::Gone, ("failed", Some(ReasonCode::UnitGone))),
        (stopping(held()), Observation::Gone, ("release", None)),
        (deleting(held()), Observation::Gone, ("release", None)),
    ] {
        let step = decide(&instance, &observation, &[], false, at(200));
        assert_eq!(outline(&step), expected, "{:?} {observation:?}", instance.state);
    }
}

#[test]
fn a_starting_instance_is_written_into_its_unit_and_becomes_ready() {
    let instance = starting();
    let (ready, other) = (unit_with(&instance), InstanceId::new().k8s_name());
    let own = desired(&instance);
    let with = |desired: DesiredInstance| Unit { desired: Some(desired), ..ready.clone() };
    let reported = |change: fn(&mut units::InstanceStatus)| {
        let mut unit = ready.clone();
        change(unit.instance.as_mut().unwrap());
        unit
    };
    for (case, unit, expected) in [
        ("ready", ready.clone(), ("ready", None)),
        ("nothing is desired", idle_unit(), ("apply", None)),
        ("attempt before", with(DesiredInstance { attempt: 1, ..own.clone() }), ("apply", None)),
        ("restart before", with(DesiredInstance { restart: 2, ..own.clone() }), ("apply", None)),
        (
            "another instance is desired",
            with(DesiredInstance { name: other, ..own }),
            ("wait", Some(ReasonCode::UnitOccupied)),
        ),
        ("not running", Unit { state: UnitState::Ready, ..ready.clone() }, ("wait", None)),
        ("no pod", Unit { instance: None, ..ready.clone() }, ("wait", None)),
        ("another pod", reported(|status| status.id = "inst-other".into()), ("wait", None)),
        ("pod of the attempt before", reported(|status| status.attempt -= 1), ("wait", None)),
        ("pod of the restart before", reported(|status| status.restart -= 1), ("wait", None)),
        ("not ready", reported(|status| status.running_since = None), ("wait", None)),
        ("no address", reported(|status| status.pod_ip = None), ("wait", None)),
    ] {
        assert_eq!(outline(&step(&instance, unit)), expected, "{case}");
    }
    assert_eq!(step(&instance, ready), Step::Record(Event::BecameReady(pod())));
}

#[test]
fn a_running_instance_stays_or_is_recorded_as_what_it_has_become() {
    let instance = running();
    let ready = unit_with(&instance);
    let other = DesiredInstance { name: InstanceId::new().k8s_name(), ..desired(&instance) };
    let mut moved = ready.clone();
    moved.instance.as_mut().unwrap().running_since = Some(Time(at(101)));
    for (case, unit, expected) in [
        ("as recorded", ready.clone(), ("wait", None)),
        ("another pod", moved, ("ready", None)),
        ("another node", Unit { node: Some("node-2".into()), ..ready.clone() }, ("ready", None)),
        ("no pod", Unit { instance: None, ..ready.clone() }, ("unready", None)),
        ("removed by hand", Unit { desired: None, ..ready.clone() }, ("removed", None)),
        (
            "another instance took the unit",
            Unit { desired: Some(other), ..ready.clone() },
            ("failed", Some(ReasonCode::UnitLost)),
        ),
        (
            "an older restart is desired",
            Unit { desired: Some(DesiredInstance { restart: 0, ..desired(&instance) }), ..ready },
            ("apply", None),
        ),
    ] {
        assert_eq!(outline(&step(&instance, unit)), expected, "{case}");
    }
}

#[test]
fn the_operators_reason_is_passed_on_while_the_instance_is_not_ready() {
    let instance = starting();
    let waiting = Unit { instance: None, ..unit_with(&instance) };
    let unknown = Condition { met: false, reason: None, message: "new".into() };
    for (case, unit, expected) in [
        ("nothing to tell", waiting.clone(), None),
        (
            "idle is no reason",
            Unit { ready: condition(false, InstanceReason::Idle), ..waiting.clone() },
            None,
        ),
        (
            "the instance's",
            Unit { ready: condition(false, InstanceReason::ProbeFailing), ..waiting.clone() },
            Some(ReasonCode::ProbeFailing),
        ),
        (
            "the place comes first",
            Unit {
                held: condition(false, HeldReason::Unschedulable),
                ready: condition(false, InstanceReason::WaitingForPlace),
                ..waiting.clone()
            },
            Some(ReasonCode::Unschedulable),
        ),
        ("not known here", Unit { ready: Some(unknown), ..waiting.clone() }, Some(ReasonCode::Unknown)),
        ("no conditions", Unit { held: None, ready: None, ..waiting.clone() }, None),
    ] {
        assert_eq!(outline(&step(&instance, unit)), ("wait", expected), "{case}");
    }
    let failing = Unit { ready: condition(false, InstanceReason::ProbeFailing), ..waiting };
    let expected = Reason::new(ReasonCode::ProbeFailing, "told by the operator");
    assert_eq!(step(&instance, failing.clone()), Step::Wait(Some(expected.clone())));
    let mut was_running = running();
    was_running.id = instance.id;
    assert_eq!(step(&was_running, failing), Step::Record(Event::BecameUnready(Some(expected))));
}

#[test]
fn a_lost_node_fails_the_instance_or_has_it_start_elsewhere() {
    let mut instance = running();
    for (held, ready, lost) in [
        (condition(false, HeldReason::NodeLost), condition(true, InstanceReason::Running), true),
        (condition(true, HeldReason::Claimed), condition(false, InstanceReason::NodeLost), true),
        // a condition that is met, and another reason
        (condition(true, HeldReason::NodeLost), condition(true, InstanceReason::NodeLost), false),
        (condition(false, HeldReason::PlaceLost), condition(false, InstanceReason::ProbeFailing), false),
        (None, None, false),
    ] {
        let unit = Unit { held, ready, ..unit_with(&instance) };
        for (policy, expected) in [
            (OnNodeLoss::Stop, ("failed", Some(ReasonCode::NodeLost))),
            (OnNodeLoss::Restart, ("node lost", None)),
        ] {
            instance.order.on_node_loss = policy;
            let expected = if lost { expected } else { ("wait", None) };
            assert_eq!(outline(&step(&instance, unit.clone())), expected, "{:?} {:?}", unit.held, unit.ready);
        }
    }
}

#[test]
fn a_start_that_lost_its_place_begins_anew_in_another_unit() {
    let mut instance = starting();
    let waits = |held, ready, attempt| Unit {
        state: UnitState::Init,
        instance: Some(units::InstanceStatus { attempt, ..status(&instance, None) }),
        held,
        ready: condition(false, ready),
        ..unit_with(&instance)
    };
    let waiting = InstanceReason::WaitingForPlace;
    for (case, held, ready, attempt, lost) in [
        ("taken", condition(false, HeldReason::PlaceLost), waiting, instance.attempt, true),
        ("found no other", condition(false, HeldReason::Unschedulable), waiting, instance.attempt, true),
        ("comes back", condition(true, HeldReason::Claimed), waiting, instance.attempt, false),
        ("an earlier start", condition(false, HeldReason::PlaceLost), waiting, instance.attempt - 1, false),
        (
            "has its pod",
            condition(false, HeldReason::PlaceLost),
            InstanceReason::Starting,
            instance.attempt,
            false,
        ),
    ] {
        let step = step(&instance, waits(held, ready, attempt));
        assert_eq!(outline(&step).0, if lost { "place lost" } else { "wait" }, "{case}");
        assert_eq!(step.needs_confirmation(), lost, "{case}");
    }
    let attempt = instance.attempt;
    instance.on(Event::PlaceLost).unwrap();
    assert_eq!(instance.state.reason().map(|reason| reason.code), Some(ReasonCode::PlaceLost));
    assert!(matches!(instance.state, State::Pending { left: Some(_), wait: true, .. }));
    instance.on(Event::Released).unwrap();
    assert_eq!(instance.attempt, attempt + 1);
}

#[test]
fn a_node_that_was_lost_between_two_reports_is_noticed() {
    let mut instance = running();
    let lost = Run { reason: RunEndReason::NodeLost.as_str().into(), ..run(&instance, 1, 100, 110) };
    instance.attempt = 1;
    let ended = new_runs(&instance, &Unit { runs: vec![lost.clone()], ..unit_with(&instance) }).unwrap();
    instance.meter.closed = Some((ended[0].key, ended[0].ended_at));
    let moved = |node: &str, runs| Unit { node: Some(node.into()), runs, ..unit_with(&instance) };
    assert_eq!(outline(&step(&instance, moved("node-2", vec![lost.clone()]))), ("node lost", None));
    let starting = Instance {
        state: State::Starting {
            claim: Claim { place: Place { node: Some("node-1".into()), ..claim().place }, ..claim() },
            reason: None,
            restarting: false,
        },
        ..instance.clone()
    };
    assert_eq!(outline(&step(&starting, moved("node-2", vec![lost.clone()]))), ("node lost", None));
    // the node came back, or the run ended for another reason, or was one of an earlier start
    assert_eq!(outline(&step(&instance, moved("node-1", vec![lost.clone()]))), ("wait", None));
    let stopped = Run { reason: "Stopped".into(), ..lost.clone() };
    assert_eq!(outline(&step(&instance, moved("node-2", vec![stopped]))), ("ready", None));
    let again = Instance { attempt: 2, ..instance.clone() };
    let unit = Unit { node: Some("node-2".into()), runs: vec![lost], ..unit_with(&again) };
    assert_eq!(outline(&step(&again, unit)), ("ready", None));
}

#[test]
fn an_instance_that_lost_its_node_releases_its_unit_before_it_claims_another() {
    let mut instance = running();
    instance.on(Event::NodeLost).unwrap();
    let reason = instance.state.reason().cloned();
    assert_eq!(reason.as_ref().map(|reason| reason.code), Some(ReasonCode::NodeLost));
    let lost = Unit { held: condition(false, HeldReason::NodeLost), ..unit_with(&instance) };
    assert_eq!(step(&instance, lost.clone()), Step::Act(Action::Vacate(claim().unit)));
    let emptied = Unit { desired: None, ..lost };
    assert_eq!(step(&instance, emptied.clone()), Step::Wait(reason.clone()), "its pod may still run");
    let silent = decide(&instance, &Observation::Unknown, &[], true, at(200));
    assert_eq!(silent, Step::Wait(reason));
    let ended = Unit {
        instance: None,
        state: UnitState::Init,
        observed_generation: Some(emptied.generation),
        ..emptied
    };
    assert_eq!(step(&instance, ended), Step::Act(Action::Release));
    instance.on(Event::Released).unwrap();
    assert_eq!(decide(&instance, &Observation::Unknown, &[], true, at(200)), Step::Act(Action::Claim));
}

#[test]
fn a_failure_counts_for_its_instance_and_attempt() {
    let instance = starting();
    let failure = |id: &str, attempt, log: &str| LastFailure {
        instance_id: id.to_owned(),
        attempt,
        reason: "ImagePullFailed".into(),
        message: "no such image".into(),
        log_tail: log.into(),
        at: Time(at(1)),
    };
    let name = instance.id.k8s_name();
    let with = |failure| Unit { failure: Some(failure), ..unit_with(&instance) };
    for (case, failure, fails) in [
        ("this attempt", failure(&name, 2, ""), true),
        ("a later attempt", failure(&name, 3, ""), true),
        ("an earlier attempt", failure(&name, 1, ""), false),
        ("another instance", failure("inst-other", 2, ""), false),
    ] {
        let expected = if fails { ("failed", Some(ReasonCode::ImagePullFailed)) } else { ("ready", None) };
        assert_eq!(outline(&step(&instance, with(failure))), expected, "{case}");
    }
    for (log, tail) in [("", None), ("last line", Some("last line"))] {
        let Step::Record(Event::Failed(failed)) = step(&instance, with(failure(&name, 2, log))) else {
            panic!("it fails");
        };
        assert_eq!((failed.reason.message.as_str(), failed.log_tail.as_deref()), ("no such image", tail));
    }
}

#[test]
fn ended_runs_are_recorded_before_anything_else() {
    for mut instance in [starting(), running(), stopping(ClaimStatus::Held(claim()))] {
        let mut foreign = run(&instance, 1, 10, 20);
        foreign.instance_id = InstanceId::new().k8s_name();
        let runs = vec![
            run(&instance, 2, 30, 40),
            run(&instance, 1, 10, 20),
            run(&instance, 2, 30, 40),
            foreign,
            // a clock that went back
            run(&instance, 2, 50, 45),
        ];
        let unit = Unit {
            runs,
            failure: None,
            held: condition(false, HeldReason::NodeLost),
            ..unit_with(&instance)
        };
        let ended = |attempt, since, until| EndedRun {
            key: RunKey { attempt, since: at(since) },
            ended_at: at(until),
            unseen: false,
            reason: EndReason::Stopped,
        };
        let all = vec![ended(1, 10, 20), ended(2, 30, 40), ended(2, 50, 50)];
        assert_eq!(step(&instance, unit.clone()), Step::Record(Event::RunsEnded(all.clone())));
        // those that the meter knows are not recorded again
        instance.meter.closed = Some((all[1].key, all[1].ended_at));
        assert_eq!(step(&instance, unit.clone()), Step::Record(Event::RunsEnded(vec![all[2].clone()])));
        instance.meter.closed = Some((all[2].key, all[2].ended_at));
        assert_ne!(outline(&step(&instance, unit)).0, "runs ended");
    }
}

#[test]
fn a_unit_is_released_only_when_nothing_of_the_instance_is_left() {
    let instance = stopping(ClaimStatus::Held(claim()));
    let other = DesiredInstance { name: "inst-other".into(), attempt: 1, restart: 0, pull_secret: None };
    let left = Some(status(&instance, None));
    let terminating = ("wait", Some(ReasonCode::Terminating));
    for (case, unit, expected) in [
        ("still desired", unit_with(&instance), ("vacate", None)),
        ("still present", Unit { instance: left, ..idle_unit() }, terminating),
        ("not observed yet", Unit { observed_generation: Some(4), ..idle_unit() }, terminating),
        ("never observed", Unit { observed_generation: None, ..idle_unit() }, terminating),
        ("gone", idle_unit(), ("release", None)),
        ("gone and observed later", Unit { observed_generation: Some(6), ..idle_unit() }, ("release", None)),
        ("taken by another", Unit { desired: Some(other), ..idle_unit() }, ("release", None)),
    ] {
        assert_eq!(outline(&step(&instance, unit)), expected, "{case}");
    }
    assert_eq!(step(&instance, unit_with(&instance)), Step::Act(Action::Vacate(claim().unit)));
}

#[test]
fn steps_that_cannot_be_undone_need_confirmation() {
    let unready = Event::BecameUnready(None);
    for (step, needed) in [
        (fail(ReasonCode::UnitGone, ""), true),
        (Step::Record(Event::RemovedFromUnit), true),
        (Step::Record(unready), true),
        (Step::Act(Action::Release), true),
        (Step::Act(Action::DeleteSecret(secret("s"))), true),
        (Step::Act(Action::WriteSecret(secret("s"))), false),
        (Step::Record(Event::BecameReady(pod())), false),
        (Step::Record(Event::RunsEnded(vec![])), false),
        (Step::Act(Action::Claim), false),
        (Step::Act(Action::Apply), false),
        (Step::Wait(None), false),
    ] {
        assert_eq!(step.needs_confirmation(), needed, "{step:?}");
    }
}
