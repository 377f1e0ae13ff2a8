//! The plan of a unit, case by case. Random scripts are in `tests/model`.

use std::time::Duration;

use crds::{FailureReason, GpuUnit, GpuUnitStatus, HeldReason, InstanceReason, Run, UnitState, names};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::json;

use super::action::{Action, Plan};
use super::plan::{plan, rejected};
use super::snapshot::Snapshot;
use super::{pods, resources};
use crate::observation::{
    ContainerExit, ObservedNode, ObservedPod, ObservedStorage, Phase, PodRef, Role, StatusReason,
};
use crate::settings::Settings;

const UNIT: &str = "unit-1";
const NODE: &str = "node-1";
const INSTANCE: &str = "inst-1";
const TENANT: &str = "ten-1";

fn start() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn after(seconds: i64) -> Timestamp {
    start() + SignedDuration::from_secs(seconds)
}

/// A unit with its finalizer, and with attempt 1 of an instance if `wanted`.
fn unit(wanted: bool) -> GpuUnit {
    let mut unit: GpuUnit = serde_json::from_value(json!({
        "apiVersion": "atelier.dev/v1alpha1", "kind": "GpuUnit",
        "metadata": {"name": UNIT, "uid": "u", "generation": 1, "finalizers": [names::FINALIZER_UNIT]},
        "spec": {"gpuSpec": "small", "resources": {"cpu": "4", "memory": "16Gi"},
            "gpu": {"model": "RTX 3080", "count": 1, "allocation": {"kind": "device", "resource": "nvidia.com/gpu"}}},
    }))
    .unwrap();
    if wanted {
        let instance = json!({
            "id": INSTANCE, "attempt": 1, "tenantId": TENANT, "image": "webui", "startTimeoutSeconds": 60,
        });
        unit.spec.instance = Some(serde_json::from_value(instance).unwrap());
    }
    unit
}

fn pod(role: Role) -> ObservedPod {
    ObservedPod {
        namespace: names::SYSTEM_NAMESPACE.to_owned(),
        name: UNIT.to_owned(),
        uid: "placeholder".to_owned(),
        unit: UNIT.to_owned(),
        role,
        instance: String::new(),
        attempt: 0,
        restart: 0,
        required_node: None,
        nominated: None,
        node: Some(NODE.to_owned()),
        class: names::CLASS_PLACEHOLDER.to_owned(),
        template: resources::template_hash(&unit(false).spec, &Settings::default()),
        claim: None,
        created_at: start(),
        deleting: false,
        termination_confirmed: false,
        has_run_finalizer: false,
        phase: Phase::Running,
        status_reason: None,
        unschedulable: None,
        disruption: None,
        ready: false,
        ready_since: None,
        ip: None,
        waiting: None,
        container_running: true,
        container_ended: false,
        restarts: 0,
        exit: None,
        gpu_uuids: Vec::new(),
    }
}

/// A placeholder that is bound to the node.
fn placeholder() -> ObservedPod {
    pod(Role::Placeholder)
}

/// A placeholder that waits for a node; with `returns_to`, for the place on that node.
fn pending(returns_to: Option<&str>) -> ObservedPod {
    ObservedPod {
        node: None,
        phase: Phase::Pending,
        required_node: returns_to.map(str::to_owned),
        nominated: returns_to.map(str::to_owned),
        class: returns_to.map_or(names::CLASS_PLACEHOLDER, |_| names::CLASS_RETURNING).to_owned(),
        ..placeholder()
    }
}

/// The instance pod, running on the node and not ready yet.
fn instance_pod() -> ObservedPod {
    ObservedPod {
        namespace: TENANT.to_owned(),
        name: format!("{INSTANCE}-1"),
        uid: "instance".to_owned(),
        instance: INSTANCE.to_owned(),
        attempt: 1,
        required_node: Some(NODE.to_owned()),
        class: names::CLASS_INSTANCE.to_owned(),
        has_run_finalizer: true,
        ..pod(Role::Instance)
    }
}

fn ready_pod() -> ObservedPod {
    ObservedPod {
        ready: true,
        ready_since: Some(after(10)),
        ip: Some("10.0.0.1".to_owned()),
        ..instance_pod()
    }
}

