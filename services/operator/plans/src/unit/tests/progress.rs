use super::*;

fn with_pod(pod: ObservedPod) -> Plan {
    planned(&unit(true), &snapshot(vec![pod]))
}

fn waiting(reason: &str, message: &str) -> ObservedPod {
    let waiting = StatusReason { reason: reason.to_owned(), message: message.to_owned() };
    ObservedPod { waiting: Some(waiting), container_running: false, phase: Phase::Pending, ..instance_pod() }
}

#[test]
fn errors_of_the_kubelet_fail_the_start_with_their_own_reason() {
    for (reason, expected) in [
        ("ErrImageNeverPull", FailureReason::ImagePullFailed),
        ("ImageInspectError", FailureReason::ImagePullFailed),
        ("SignatureValidationFailed", FailureReason::ImagePullFailed),
        ("InvalidImageName", FailureReason::InvalidImageName),
        ("CreateContainerConfigError", FailureReason::ContainerConfigError),
        ("CreateContainerError", FailureReason::ContainerConfigError),
        ("RunContainerError", FailureReason::ContainerConfigError),
        ("StartError", FailureReason::ContainerConfigError),
        ("CrashLoopBackOff", FailureReason::ContainerExited),
    ] {
        assert_eq!(failure(&with_pod(waiting(reason, "why"))), Some(expected), "{reason}");
    }
    let failed = with_pod(waiting("ErrImageNeverPull", "no such image"));
    assert_eq!(failed.status.last_failure.unwrap().message, "ErrImageNeverPull: no such image");
    assert_eq!(failed.before_status, [], "the failure is stored first");
    assert_eq!(words(&failed.after_status), ["create guard", "nominate", "create own", "nominate"]);
    let pulling = with_pod(waiting("ContainerCreating", ""));
    assert_eq!((failure(&pulling), ready(&pulling)), (None, InstanceReason::Starting));
}

#[test]
fn an_image_that_cannot_be_pulled_fails_the_start_after_the_kubelet_has_tried_again() {
    let limit = i64::try_from(Settings::default().image_pull_seconds).unwrap();
    for reason in ["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"] {
        let first = with_pod(waiting(reason, "no such image"));
        assert_eq!((failure(&first), first.requeue_after), (None, Some(Settings::default().image_pull())));
        let message = &condition(&first, names::CONDITION_INSTANCE_READY).message;
        assert!(message.contains(&format!("{reason}: no such image")), "{message}");
        let failed_at = first.status.instance.as_ref().unwrap().image_pull_failed_at.clone();
        assert_eq!(failed_at, Some(Time(after(20))));
        let known = with_status(unit(true), first.status);
        let later = |seconds, pod| planned(&known, &Snapshot { now: after(seconds), ..snapshot(vec![pod]) });
        assert_eq!(failure(&later(20 + limit - 1, waiting(reason, ""))), None);
        let failed = later(20 + limit, waiting(reason, "no such image"));
        assert_eq!(failure(&failed), Some(FailureReason::ImagePullFailed));
        assert_eq!(failed.status.last_failure.unwrap().message, format!("{reason}: no such image"));
        let pulled = later(20 + limit, instance_pod());
        assert_eq!((failure(&pulled), pulled.status.instance.unwrap().image_pull_failed_at), (None, None));
    }
}

#[test]
fn no_message_ends_in_empty_parentheses() {
    let known = with_status(unit(true), with_pod(instance_pod()).status);
    let nothing = ObservedPod { container_running: false, phase: Phase::Pending, ..instance_pod() };
    let late = planned(&known, &Snapshot { now: after(60), ..snapshot(vec![nothing]) });
    let message = late.status.last_failure.unwrap().message;
    assert_eq!(message, "the container was not running within 60 s");
    let ended = ObservedPod { phase: Phase::Ended, ..ready_pod() };
    let plan = planned(&with_status(unit(true), running_status()), &snapshot(vec![ended]));
    let message = &condition(&plan, names::CONDITION_INSTANCE_READY).message;
    assert_eq!(message, "the pod ended and is being created again");
}

