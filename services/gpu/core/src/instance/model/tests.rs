//! Commands and events in each state.

use super::{
    super::fixture::{at, claim, failure, instance, pod},
    *,
};
use crate::{ends::EndReason, instance::Mount, meter::RunKey};

fn states() -> Vec<State> {
    vec![
        State::Pending { reason: None, wait: false, held: None, left: None },
        State::Starting { claim: claim(), reason: None, restarting: false },
        State::Running { claim: claim(), pod: pod() },
        State::Stopping { claim: ClaimStatus::Held(claim()), failure: None, reason: None, hold: None },
        State::Stopped { failure: None, hold: None },
        State::Deleting { claim: ClaimStatus::None, reason: None },
        State::Deleted,
    ]
}

fn name(state: &State) -> String {
    serde_json::to_value(state).unwrap()["state"].as_str().unwrap().to_owned()
}

/// A running instance has an open run.
fn ready_if_running(instance: &mut Instance) {
    if let State::Running { pod, .. } = &instance.state {
        instance.meter.open = Some(RunKey { attempt: instance.attempt, since: pod.since });
    }
}

/// What a command does in each state: the new state, `-` if it is in progress, `!` if it is not allowed.
fn table(command: Command) -> Vec<String> {
    states()
        .into_iter()
        .map(|state| {
            let mut instance = instance(state);
            ready_if_running(&mut instance);
            match instance.command(command, OperationId::new(), at(500)) {
                Ok(Accepted::New(_)) => name(&instance.state),
                Ok(Accepted::InProgress) => "-".to_owned(),
                Err(_) => "!".to_owned(),
            }
        })
        .collect()
}

#[test]
fn each_state_allows_its_commands() {
    // in: pending, starting, running, stopping, stopped, deleting, deleted
    assert_eq!(table(Command::Start), ["-", "-", "!", "!", "pending", "!", "!"]);
    assert_eq!(table(Command::Stop), ["stopping", "stopping", "stopping", "-", "!", "!", "!"]);
    assert_eq!(table(Command::Restart), ["!", "!", "starting", "!", "!", "!", "!"]);
    assert_eq!(
        table(Command::Delete),
        ["deleting", "deleting", "deleting", "deleting", "deleting", "-", "!"]
    );
}

#[test]
fn a_command_that_is_not_allowed_changes_nothing() {
    let before = instance(State::Running { claim: claim(), pod: pod() });
    let mut after = before.clone();
    let refused = after.command(Command::Start, OperationId::new(), at(500)).unwrap_err();
    assert_eq!(refused, NotAllowed { command: Command::Start, state: InstanceState::Running });
    assert_eq!(after, before);
}

#[test]
fn a_start_is_a_new_attempt() {
    let mut instance = instance(State::Stopped { failure: Some(failure()), hold: None });
    let (before, operation) = (instance.operation.id, OperationId::new());
    let Accepted::New(effects) = instance.command(Command::Start, operation, at(500)).unwrap() else {
        panic!("new")
    };
    assert_eq!((instance.attempt, instance.restart), (3, 3));
    assert_eq!(instance.operation, CurrentOperation { id: operation, kind: OperationKind::Start });
    assert_eq!(effects.ended, [EndedOperation { id: before, end: End::Cancelled }]);
}

#[test]
fn an_instance_that_crashed_can_be_restarted_and_one_that_was_never_ready_cannot() {
    let mut instance = instance(State::Starting { claim: claim(), reason: None, restarting: false });
    assert!(instance.command(Command::Restart, OperationId::new(), at(500)).is_err());
    instance.on(Event::BecameReady(pod())).unwrap();
    // also after a restart that has ended
    for restarts in [4, 5] {
        instance.on(Event::BecameUnready(None)).unwrap();
        let Ok(Accepted::New(_)) = instance.command(Command::Restart, OperationId::new(), at(500)) else {
            panic!("not restarted")
        };
        assert_eq!(instance.command(Command::Restart, OperationId::new(), at(500)), Ok(Accepted::InProgress));
        assert_eq!(instance.restart, restarts);
        instance.on(Event::BecameReady(Pod { since: at(100 + restarts), ..pod() })).unwrap();
    }
}

