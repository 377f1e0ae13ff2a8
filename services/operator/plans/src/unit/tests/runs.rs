use super::*;

/// The run that the plan closes after the pod was ready.
fn closed(unit: GpuUnit, snapshot: &Snapshot) -> Option<(String, Timestamp)> {
    last_run(unit, snapshot).map(|run| (run.reason, run.ended_at.0))
}

fn last_run(unit: GpuUnit, snapshot: &Snapshot) -> Option<Run> {
    planned(&with_status(unit, running_status()), snapshot).status.last_run
}

fn run(reason: &str, seconds: i64) -> Option<(String, Timestamp)> {
    Some((reason.to_owned(), after(seconds)))
}

#[test]
fn the_run_goes_on_while_its_pod_is_ready_or_terminates() {
    assert_eq!(closed(unit(true), &snapshot(vec![ready_pod()])), None);
    let terminating = ObservedPod { deleting: true, ..ready_pod() };
    assert_eq!(closed(unit(false), &snapshot(vec![terminating])), None);
}

#[test]
fn a_missing_pod_ends_the_run_now() {
    assert_eq!(closed(unit(true), &snapshot(vec![])), run("PodDeleted", 20));
    assert_eq!(closed(unit(false), &snapshot(vec![])), run("Stopped", 20));
    let mut restarted = unit(true);
    restarted.spec.instance.as_mut().unwrap().restart = 1;
    assert_eq!(closed(restarted, &snapshot(vec![])), run("Restarted", 20));
}

#[test]
fn an_ended_pod_ends_the_run_when_its_container_exited() {
    let exit = ContainerExit { code: 0, reason: "Completed".to_owned(), at: Some(after(17)) };
    let ended = ObservedPod { phase: Phase::Ended, ready: false, exit: Some(exit), ..ready_pod() };
    let ended = ObservedPod { ready_since: Some(after(18)), ..ended };
    assert_eq!(closed(unit(true), &snapshot(vec![ended.clone()])), run("ContainerExited", 17));
    assert_eq!(closed(unit(false), &snapshot(vec![ended.clone()])), run("Stopped", 17));
    let evicted = StatusReason { reason: "Evicted".to_owned(), message: String::new() };
    let evicted = ObservedPod { status_reason: Some(evicted), exit: None, ..ended.clone() };
    assert_eq!(closed(unit(true), &snapshot(vec![evicted])), run("PodDeleted", 18));
    let deleted = ObservedPod { deleting: true, ..ended.clone() };
    assert_eq!(closed(unit(true), &snapshot(vec![deleted])), run("PodDeleted", 17));
    for disruption in ["DeletionByPodGC", "DeletionByTaintManager"] {
        let lost = ObservedPod { disruption: Some(disruption.to_owned()), ..ended.clone() };
        assert_eq!(closed(unit(true), &snapshot(vec![lost])), run("NodeLost", 17), "{disruption}");
    }
}

#[test]
fn a_node_that_goes_down_ends_the_run_when_the_pod_became_unready() {
    let unready = ObservedPod { ready: false, ready_since: Some(after(16)), ..ready_pod() };
    let mut down = snapshot(vec![unready]);
    let node =
        ObservedNode { ready: false, since: Some(after(15)), cordoned: false, ..ObservedNode::default() };
    down.nodes.insert(NODE.to_owned(), node);
    assert_eq!(closed(unit(true), &down), run("NodeLost", 16));
    let mut lost = Snapshot { now: after(60), ..down };
    lost.pods[0] = ready_pod();
    assert_eq!(closed(unit(true), &lost), run("NodeLost", 15), "the pod's status is stale");
}

#[test]
fn an_end_that_was_not_observed_is_billed_until_the_exit() {
    let exit = ContainerExit { code: 1, reason: "Error".to_owned(), at: Some(after(12)) };
    let again = ObservedPod { ready_since: Some(after(15)), exit: Some(exit), restarts: 1, ..ready_pod() };
    assert_eq!(closed(unit(true), &snapshot(vec![again.clone()])), run("ContainerExited", 12));
    let without_exit = ObservedPod { exit: None, ..again };
    assert_eq!(closed(unit(true), &snapshot(vec![without_exit])), run("ContainerExited", 15));
}

#[test]
fn a_pod_is_released_only_after_its_end_and_on_a_lost_node_abandoned() {
    let terminating = ObservedPod { deleting: true, ..ready_pod() };
    let plan = planned(&unit(false), &snapshot(vec![terminating.clone()]));
    assert_eq!(plan.after_status, []);
    let ended = ObservedPod { phase: Phase::Ended, ..terminating.clone() };
    let plan = planned(&unit(false), &snapshot(vec![ended]));
    assert_eq!(words(&plan.after_status), ["release"]);
    let gone = Snapshot { nodes: [].into(), ..snapshot(vec![terminating.clone()]) };
    let plan = planned(&unit(false), &gone);
    assert_eq!(words(&plan.after_status), ["release", "kill"], "no kubelet will confirm the end");
    let reference: PodRef = terminating.reference();
    assert!(plan.after_status.contains(&Action::ReleasePod(reference)));
}