fn node() -> ObservedNode {
    ObservedNode { ready: true, since: Some(start()), cordoned: false }
}

fn snapshot(pods: Vec<ObservedPod>) -> Snapshot {
    Snapshot {
        now: after(20),
        settled_since: start(),
        pods,
        nodes: [(NODE.to_owned(), node())].into(),
        ..Snapshot::default()
    }
}

fn planned(unit: &GpuUnit, snapshot: &Snapshot) -> Plan {
    plan(unit, snapshot, &Settings::default())
}

fn condition<'a>(plan: &'a Plan, type_: &str) -> &'a Condition {
    plan.status.condition(type_).unwrap()
}

/// Status and reason of the `Held` condition.
fn held(plan: &Plan) -> (&str, HeldReason) {
    let held = condition(plan, names::CONDITION_HELD);
    (&held.status, held.reason.parse().unwrap())
}

fn ready(plan: &Plan) -> InstanceReason {
    condition(plan, names::CONDITION_INSTANCE_READY).reason.parse().unwrap()
}

fn failure(plan: &Plan) -> Option<FailureReason> {
    plan.status.last_failure.as_ref().map(|failure| failure.reason.parse().unwrap())
}

/// The names of the actions, in order.
fn words(actions: &[Action]) -> Vec<&'static str> {
    let word = |action: &Action| match action {
        Action::AddFinalizer => "add finalizer",
        Action::RemoveFinalizer => "remove finalizer",
        Action::EnsureTenantNamespace { .. } => "ensure tenant",
        Action::EnsureUnitNamespace { .. } => "ensure unit",
        Action::CreatePod(pod) => match pod.spec.as_ref().unwrap().priority_class_name.as_deref() {
            Some(names::CLASS_PLACEHOLDER) => "create fresh",
            Some(names::CLASS_RETURNING) => "create returning",
            Some(names::CLASS_INSTANCE)
                if pod.metadata.labels.as_ref().unwrap()[names::LABEL_ROLE] == names::ROLE_PLACEHOLDER =>
            {
                "create reclaiming"
            }
            _ => "create instance",
        },
        Action::Nominate { .. } => "nominate",
        Action::DeletePod { grace: Some(0), .. } => "kill",
        Action::DeletePod { .. } => "delete",
        Action::ReleasePod(_) => "release",
        _ => "device",
    };
    actions.iter().map(word).collect()
}

/// A status in which the ready pod's run is open.
fn running_status() -> GpuUnitStatus {
    planned(&unit(true), &snapshot(vec![ready_pod()])).status
}

fn with_status(mut unit: GpuUnit, status: GpuUnitStatus) -> GpuUnit {
    unit.status = Some(status);
    unit
}

mod idle {
    use super::*;

    #[test]
    fn a_new_unit_gets_its_finalizer_and_a_fresh_placeholder() {
        let mut unit = unit(false);
        unit.metadata.finalizers = None;
        let plan = planned(&unit, &snapshot(vec![]));
        assert_eq!(words(&plan.before_status), ["add finalizer", "create fresh"]);
        assert_eq!(held(&plan), ("False", HeldReason::Scheduling));
        assert_eq!(ready(&plan), InstanceReason::Idle);
        assert_eq!((plan.status.state, plan.status.node), (UnitState::Init, None));
        assert_eq!(plan.status.observed_generation, Some(1));
        assert_eq!(plan.requeue_after, None);
    }

    #[test]
    fn a_preempted_placeholder_is_reported_until_the_next_is_observed() {
        let plan = planned(&unit(false), &Snapshot { preempted: true, ..snapshot(vec![]) });
        assert_eq!(held(&plan), ("False", HeldReason::Preempted));
    }

    #[test]
    fn a_bound_placeholder_holds_the_place() {
        let plan = planned(&unit(false), &snapshot(vec![placeholder()]));
        assert_eq!(held(&plan), ("True", HeldReason::Holding));
        assert_eq!(plan.status.node.as_deref(), Some(NODE));
        assert_eq!((plan.before_status, plan.after_status, plan.requeue_after), (vec![], vec![], None));
    }