#[test]
fn a_restart_keeps_the_unit_and_is_joined_while_it_lasts() {
    let unit = claim();
    let mut instance = instance(State::Running { claim: unit.clone(), pod: pod() });
    ready_if_running(&mut instance);
    instance.command(Command::Restart, OperationId::new(), at(500)).unwrap();
    assert_eq!((instance.attempt, instance.restart), (2, 4));
    assert_eq!(instance.state.claim(), Some(&unit));
    let joined = instance.command(Command::Restart, OperationId::new(), at(500));
    assert_eq!((joined, instance.restart), (Ok(Accepted::InProgress), 4));
}

#[test]
fn a_stopping_instance_keeps_what_it_has_claimed() {
    let unit = claim();
    for command in [Command::Stop, Command::Delete] {
        for (state, expected) in [
            (State::Pending { reason: None, wait: false, held: None, left: None }, ClaimStatus::Unknown),
            (
                State::Starting { claim: unit.clone(), reason: None, restarting: false },
                ClaimStatus::Held(unit.clone()),
            ),
            (State::Running { claim: unit.clone(), pod: pod() }, ClaimStatus::Held(unit.clone())),
        ] {
            let mut instance = instance(state);
            instance.command(command, OperationId::new(), at(500)).unwrap();
            assert_eq!(instance.state.claim_status(), expected, "{command:?}");
        }
    }
    let mut stopped = instance(State::Stopped { failure: None, hold: None });
    stopped.command(Command::Delete, OperationId::new(), at(500)).unwrap();
    assert_eq!(stopped.state.claim_status(), ClaimStatus::None);
}

#[test]
fn a_deletion_ends_the_operation_of_a_failed_start_as_failed() {
    let state =
        State::Stopping { claim: ClaimStatus::Unknown, failure: Some(failure()), reason: None, hold: None };
    let mut instance = instance(state);
    let Ok(Accepted::New(effects)) = instance.command(Command::Delete, OperationId::new(), at(500)) else {
        panic!("new")
    };
    assert_eq!(effects.ended[0].end, End::Failed(failure().to_problem()));
}

#[test]
fn events_that_do_not_fit_the_state_are_errors_and_change_nothing() {
    let storage = AttachedStorage { object_name: "stor-1".into(), cluster: None };
    // in: pending, starting, running, stopping, stopped, deleting (without a unit), deleted
    for (event, fits) in [
        (
            Event::StorageAttached(ids::StorageId::new(), storage),
            [true, false, false, false, false, false, false],
        ),
        (Event::Claimed(claim()), [true, false, false, false, false, false, false]),
        (Event::BecameReady(pod()), [false, true, true, false, false, false, false]),
        (Event::BecameUnready(None), [false, false, true, false, false, false, false]),
        (Event::RemovedFromUnit, [false, false, true, false, false, false, false]),
        (
            Event::FoundAfterRestore { attempt: 9, restart: 1 },
            [false, true, true, false, false, false, false],
        ),
        (Event::Failed(failure()), [true, true, true, false, false, false, false]),
        (Event::StoppedByPlatform(failure()), [true, true, true, false, false, false, false]),
        (Event::Released, [false, false, false, true, false, true, false]),
        (Event::StoragesDetached, [false, false, false, false, false, true, false]),
        (Event::RunsEnded(vec![]), [true; 7]),
    ] {
        for (state, fits) in states().into_iter().zip(fits) {
            let before = instance(state);
            let mut after = before.clone();
            let result = after.on(event.clone());
            assert_eq!(result.is_ok(), fits, "{event:?} in {:?}", before.state);
            assert!(fits || after == before);
        }
    }
    let holding = State::Deleting { claim: ClaimStatus::Held(claim()), reason: None };
    assert!(instance(holding).on(Event::StoragesDetached).is_err());
}