#[test]
fn a_container_that_exits_before_it_was_ready_fails_the_start_with_the_right_log() {
    let exit = Some(ContainerExit { code: 3, reason: "Error".to_owned(), at: Some(after(5)) });
    let ended =
        ObservedPod { container_ended: true, container_running: false, exit: exit.clone(), ..instance_pod() };
    let restarted = ObservedPod { restarts: 1, exit: exit.clone(), ..instance_pod() };
    let again = ObservedPod { restarts: 1, ..ended.clone() };
    let backing_off = ObservedPod { exit, ..waiting("CrashLoopBackOff", "") };
    for (pod, previous) in [(ended, false), (restarted, true), (again, false), (backing_off, false)] {
        let plan = with_pod(pod);
        assert_eq!(failure(&plan), Some(FailureReason::ContainerExited));
        assert!(plan.status.last_failure.as_ref().unwrap().message.contains("exit code 3 (Error)"));
        assert_eq!(plan.log_source.unwrap().previous, previous);
    }
}

#[test]
fn a_start_that_takes_too_long_fails_by_what_it_waits_for() {
    let first = with_pod(instance_pod());
    assert_eq!(first.requeue_after, Some(Duration::from_secs(60)));
    let known = with_status(unit(true), first.status);
    let second = planned(&known, &snapshot(vec![instance_pod()]));
    assert_eq!(second.requeue_after, Some(Duration::from_secs(40)), "counted from the creation of the pod");
    let late = |pod| {
        let known = planned(&unit(true), &snapshot(vec![instance_pod()])).status;
        let snapshot = Snapshot { now: after(60), ..snapshot(vec![pod]) };
        failure(&planned(&with_status(unit(true), known), &snapshot))
    };
    assert_eq!(late(instance_pod()), Some(FailureReason::ProbeFailed));
    assert_eq!(late(waiting("ContainerCreating", "")), Some(FailureReason::StartTimeout));
}

#[test]
fn a_ready_pod_runs_and_its_run_is_open() {
    let plan = with_pod(ready_pod());
    assert_eq!((plan.status.state, ready(&plan)), (UnitState::Running, InstanceReason::Running));
    assert_eq!(condition(&plan, names::CONDITION_INSTANCE_READY).status, "True");
    let own = plan.status.instance.as_ref().unwrap();
    assert_eq!((own.running_since.clone(), own.pod_ip.as_deref()), (Some(Time(after(10))), Some("10.0.0.1")));
    assert_eq!((plan.before_status, plan.after_status), (vec![], vec![]));
}

#[test]
fn a_running_instance_reports_a_failing_probe_and_a_restart_without_failing() {
    let unready = ObservedPod { ready: false, ready_since: Some(after(15)), ..ready_pod() };
    let exit = ContainerExit { code: 1, reason: "Error".to_owned(), at: Some(after(14)) };
    let crashed = ObservedPod { container_running: false, restarts: 1, exit: Some(exit), ..unready.clone() };
    for (pod, reason, end, at) in [
        (unready, InstanceReason::ProbeFailing, "ProbeFailed", 15),
        (crashed, InstanceReason::ContainerRestarting, "ContainerExited", 14),
    ] {
        let plan = planned(&with_status(unit(true), running_status()), &snapshot(vec![pod]));
        assert_eq!((ready(&plan), failure(&plan)), (reason, None));
        assert_eq!(plan.status.state, UnitState::Ready);
        let run = plan.status.last_run.unwrap();
        assert_eq!((run.reason.as_str(), run.running_since.0, run.ended_at.0), (end, after(10), after(at)));
    }
}

#[test]
fn a_pod_that_the_kubelet_rejects_fails_unless_its_place_was_taken() {
    let ended = |reason: &str| ObservedPod {
        phase: Phase::Ended,
        status_reason: Some(StatusReason { reason: reason.to_owned(), message: "why".to_owned() }),
        ..instance_pod()
    };
    assert_eq!(failure(&with_pod(ended("SysctlForbidden"))), Some(FailureReason::PodRejected));
    for reason in ["OutOfcpu", "UnexpectedAdmissionError", "NodeAffinity", "Preempting"] {
        let plan = with_pod(ended(reason));
        assert_eq!(failure(&plan), None, "{reason}");
        assert_eq!((held(&plan).1, ready(&plan)), (HeldReason::PlaceLost, InstanceReason::WaitingForPlace));
        assert_eq!(words(&plan.before_status), ["delete", "create again"], "{reason}");
    }
    let exited = ObservedPod { status_reason: None, ..ended("") };
    assert_eq!(failure(&with_pod(exited)), Some(FailureReason::ContainerExited));
}

#[test]
fn a_restart_that_the_probe_did_not_notice_changes_nothing() {
    let restarted = ObservedPod { restarts: 1, ..ready_pod() };
    let plan = planned(&with_status(unit(true), running_status()), &snapshot(vec![restarted]));
    assert_eq!((ready(&plan), failure(&plan)), (InstanceReason::Running, None));
    assert_eq!(plan.status.last_run, None);
}