    #[test]
    fn only_one_of_two_bound_placeholders_stays() {
        let other = ObservedPod { name: format!("{UNIT}-b"), uid: "other".to_owned(), ..placeholder() };
        let plan = planned(&unit(false), &snapshot(vec![placeholder(), other.clone()]));
        assert_eq!(plan.before_status, [Action::DeletePod { pod: other.reference(), grace: Some(0) }]);
    }

    #[test]
    fn a_placeholder_that_cannot_hold_the_place_is_replaced_and_the_reason_reported() {
        let resized = ObservedPod { template: "other".to_owned(), ..placeholder() };
        let evicted = StatusReason { reason: "Evicted".to_owned(), message: "disk pressure".to_owned() };
        let ended = ObservedPod { phase: Phase::Ended, status_reason: Some(evicted), ..placeholder() };
        for (pod, reason, message) in [
            (resized, HeldReason::Scheduling, "the size of the unit has changed"),
            (ended, HeldReason::Preempted, "Evicted: disk pressure"),
        ] {
            let plan = planned(&unit(false), &snapshot(vec![pod]));
            assert_eq!(words(&plan.before_status), ["kill", "create fresh"], "{reason}");
            assert_eq!(held(&plan), ("False", reason));
            assert_eq!(condition(&plan, names::CONDITION_HELD).message, message);
            let Action::CreatePod(created) = &plan.before_status[1] else { panic!("{plan:?}") };
            // the name of the deleted one is still taken
            assert_eq!(created.metadata.name.as_deref(), Some("unit-1-b"));
        }
    }

    #[test]
    fn a_node_is_lost_when_it_has_not_been_ready_for_the_limit() {
        let limit = i64::try_from(Settings::default().node_lost_seconds).unwrap();
        let down_since = |at| {
            let mut snapshot = snapshot(vec![placeholder()]);
            let down = ObservedNode { ready: false, since: at, cordoned: false };
            snapshot.nodes.insert(NODE.to_owned(), down);
            planned(&unit(false), &snapshot)
        };
        let plan = down_since(Some(after(20 - limit + 1)));
        assert_eq!(held(&plan), ("True", HeldReason::Holding));
        assert_eq!(plan.requeue_after, Some(Duration::from_secs(1)), "reconciled when the limit is over");
        for since in [Some(after(20 - limit)), None] {
            let plan = down_since(since);
            assert_eq!(held(&plan), ("False", HeldReason::NodeLost), "{since:?}");
            assert_eq!(words(&plan.before_status), ["kill", "create fresh"]);
        }
        let gone = Snapshot { nodes: [].into(), ..snapshot(vec![placeholder()]) };
        assert_eq!(held(&planned(&unit(false), &gone)), ("False", HeldReason::NodeLost));
    }

    #[test]
    fn the_placeholder_on_a_cordoned_node_stays_until_another_holds_a_place() {
        let mut cordoned = snapshot(vec![placeholder()]);
        cordoned.nodes.insert(NODE.to_owned(), ObservedNode { cordoned: true, ..node() });
        let plan = planned(&unit(false), &cordoned);
        assert_eq!(words(&plan.before_status), ["create fresh"]);
        assert_eq!(held(&plan), ("False", HeldReason::NodeCordoned));
        assert_eq!(plan.status.node.as_deref(), Some(NODE));

        let other = ObservedPod { node: Some("node-2".to_owned()), uid: "other".to_owned(), ..placeholder() };
        cordoned.pods.push(other);
        cordoned.nodes.insert("node-2".to_owned(), node());
        let plan = planned(&unit(false), &cordoned);
        assert_eq!(
            plan.before_status,
            [Action::DeletePod { pod: placeholder().reference(), grace: Some(0) }]
        );
        assert_eq!(plan.status.node.as_deref(), Some("node-2"));
    }

    #[test]
    fn of_several_waiting_placeholders_the_one_of_the_instances_class_stays() {
        let high = ObservedPod {
            class: names::CLASS_INSTANCE.to_owned(),
            uid: "high".to_owned(),
            ..pending(Some(NODE))
        };
        let plan = planned(&unit(false), &snapshot(vec![pending(Some(NODE)), high]));
        let low = pending(Some(NODE)).reference();
        assert!(plan.before_status.contains(&Action::DeletePod { pod: low, grace: Some(0) }), "{plan:?}");
    }