#[test]
fn a_start_runs_through_its_states() {
    let mut instance = instance(State::Pending { reason: None, wait: false, held: None, left: None });
    let (operation, unit) = (instance.operation.id, claim());
    let effects = instance.on(Event::Claimed(unit.clone())).unwrap();
    assert_eq!((effects.ended.len(), effects.metering.len()), (0, 0));
    assert_eq!(instance.last_place, Some(unit.place.clone()));
    let effects = instance.on(Event::BecameReady(pod())).unwrap();
    let key = RunKey { attempt: 2, since: at(100) };
    assert_eq!(effects.metering, [Metering::Open(key)]);
    assert_eq!(effects.ended, [EndedOperation { id: operation, end: End::Succeeded }]);
    assert_eq!(instance.state, State::Running { claim: unit, pod: pod() });
    assert_eq!(instance.last_place.unwrap().node.as_deref(), Some("node-1"));
}

#[test]
fn each_run_is_opened_once_and_closed_by_its_evidence_or_unseen() {
    let mut instance = instance(State::Starting { claim: claim(), reason: None, restarting: false });
    instance.on(Event::BecameReady(pod())).unwrap();
    let first = RunKey { attempt: 2, since: at(100) };
    // the same run, on another node
    let moved = Pod { node: Some("node-2".into()), ..pod() };
    assert_eq!(instance.on(Event::BecameReady(moved)).unwrap().metering, []);
    // another run; the end of the one before was not reported
    let second = RunKey { attempt: 2, since: at(200) };
    let metering = instance.on(Event::BecameReady(Pod { since: at(200), ..pod() })).unwrap().metering;
    assert_eq!(metering, [Metering::CloseUnseen(first), Metering::Open(second)]);
    let ended =
        EndedRun { key: second, ended_at: at(260), unseen: false, reason: EndReason::ContainerExited };
    let metering = instance.on(Event::RunsEnded(vec![ended.clone()])).unwrap().metering;
    assert_eq!(metering, [Metering::Close(ended.clone())]);
    assert_eq!(instance.meter, Meter { open: None, closed: Some((second, at(260))), ..Meter::default() });
    assert_eq!(instance.on(Event::RunsEnded(vec![ended])).unwrap().metering, [], "it is recorded");
}

#[test]
fn the_end_of_an_older_run_leaves_the_open_one() {
    let mut instance = instance(State::Starting { claim: claim(), reason: None, restarting: false });
    instance.on(Event::BecameReady(pod())).unwrap();
    let old = EndedRun {
        key: RunKey { attempt: 1, since: at(10) },
        ended_at: at(20),
        unseen: false,
        reason: EndReason::Stopped,
    };
    instance.on(Event::RunsEnded(vec![old])).unwrap();
    assert_eq!(instance.meter.open, Some(RunKey { attempt: 2, since: at(100) }));
}

#[test]
fn a_released_instance_has_stopped_or_goes_on_to_be_deleted() {
    for (failure, end) in [(None, End::Succeeded), (Some(failure()), End::Failed(failure().to_problem()))] {
        let claim = ClaimStatus::Held(claim());
        let mut stopping =
            instance(State::Stopping { claim, failure: failure.clone(), reason: None, hold: None });
        let open = RunKey { attempt: 2, since: at(100) };
        stopping.meter.open = Some(open);
        let effects = stopping.on(Event::Released).unwrap();
        assert_eq!(stopping.state, State::Stopped { failure, hold: None });
        assert_eq!(effects.metering, [Metering::CloseUnseen(open)]);
        assert_eq!(effects.ended, [EndedOperation { id: stopping.operation.id, end }]);
    }
    let reason = Some(Reason::new(ReasonCode::Terminating, ""));
    let mut deleting = instance(State::Deleting { claim: ClaimStatus::Unknown, reason });
    deleting.meter.open = Some(RunKey { attempt: 2, since: at(100) });
    let effects = deleting.on(Event::Released).unwrap();
    assert!(!deleting.is_deleted());
    assert_eq!(deleting.state, State::Deleting { claim: ClaimStatus::None, reason: None });
    assert_eq!((effects.metering.len(), effects.ended.len()), (1, 0));
    let effects = deleting.on(Event::StoragesDetached).unwrap();
    assert!(deleting.is_deleted());
    assert_eq!(effects.ended, [EndedOperation { id: deleting.operation.id, end: End::Succeeded }]);
}