#[test]
fn only_the_very_pod_of_the_run_proves_that_it_goes_on() {
    let elsewhere = ObservedPod { namespace: "ten-2".to_owned(), ..ready_pod() };
    assert_eq!(closed(unit(true), &snapshot(vec![elsewhere])), run("PodDeleted", 20));
    let other = ObservedPod { name: "inst-1-1-1".to_owned(), ..ready_pod() };
    assert_eq!(closed(unit(true), &snapshot(vec![other])), run("PodDeleted", 20));
}

#[test]
fn a_run_whose_attempt_has_failed_or_is_no_longer_wanted_was_stopped() {
    let mut next = unit(true);
    next.spec.instance.as_mut().unwrap().attempt = 2;
    assert_eq!(closed(next, &snapshot(vec![])), run("Stopped", 20));
    let failed =
        rejected(&with_status(unit(true), running_status()), "no", FailureReason::InvalidTemplate, start());
    let plan = planned(&with_status(unit(true), failed.unwrap()), &snapshot(vec![]));
    assert_eq!(plan.status.last_run.unwrap().reason, "Stopped");
}

#[test]
fn a_run_does_not_begin_before_the_end_of_the_last_run_of_the_instance() {
    let mut status = planned(&with_status(unit(true), running_status()), &snapshot(vec![])).status;
    let again = ObservedPod { ready_since: Some(after(18)), ..ready_pod() };
    let since = |status: &GpuUnitStatus| {
        let plan = planned(&with_status(unit(true), status.clone()), &snapshot(vec![again.clone()]));
        plan.status.instance.unwrap().running_since.unwrap().0
    };
    assert_eq!(since(&status), after(20));
    status.last_run.as_mut().unwrap().instance_id = "inst-0".to_owned();
    assert_eq!(since(&status), after(18));
}

#[test]
fn two_runs_of_an_attempt_do_not_begin_in_the_same_second() {
    let mut status = planned(&with_status(unit(true), running_status()), &snapshot(vec![])).status;
    let last = status.last_run.as_mut().unwrap();
    // it was ready for less than a second
    last.ended_at = last.running_since.clone();
    let began = last.running_since.0;
    let again = ObservedPod { ready_since: Some(began), ..ready_pod() };
    let plan = planned(&with_status(unit(true), status), &snapshot(vec![again]));
    let since = plan.status.instance.unwrap().running_since.unwrap().0;
    assert_eq!(since.duration_since(began), SignedDuration::from_secs(1));
}

#[test]
fn a_run_of_the_next_attempt_may_begin_in_the_same_second() {
    let mut status = planned(&with_status(unit(true), running_status()), &snapshot(vec![])).status;
    let last = status.last_run.as_mut().unwrap();
    last.ended_at = last.running_since.clone();
    last.attempt -= 1;
    let began = last.running_since.0;
    let again = ObservedPod { ready_since: Some(began), ..ready_pod() };
    let plan = planned(&with_status(unit(true), status), &snapshot(vec![again]));
    assert_eq!(plan.status.instance.unwrap().running_since.unwrap().0, began);
}

#[test]
fn an_instance_that_only_its_pod_tells_of_is_reported() {
    let plan = planned(&unit(false), &snapshot(vec![ready_pod()]));
    let own = plan.status.instance.unwrap();
    assert_eq!((own.id.as_str(), own.running_since), (INSTANCE, Some(Time(after(10)))));
    assert_eq!(plan.status.state, UnitState::Running);
}

#[test]
fn an_end_that_neither_runtime_nor_kubelet_saw_is_reported_as_such() {
    let exit = |reason: &str| {
        let ended = serde_json::json!({ "metadata": { "name": "p", "namespace": "n", "labels": {
                names::LABEL_UNIT: "u", names::LABEL_ROLE: names::ROLE_INSTANCE } },
            "status": { "phase": "Running", "containerStatuses": [{ "name": "main", "image": "", "imageID": "",
                "ready": false, "restartCount": 1, "lastState": { "terminated": {
                    "exitCode": 255, "reason": reason, "finishedAt": after(17).to_string() } } }] } });
        ObservedPod::of(&serde_json::from_value(ended).unwrap()).unwrap().exit
    };
    let unready = ObservedPod { ready: false, ready_since: Some(after(18)), ..ready_pod() };
    let again = ObservedPod { ready_since: Some(after(19)), ..ready_pod() };
    let mut down = snapshot(vec![unready.clone()]);
    let node =
        ObservedNode { ready: false, since: Some(after(15)), cordoned: false, ..ObservedNode::default() };
    down.nodes.insert(NODE.to_owned(), node);
    for (snapshot, unseen, at) in [
        (snapshot(vec![]), true, 20),
        (down, true, 18),
        (
            snapshot(vec![ObservedPod {
                exit: exit("Unknown"),
                container_running: false,
                ..unready.clone()
            }]),
            true,
            18,
        ),
        (
            snapshot(vec![ObservedPod { exit: exit("Error"), container_running: false, ..unready.clone() }]),
            false,
            17,
        ),
        (snapshot(vec![ObservedPod { container_running: true, ..unready }]), false, 18),
        (snapshot(vec![ObservedPod { exit: exit("Error"), ..again.clone() }]), false, 17),
        (snapshot(vec![ObservedPod { exit: exit("ContainerStatusUnknown"), ..again.clone() }]), true, 19),
        (snapshot(vec![again]), true, 19),
    ] {
        let run = last_run(unit(true), &snapshot).unwrap();
        assert_eq!((run.end_unseen, run.ended_at.0), (unseen, after(at)), "{:?}", snapshot.pods);
    }
}