    #[test]
    fn the_schedulers_message_is_reported_and_the_previous_reason_kept_until_then() {
        let message = "0/2 nodes are available".to_owned();
        let unschedulable = ObservedPod { unschedulable: Some(message.clone()), ..pending(None) };
        let plan = planned(&unit(false), &snapshot(vec![unschedulable]));
        assert_eq!(plan.before_status, []);
        assert_eq!(held(&plan), ("False", HeldReason::Unschedulable));
        assert_eq!(condition(&plan, names::CONDITION_HELD).message, message);

        let again = planned(&with_status(unit(false), plan.status), &snapshot(vec![pending(None)]));
        assert_eq!(held(&again), ("False", HeldReason::Unschedulable));
        let first = planned(&unit(false), &snapshot(vec![pending(None)]));
        assert_eq!(held(&first), ("False", HeldReason::Scheduling));
        let was_held = planned(&unit(false), &snapshot(vec![placeholder()])).status;
        let lost = planned(&with_status(unit(false), was_held), &snapshot(vec![pending(None)]));
        assert_eq!(held(&lost), ("False", HeldReason::Scheduling), "a true condition has no reason to keep");
    }

    #[test]
    fn a_returning_placeholder_counts_as_held_and_is_nominated_again() {
        let cleared = ObservedPod { nominated: None, ..pending(Some(NODE)) };
        let just_freed = Snapshot { settled_since: after(20), ..snapshot(vec![cleared]) };
        let plan = planned(&unit(false), &just_freed);
        assert_eq!(words(&plan.before_status), ["nominate"]);
        assert_eq!(held(&plan), ("True", HeldReason::Claimed));
        assert_eq!(plan.status.node.as_deref(), Some(NODE));
        assert_eq!(plan.requeue_after, Some(Duration::from_millis(300)), "replaced after its patience");
    }

    #[test]
    fn a_returning_placeholder_is_replaced_when_its_free_place_is_not_bound_in_time() {
        let plan = planned(&unit(false), &snapshot(vec![pending(Some(NODE))]));
        assert_eq!(words(&plan.before_status), ["create reclaiming", "nominate"]);
    }

    #[test]
    fn a_reclaiming_placeholder_gives_up_after_the_hand_off_limit_if_it_is_unschedulable() {
        let limit = i64::try_from(Settings::default().hand_off_seconds).unwrap();
        let reclaiming = |settled: i64, unschedulable: Option<&str>| {
            let pod = ObservedPod {
                class: names::CLASS_INSTANCE.to_owned(),
                unschedulable: unschedulable.map(str::to_owned),
                ..pending(Some(NODE))
            };
            let snapshot = Snapshot { settled_since: after(settled), ..snapshot(vec![pod]) };
            planned(&unit(false), &snapshot)
        };
        let waits = reclaiming(20 - limit + 1, Some("full"));
        assert_eq!(
            (held(&waits), waits.requeue_after),
            (("True", HeldReason::Claimed), Some(Duration::from_secs(1)))
        );
        let lost = reclaiming(20 - limit, Some("full"));
        assert_eq!(words(&lost.before_status), ["kill", "create fresh"]);
        assert_eq!(held(&lost), ("False", HeldReason::PlaceLost));
        assert_eq!(condition(&lost, names::CONDITION_HELD).message, "full");
        let untried = reclaiming(20 - limit, None);
        assert_eq!(untried.before_status, [], "the scheduler has not tried it");
    }

    #[test]
    fn a_returning_placeholder_gives_up_at_once_if_its_node_accepts_no_pods() {
        let mut snapshot = snapshot(vec![pending(Some(NODE))]);
        snapshot.nodes.insert(NODE.to_owned(), ObservedNode { cordoned: true, ..node() });
        let plan = planned(&unit(false), &snapshot);
        assert_eq!(words(&plan.before_status), ["kill", "create fresh"]);
        assert_eq!(held(&plan), ("False", HeldReason::PlaceLost));
    }