#[test]
fn later_effects_follow_earlier_ones() {
    let ended = |end| EndedOperation { id: OperationId::new(), end };
    let key = RunKey { attempt: 1, since: at(0) };
    let (first, second) = (ended(End::Cancelled), ended(End::Succeeded));
    let entry = |name: &str| Entry::from(Detail::Deleted(Deleted { name: name.into() }));
    let mut effects =
        Effects { ended: vec![first.clone()], metering: vec![Metering::Open(key)], log: vec![entry("a")] };
    effects.extend(Effects {
        ended: vec![second.clone()],
        metering: vec![Metering::CloseUnseen(key)],
        log: vec![entry("b")],
    });
    let metering = vec![Metering::Open(key), Metering::CloseUnseen(key)];
    let log = vec![entry("a"), entry("b")];
    assert_eq!(effects, Effects { ended: vec![first, second], metering, log });
}

#[test]
fn an_instance_removed_from_its_unit_is_a_new_attempt() {
    let mut instance = instance(State::Running { claim: claim(), pod: pod() });
    let effects = instance.on(Event::RemovedFromUnit).unwrap();
    assert_eq!((effects.ended.len(), effects.metering.len()), (0, 0));
    assert_eq!(instance.attempt, 3);
    assert_eq!(instance.state.reason().unwrap().code, ReasonCode::RemovedFromUnit);
}

#[test]
fn a_failure_is_the_reason_until_the_next_start() {
    let mut instance = instance(State::Starting { claim: claim(), reason: None, restarting: false });
    instance.on(Event::Failed(failure())).unwrap();
    assert!(instance.state.set_reason(Some(Reason::new(ReasonCode::Terminating, ""))));
    assert_eq!(instance.state.reason().unwrap().code, ReasonCode::ContainerExited);
    instance.on(Event::Released).unwrap();
    assert_eq!(instance.state.reason().unwrap().code, ReasonCode::ContainerExited);
    assert!(!instance.state.set_reason(None), "a stopped instance waits for nothing");
    instance.command(Command::Start, OperationId::new(), at(500)).unwrap();
    assert_eq!((instance.state.reason(), instance.state.failure()), (None, None));
}

#[test]
fn a_reason_is_new_once() {
    let reason = Some(Reason::new(ReasonCode::Terminating, "x"));
    for mut state in states() {
        let waits = !matches!(state, State::Running { .. } | State::Stopped { .. } | State::Deleted);
        assert_eq!(state.set_reason(reason.clone()), waits, "{state:?}");
        assert!(!state.set_reason(reason.clone()));
        assert_eq!(state.set_reason(None), waits);
    }
}

#[test]
fn a_storage_of_another_cluster_is_outside() {
    let mut instance = instance(State::Pending { reason: None, wait: false, held: None, left: None });
    assert!(!instance.storage_is_outside("uk-1"));
    for (cluster, outside) in [(None, false), (Some("uk-1"), false), (Some("uk-2"), true)] {
        let cluster = cluster.map(str::to_owned);
        let other = AttachedStorage { object_name: "stor-0".into(), cluster: Some("uk-1".into()) };
        let storage = AttachedStorage { object_name: "stor-1".into(), cluster };
        instance.attached = [(ids::StorageId::new(), other), (ids::StorageId::new(), storage)].into();
        assert_eq!(instance.storage_is_outside("uk-1"), outside);
    }
}

#[test]
fn states_are_stored_with_their_names_and_parts() {
    let left = State::Pending { reason: None, wait: true, held: None, left: Some(claim()) };
    for state in states().into_iter().chain([left]) {
        let stored = serde_json::to_value(&state).unwrap();
        assert_eq!(serde_json::from_value::<State>(stored.clone()).unwrap(), state);
        // the lane of the queue (migrations/gpu/0003)
        let cluster = stored.pointer("/claim/cluster").and_then(|cluster| cluster.as_str());
        assert_eq!(cluster, state.unit().map(|unit| unit.cluster.as_str()), "{stored}");
    }
}

/// The types that an event adds to the log, and the reason of the last.
fn logged(instance: &mut Instance, event: Event) -> (Vec<&'static str>, Option<ReasonCode>) {
    let log = instance.on(event).unwrap().log;
    let types = log.iter().map(|entry| entry.detail.event_type().as_str().trim_start_matches("instance."));
    (types.collect(), log.last().and_then(|entry| entry.reason))
}

