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
    assert_eq!(plan.before_status, [Action::DeletePod { pod: placeholder().reference(), grace: Some(0) }]);
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
    assert_eq!((words(&plan.before_status), words(&plan.after_status)), (vec![], vec!["remove finalizer"]));
    unit.metadata.finalizers = None;
    assert_eq!(planned(&unit, &snapshot(vec![])).after_status, []);
    let running = planned(&unit, &snapshot(vec![placeholder(), ready_pod()]));
    assert_eq!(words(&running.before_status), ["delete"], "the instance ends before the placeholder");
    assert_eq!(running.after_status, []);
}

#[test]
fn a_deleted_unit_waits_only_for_pods_that_may_still_run() {
    let mut unit = unit(false);
    unit.metadata.deletion_timestamp = Some(Time(start()));
    let terminating = ObservedPod { deleting: true, ..placeholder() };
    let ended = ObservedPod { container_ended: true, ..terminating.clone() };
    assert_eq!(planned(&unit, &snapshot(vec![terminating.clone()])).after_status, []);
    assert_eq!(words(&planned(&unit, &snapshot(vec![ended])).after_status), ["remove finalizer"]);
    let lost = Snapshot { nodes: [].into(), ..snapshot(vec![terminating]) };
    assert_eq!(words(&planned(&unit, &lost).after_status), ["remove finalizer"]);
}

#[test]
fn an_ending_instance_leaves_its_place_unless_the_node_is_cordoned() {
    let mut snapshot = snapshot(vec![ready_pod()]);
    let plan = planned(&unit(false), &snapshot);
    assert_eq!(words(&plan.before_status), ["create returning", "nominate", "delete"]);
    assert_eq!(held(&plan), ("True", HeldReason::Claimed));
    snapshot.nodes.insert(NODE.to_owned(), ObservedNode { cordoned: true, ..node() });
    assert_eq!(words(&planned(&unit(false), &snapshot).before_status), ["create fresh", "delete"]);
}

#[test]
fn a_place_is_free_from_the_end_of_the_pod_that_left_it() {
    let exit = ContainerExit { code: 0, reason: "Completed".to_owned(), at: Some(after(19)) };
    let ended = ObservedPod { deleting: true, container_ended: true, exit: Some(exit), ..instance_pod() };
    let plan = planned(&unit(false), &snapshot(vec![pending(Some(NODE)), ended]));
    assert_eq!(plan.before_status, []);
    assert_eq!(plan.requeue_after, Some(Duration::from_millis(300)), "an end is known to the second");
}

#[test]
fn a_claimed_place_is_held_once_its_devices_are_reserved() {
    let planned = |pod, claim| {
        let snapshot = snapshot(vec![claimed(pod)]);
        planned(&claimed_unit(), &Snapshot { dra: DraSupport::Served, claims: vec![claim], ..snapshot })
    };
    let allocated = ObservedDeviceClaim { reserved_for: None, ..device_claim() };
    let requested =
        ObservedDeviceClaim { allocated: false, node: None, devices: Vec::new(), ..allocated.clone() };
    let waiting = planned(pending(None), requested);
    assert_eq!(condition(&waiting, names::CONDITION_HELD).message, "looking for a place");
    assert_eq!(waiting.status.node, None);
    let reserving = planned(placeholder(), allocated);
    assert_eq!(held(&reserving), ("False", HeldReason::Scheduling));
    assert_eq!(reserving.before_status, []);
    assert_eq!(words(&reserving.after_status), ["device"]);
    let reserved = planned(placeholder(), device_claim());
    assert_eq!(held(&reserved), ("True", HeldReason::Holding));
    assert_eq!((&reserved.before_status, &reserved.after_status), (&vec![], &vec![]));
    assert_eq!(reserved.status.gpu_uuids, ["gpu.example/node-1/0"]);
}

#[test]
fn the_gpus_of_the_node_are_reported_until_the_unit_leaves_it() {
    let with_gpus = |gpus: &[&str]| ObservedPod {
        gpu_uuids: gpus.iter().map(ToString::to_string).collect(),
        ..placeholder()
    };
    let held = planned(&unit(false), &snapshot(vec![with_gpus(&["GPU-1"])])).status;
    assert_eq!(held.gpu_uuids, ["GPU-1"]);
    let again = |pod| planned(&with_status(unit(false), held.clone()), &snapshot(vec![pod])).status.gpu_uuids;
    assert_eq!(again(with_gpus(&[])), ["GPU-1"], "nothing else is known");
    assert_eq!(again(with_gpus(&["GPU-2"])), ["GPU-2"]);
    assert_eq!(again(ObservedPod { node: Some("node-2".to_owned()), ..with_gpus(&["GPU-2"]) }), [""; 0]);
    assert_eq!(again(ObservedPod { node: None, ..with_gpus(&["GPU-2"]) }), [""; 0]);
    assert_eq!(again(ObservedPod { deleting: true, ..with_gpus(&["GPU-2"]) }), [""; 0]);
}

#[test]
fn a_placeholder_waits_for_its_place_as_long_as_the_instance_there_runs() {
    let full = |class: &str| ObservedPod {
        class: class.to_owned(),
        unschedulable: Some("full".to_owned()),
        ..pending(Some(NODE))
    };
    let after_instance_on = |node_name: &str, class: &str| {
        let ending = ObservedPod { node: Some(node_name.to_owned()), deleting: true, ..ready_pod() };
        let mut snapshot = snapshot(vec![full(class), ending]);
        snapshot.nodes.insert("node-2".to_owned(), node());
        words(&planned(&unit(false), &snapshot).before_status)
    };
    assert_eq!(after_instance_on(NODE, names::CLASS_INSTANCE), [""; 0]);
    assert_eq!(after_instance_on(NODE, names::CLASS_RETURNING), [""; 0]);
    let elsewhere = after_instance_on("node-2", names::CLASS_INSTANCE);
    assert_eq!(elsewhere, ["kill", "create returning", "nominate"]);
    let free = planned(&unit(false), &snapshot(vec![full(names::CLASS_RETURNING)]));
    assert_eq!(words(&free.before_status), ["create reclaiming", "nominate"], "the class may be too low");
}