    #[test]
    fn an_invalid_spec_deletes_the_placeholder() {
        let mut unit = unit(false);
        unit.spec.resources.cpu = "four".to_owned();
        let plan = planned(&unit, &snapshot(vec![placeholder()]));
        assert_eq!(words(&plan.before_status), ["kill"]);
        assert_eq!((held(&plan), &plan.status.node), (("False", HeldReason::InvalidSpec), &None));
    }

    #[test]
    fn a_deleted_unit_loses_its_placeholder_and_then_its_finalizer() {
        let mut unit = unit(false);
        unit.metadata.deletion_timestamp = Some(Time(start()));
        let plan = planned(&unit, &snapshot(vec![placeholder()]));
        assert_eq!((words(&plan.before_status), words(&plan.after_status)), (vec!["kill"], vec![]));
        assert_eq!(held(&plan), ("False", HeldReason::Deleting));
        let plan = planned(&unit, &snapshot(vec![]));
        assert_eq!(
            (words(&plan.before_status), words(&plan.after_status)),
            (vec![], vec!["remove finalizer"])
        );
        unit.metadata.finalizers = None;
        assert_eq!(planned(&unit, &snapshot(vec![])).after_status, []);
        let running = planned(&unit, &snapshot(vec![placeholder(), ready_pod()]));
        assert_eq!(words(&running.before_status), ["delete"], "the instance ends before the placeholder");
        assert_eq!(running.after_status, []);
    }
}

mod starting {
    use super::*;

    #[test]
    fn the_instance_pod_is_created_and_nominated_before_the_placeholder_is_deleted() {
        let plan = planned(&unit(true), &snapshot(vec![placeholder()]));
        assert_eq!(words(&plan.before_status), ["ensure tenant", "create instance", "nominate", "kill"]);
        assert_eq!(held(&plan), ("True", HeldReason::Claimed));
        assert_eq!(ready(&plan), InstanceReason::HandingOver);
        let own = plan.status.instance.as_ref().unwrap();
        assert_eq!((own.pod_name.as_str(), own.started_at.0), ("inst-1-1", after(20)));
    }

    #[test]
    fn a_start_without_a_place_waits_and_fails_when_its_time_is_over() {
        let plan = planned(&unit(true), &snapshot(vec![pending(None)]));
        assert_eq!(ready(&plan), InstanceReason::WaitingForPlace);
        assert_eq!(plan.requeue_after, Some(Duration::from_secs(60)));
        let unit = with_status(unit(true), plan.status);
        let later =
            |seconds| planned(&unit, &Snapshot { now: after(seconds), ..snapshot(vec![pending(None)]) });
        assert_eq!((failure(&later(79)), later(79).requeue_after), (None, Some(Duration::from_secs(1))));
        let failed = later(80);
        assert_eq!(
            (failure(&failed), ready(&failed)),
            (Some(FailureReason::NoPlace), InstanceReason::StartFailed)
        );
        assert_eq!(failed.status.instance, None);
    }

    #[test]
    fn a_failed_attempt_is_not_retried() {
        let failed = rejected(&unit(true), "no", FailureReason::InvalidTemplate, start()).unwrap();
        let plan = planned(&with_status(unit(true), failed), &snapshot(vec![placeholder()]));
        assert_eq!(plan.before_status, []);
        assert_eq!((held(&plan).1, ready(&plan)), (HeldReason::Holding, InstanceReason::StartFailed));
        assert_eq!(condition(&plan, names::CONDITION_INSTANCE_READY).message, "InvalidTemplate: no");
        assert!(rejected(&unit(false), "no", FailureReason::InvalidTemplate, start()).is_none());
    }

    #[test]
    fn storages_must_exist_and_belong_to_the_tenant() {
        let mut unit = unit(true);
        let volume = json!([{"name": "data", "mountPath": "/data", "storage": "stor-1"}]);
        unit.spec.instance.as_mut().unwrap().volumes = serde_json::from_value(volume).unwrap();
        let with = |storage: Option<ObservedStorage>| {
            let mut snapshot = snapshot(vec![placeholder()]);
            snapshot.storages.extend(storage.map(|storage| ("stor-1".to_owned(), storage)));
            planned(&unit, &snapshot)
        };
        let storage = ObservedStorage { tenant: TENANT.to_owned(), mountable: true, volume: None };
        assert_eq!(ready(&with(Some(storage.clone()))), InstanceReason::HandingOver);
        let unbound = with(Some(ObservedStorage { mountable: false, ..storage.clone() }));
        assert_eq!(
            (ready(&unbound), held(&unbound).1),
            (InstanceReason::WaitingForStorage, HeldReason::Holding)
        );
        assert_eq!(ready(&with(None)), InstanceReason::WaitingForStorage);
        let foreign = with(Some(ObservedStorage { tenant: "ten-2".to_owned(), ..storage }));
        assert_eq!(failure(&foreign), Some(FailureReason::StorageForbidden));
    }