#[test]
fn each_event_of_a_life_is_logged_once() {
    let mut instance = instance(State::Pending { reason: None, wait: false, held: None, left: None });
    instance.meter = Meter::default();
    let run = |since, ended_at| EndedRun {
        key: RunKey { attempt: 2, since: at(since) },
        ended_at: at(ended_at),
        unseen: false,
        reason: EndReason::ContainerExited,
    };
    let since = |since| Pod { since: at(since), ..pod() };
    let probe = Some(Reason::new(ReasonCode::ProbeFailing, "no answer"));
    for (event, expected, reason) in [
        (Event::Claimed(claim()), vec!["unit_claimed"], None),
        (Event::BecameReady(since(100)), vec!["started"], None),
        // the same run, at another address
        (Event::BecameReady(Pod { ip: "10.0.0.2".into(), ..since(100) }), vec![], None),
        (Event::BecameUnready(probe), vec!["interrupted"], Some(ReasonCode::ProbeFailing)),
        (Event::BecameReady(since(100)), vec!["recovered"], None),
        (Event::RunsEnded(vec![run(100, 110)]), vec!["run_ended"], None),
        // what is known ends no second time
        (Event::RunsEnded(vec![run(100, 110)]), vec![], None),
        (Event::BecameUnready(None), vec!["interrupted"], None),
        (Event::BecameReady(since(120)), vec!["started"], None),
        // nobody saw that the container restarted
        (Event::BecameReady(since(130)), vec!["run_ended", "started"], None),
        (Event::RemovedFromUnit, vec!["interrupted"], Some(ReasonCode::RemovedFromUnit)),
        // the next attempt was not ready
        (Event::Failed(failure()), vec!["start_failed"], Some(ReasonCode::ContainerExited)),
        (Event::Released, vec!["run_ended", "stopped"], Some(ReasonCode::ContainerExited)),
    ] {
        let name = format!("{event:?}");
        assert_eq!(logged(&mut instance, event), (expected, reason), "{name}");
    }
}

#[test]
fn a_failure_of_a_start_is_not_one_of_a_run() {
    for (ready, expected) in [(false, "start_failed"), (true, "failed")] {
        let mut instance = instance(State::Starting { claim: claim(), reason: None, restarting: false });
        instance.meter = Meter::default();
        if ready {
            instance.on(Event::BecameReady(pod())).unwrap();
        }
        assert_eq!(logged(&mut instance, Event::Failed(failure())).0, [expected]);
    }
}

#[test]
fn who_stopped_it_is_logged_at_the_end() {
    let of = |code| Some(Failure::new(Reason::new(code, "")));
    for (failure, cause) in [
        (None, StopCause::User),
        (of(ReasonCode::StoppedByAdministrator), StopCause::Administrator),
        (of(ReasonCode::TenantSuspended), StopCause::TenantSuspended),
        (of(ReasonCode::NodeLost), StopCause::Failure),
    ] {
        let mut instance =
            instance(State::Stopping { claim: ClaimStatus::Unknown, failure, reason: None, hold: None });
        instance.meter = Meter::default();
        let log = instance.on(Event::Released).unwrap().log;
        assert_eq!(log[0].detail, Detail::Stopped(Stopped { cause }));
    }
    let mut instance = instance(State::Running { claim: claim(), pod: pod() });
    let by_platform = Event::StoppedByPlatform(of(ReasonCode::TenantSuspended).unwrap());
    assert_eq!(
        logged(&mut instance, by_platform),
        (vec!["stop_requested"], Some(ReasonCode::TenantSuspended))
    );
}

#[test]
fn a_storage_is_logged_where_there_is_one() {
    for storage in [None, Some(ids::StorageId::new())] {
        let mut instance = instance(State::Deleting { claim: ClaimStatus::None, reason: None });
        let mount = |storage_id| Mount { storage_id, mount_path: "/data".into(), read_only: false };
        instance.order.storages = storage.map(mount).into_iter().collect();
        let detached = storage.map(|_| "storage_detached");
        let expected: Vec<_> = detached.into_iter().chain(["deleted"]).collect();
        assert_eq!(logged(&mut instance, Event::StoragesDetached).0, expected);
    }
}