    #[test]
    fn a_pod_that_waits_for_its_place_is_nominated_again_and_the_placeholder_deleted() {
        let waiting = ObservedPod { node: None, phase: Phase::Pending, ..instance_pod() };
        let plan = planned(&unit(true), &snapshot(vec![placeholder(), waiting.clone()]));
        assert_eq!(words(&plan.before_status), ["nominate", "kill"]);
        let nominated = ObservedPod { nominated: Some(NODE.to_owned()), ..waiting };
        let plan = planned(&unit(true), &snapshot(vec![placeholder(), nominated]));
        assert_eq!(words(&plan.before_status), ["kill"]);
    }

    #[test]
    fn a_hand_off_that_fails_in_time_holds_the_place_again() {
        let limit = i64::try_from(Settings::default().hand_off_seconds).unwrap();
        let waiting = |unschedulable: Option<&str>| ObservedPod {
            node: None,
            phase: Phase::Pending,
            unschedulable: unschedulable.map(str::to_owned),
            ..instance_pod()
        };
        let settled = |seconds: i64, pod| {
            planned(&unit(true), &Snapshot { settled_since: after(seconds), ..snapshot(vec![pod]) })
        };
        let early = settled(20 - limit + 1, waiting(Some("full")));
        assert_eq!((early.before_status, early.requeue_after), (vec![], Some(Duration::from_secs(1))));
        let untried = settled(20 - limit, waiting(None));
        assert_eq!((untried.before_status.clone(), ready(&untried)), (vec![], InstanceReason::HandingOver));
        let late = settled(20 - limit, waiting(Some("full")));
        assert_eq!(words(&late.before_status), ["create returning", "nominate", "kill"]);
        assert_eq!((ready(&late), failure(&late)), (InstanceReason::WaitingForPlace, None));
    }

    #[test]
    fn a_restart_and_another_instance_wait_for_the_earlier_pod() {
        let mut restarted = unit(true);
        restarted.spec.instance.as_mut().unwrap().restart = 1;
        let plan = planned(&restarted, &snapshot(vec![ready_pod()]));
        assert_eq!(words(&plan.before_status), ["create returning", "nominate", "delete"]);
        assert_eq!(ready(&plan), InstanceReason::Restarting);
        let mut next = unit(true);
        next.spec.instance.as_mut().unwrap().attempt = 2;
        let plan = planned(&next, &snapshot(vec![ready_pod()]));
        assert_eq!(ready(&plan), InstanceReason::Stopping);
    }
}

mod progress {
    use super::*;

    fn with_pod(pod: ObservedPod) -> Plan {
        planned(&unit(true), &snapshot(vec![pod]))
    }

    fn waiting(reason: &str, message: &str) -> ObservedPod {
        let waiting = StatusReason { reason: reason.to_owned(), message: message.to_owned() };
        ObservedPod {
            waiting: Some(waiting),
            container_running: false,
            phase: Phase::Pending,
            ..instance_pod()
        }
    }

    #[test]
    fn errors_of_the_kubelet_fail_the_start_with_their_own_reason() {
        for (reason, expected) in [
            ("ErrImagePull", FailureReason::ImagePullFailed),
            ("ImagePullBackOff", FailureReason::ImagePullFailed),
            ("ErrImageNeverPull", FailureReason::ImagePullFailed),
            ("RegistryUnavailable", FailureReason::ImagePullFailed),
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
        let failed = with_pod(waiting("ErrImagePull", "no such image"));
        assert_eq!(failed.status.last_failure.unwrap().message, "ErrImagePull: no such image");
        assert_eq!(failed.before_status, [], "the failure is stored first");
        assert_eq!(words(&failed.after_status), ["create returning", "nominate", "delete"]);
        let pulling = with_pod(waiting("ContainerCreating", ""));
        assert_eq!((failure(&pulling), ready(&pulling)), (None, InstanceReason::Starting));
    }

    #[test]
    fn a_container_that_exits_before_it_was_ready_fails_the_start_with_the_right_log() {
        let exit = Some(ContainerExit { code: 3, reason: "Error".to_owned(), at: Some(after(5)) });
        let ended = ObservedPod {
            container_ended: true,
            container_running: false,
            exit: exit.clone(),
            ..instance_pod()
        };
        let restarted = ObservedPod { restarts: 1, exit, ..instance_pod() };
        for (pod, previous) in [(ended, false), (restarted, true)] {
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
        assert_eq!(
            second.requeue_after,
            Some(Duration::from_secs(40)),
            "counted from the creation of the pod"
        );
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
        assert_eq!(
            (own.running_since.clone(), own.pod_ip.as_deref()),
            (Some(Time(after(10))), Some("10.0.0.1"))
        );
        assert_eq!((plan.before_status, plan.after_status), (vec![], vec![]));
    }

    #[test]
    fn a_running_instance_reports_a_failing_probe_and_a_restart_without_failing() {
        let unready = ObservedPod { ready: false, ready_since: Some(after(15)), ..ready_pod() };
        let exit = ContainerExit { code: 1, reason: "Error".to_owned(), at: Some(after(14)) };
        let crashed =
            ObservedPod { container_running: false, restarts: 1, exit: Some(exit), ..unready.clone() };
        for (pod, reason, end, at) in [
            (unready, InstanceReason::ProbeFailing, "ProbeFailed", 15),
            (crashed, InstanceReason::ContainerRestarting, "ContainerExited", 14),
        ] {
            let plan = planned(&with_status(unit(true), running_status()), &snapshot(vec![pod]));
            assert_eq!((ready(&plan), failure(&plan)), (reason, None));
            assert_eq!(plan.status.state, UnitState::Ready);
            let run = plan.status.last_run.unwrap();
            assert_eq!(
                (run.reason.as_str(), run.running_since.0, run.ended_at.0),
                (end, after(10), after(at))
            );
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
            assert_eq!(
                (held(&plan).1, ready(&plan)),
                (HeldReason::PlaceLost, InstanceReason::WaitingForPlace)
            );
            assert_eq!(words(&plan.before_status), ["delete", "create fresh"], "{reason}");
        }
        let exited = ObservedPod { status_reason: None, ..ended("") };
        assert_eq!(failure(&with_pod(exited)), Some(FailureReason::ContainerExited));
    }
}

mod runs {
    use super::*;

    /// The run that the plan closes after the pod was ready.
    fn closed(unit: GpuUnit, snapshot: &Snapshot) -> Option<(String, Timestamp)> {
        let plan = planned(&with_status(unit, running_status()), snapshot);
        plan.status.last_run.map(|run: Run| (run.reason, run.ended_at.0))
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
        let node = ObservedNode { ready: false, since: Some(after(15)), cordoned: false };
        down.nodes.insert(NODE.to_owned(), node);
        assert_eq!(closed(unit(true), &down), run("NodeLost", 16));
        let mut lost = Snapshot { now: after(40), ..down };
        lost.pods[0] = ready_pod();
        assert_eq!(closed(unit(true), &lost), run("NodeLost", 15), "the pod's status is stale");
    }

    #[test]
    fn an_end_that_was_not_observed_is_billed_until_the_exit() {
        let exit = ContainerExit { code: 1, reason: "Error".to_owned(), at: Some(after(12)) };
        let again =
            ObservedPod { ready_since: Some(after(15)), exit: Some(exit), restarts: 1, ..ready_pod() };
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
}

#[test]
fn the_name_of_an_instance_pod_names_attempt_and_restart() {
    let mut instance = unit(true).spec.instance.unwrap();
    assert_eq!(pods::instance_pod_name(&instance), "inst-1-1");
    instance.restart = 2;
    assert_eq!(pods::instance_pod_name(&instance), "inst-1-1-2");
}
