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
    assert_eq!(plan.before_status, [killed(&other)]);
}

#[test]
fn a_placeholder_that_has_ended_is_replaced_and_the_reason_reported() {
    let evicted = StatusReason { reason: "Evicted".to_owned(), message: "disk pressure".to_owned() };
    for (reason, message) in [(Some(evicted), "Evicted: disk pressure"), (None, "the placeholder has ended")]
    {
        let ended = ObservedPod { phase: Phase::Ended, status_reason: reason, ..placeholder() };
        let plan = planned(&unit(false), &snapshot(vec![ended]));
        assert_eq!(words(&plan.before_status), ["kill", "create fresh"]);
        assert_eq!(held(&plan), ("False", HeldReason::Preempted));
        assert_eq!(condition(&plan, names::CONDITION_HELD).message, message);
    }
}

#[test]
fn each_placeholder_has_a_name_of_its_own() {
    let name = |snapshot: &Snapshot| {
        let plan = planned(&unit(false), snapshot);
        let mut names = plan.before_status.iter().filter_map(|action| match action {
            Action::CreatePod(pod) => pod.metadata.name.clone(),
            _ => None,
        });
        names.next_back().unwrap()
    };
    let first = name(&snapshot(vec![]));
    assert!(first.starts_with("unit-1-"), "{first}");
    assert_eq!(name(&snapshot(vec![])), first, "a repeated creation finds the pod of the lost response");
    let gone = Snapshot { pod_gone_at: Some(after(1)), ..snapshot(vec![]) };
    let beside = snapshot(vec![ObservedPod { phase: Phase::Ended, ..placeholder() }]);
    assert_ne!(name(&gone), first);
    assert_ne!(name(&beside), first);
}

#[test]
fn an_idle_unit_is_resized_in_its_place_if_it_fits_there() {
    let old = ObservedPod { template: "other".to_owned(), ..placeholder() };
    let asked = planned(&unit(false), &snapshot(vec![old.clone()]));
    assert_eq!((asked.check_place.as_deref(), &asked.before_status), (Some(NODE), &vec![]));
    assert_eq!(held(&asked), ("True", HeldReason::Claimed));
    let answered = |refusal: Option<&str>, pods: Vec<ObservedPod>| {
        let place_check = Some(checked(refusal));
        planned(&unit(false), &Snapshot { place_check, ..snapshot(pods) })
    };
    let fits = answered(None, vec![old.clone()]);
    let steps = ["create guard", "nominate", "create own", "nominate"];
    assert_eq!(words(&fits.before_status), steps);
    let new = ObservedPod { uid: "new".to_owned(), created_at: after(20), ..pending(Some(NODE)) };
    let begun = planned(&unit(false), &guarded(vec![old.clone(), new.clone()]));
    assert_eq!(begun.before_status, [], "the scheduler has not tried it");
    let begun = planned(&unit(false), &guarded(vec![old.clone(), tried(new.clone())]));
    assert_eq!(words(&begun.before_status), ["kill", "bind"]);
    let bound = planned(
        &unit(false),
        &snapshot(vec![old.clone(), ObservedPod { node: Some(NODE.to_owned()), ..new }]),
    );
    assert_eq!((held(&bound), &bound.before_status), (("True", HeldReason::Holding), &vec![killed(&old)]));

    let refused = answered(Some("insufficient cpu"), vec![old.clone()]);
    assert_eq!(words(&refused.before_status), ["create fresh"], "the old place stays");
    assert_eq!(held(&refused), ("False", HeldReason::Unschedulable));
    assert_eq!(refused.requeue_after, Some(Duration::from_secs(5)), "checked again");
    let elsewhere = ObservedPod { uid: "fresh".to_owned(), ..pending(None) };
    assert_eq!(answered(Some("insufficient cpu"), vec![old.clone(), elsewhere.clone()]).before_status, []);
    let again = answered(None, vec![old, elsewhere]);
    assert_eq!(words(&again.before_status), steps);
}

#[test]
fn a_placeholder_of_the_old_size_that_has_no_place_yet_is_replaced() {
    let waiting = ObservedPod { template: "other".to_owned(), ..pending(None) };
    let plan = planned(&unit(false), &snapshot(vec![waiting]));
    assert_eq!(words(&plan.before_status), ["kill", "create fresh"]);
}

#[test]
fn a_place_that_was_lost_by_force_is_taken_back_once() {
    let was_held = planned(&unit(false), &snapshot(vec![placeholder()])).status;
    let known = with_status(unit(false), was_held);
    let plan = planned(&known, &snapshot(vec![]));
    assert_eq!(words(&plan.before_status), ["create guard", "nominate", "create own", "nominate"]);
    assert_eq!(held(&plan), ("True", HeldReason::Claimed));
    assert_eq!(plan.status.node.as_deref(), Some(NODE));
    let preempted = Snapshot { preempted: true, ..snapshot(vec![]) };
    assert_eq!(words(&planned(&known, &preempted).before_status), ["create fresh"]);
    let cordoned = ObservedNode { cordoned: true, ..node() };
    let cordoned = Snapshot { nodes: [(NODE.to_owned(), cordoned)].into(), ..snapshot(vec![]) };
    assert_eq!(words(&planned(&known, &cordoned).before_status), ["create fresh"]);
    let was_lost = with_status(unit(false), planned(&known, &preempted).status);
    assert_eq!(words(&planned(&was_lost, &snapshot(vec![])).before_status), ["create fresh"]);
}

/// The node is not ready since a time; 60 s have passed since the start.
fn with_node_down(pods: Vec<ObservedPod>, since: Option<Timestamp>) -> Snapshot {
    let down = ObservedNode { ready: false, since, cordoned: false, ..ObservedNode::default() };
    Snapshot { now: after(60), nodes: [(NODE.to_owned(), down)].into(), ..snapshot(pods) }
}

#[test]
fn the_placeholder_on_a_node_that_is_down_stays_until_another_holds_a_place() {
    let limit = i64::try_from(Settings::default().node_lost_seconds).unwrap();
    let planned_on = |since| planned(&unit(false), &with_node_down(vec![placeholder()], since));
    let plan = planned_on(Some(after(60 - limit + 1)));
    assert_eq!(held(&plan), ("True", HeldReason::Holding));
    assert_eq!(plan.requeue_after, Some(Duration::from_secs(1)), "reconciled when the limit is over");
    for since in [Some(after(60 - limit)), None] {
        let plan = planned_on(since);
        assert_eq!(held(&plan), ("False", HeldReason::NodeLost), "{since:?}");
        assert_eq!(plan.status.node.as_deref(), Some(NODE));
        assert_eq!(words(&plan.before_status), ["create fresh"]);
    }
    let other = ObservedPod { node: Some("node-2".to_owned()), uid: "other".to_owned(), ..placeholder() };
    let mut moved = with_node_down(vec![placeholder(), other], None);
    moved.nodes.insert("node-2".to_owned(), node());
    let plan = planned(&unit(false), &moved);
    assert_eq!(
        (plan.before_status, plan.status.node.as_deref()),
        (vec![killed(&placeholder())], Some("node-2"))
    );

    let searching = ObservedPod { uid: "fresh".to_owned(), ..pending(None) };
    let back = planned(&unit(false), &snapshot(vec![placeholder(), searching.clone()]));
    assert_eq!(
        (held(&back), &back.before_status),
        (("True", HeldReason::Holding), &vec![killed(&searching)])
    );
    let returning = planned(&unit(false), &with_node_down(vec![pending(Some(NODE))], None));
    assert_eq!(words(&returning.before_status), ["create fresh"], "also one that waits for that node");
}

#[test]
fn a_node_counts_as_down_only_while_the_cluster_is_observed() {
    let limit = i64::try_from(Settings::default().node_lost_seconds).unwrap();
    let seen_since = |seconds| {
        let snapshot = with_node_down(vec![placeholder()], Some(start()));
        planned(&unit(false), &Snapshot { observed_since: after(seconds), ..snapshot })
    };
    let after_a_gap = seen_since(60 - limit + 1);
    assert_eq!((held(&after_a_gap), &after_a_gap.before_status), (("True", HeldReason::Holding), &vec![]));
    assert_eq!(held(&seen_since(60 - limit)), ("False", HeldReason::NodeLost));
}

#[test]
fn no_unit_leaves_its_node_while_most_nodes_are_down() {
    let outage = Snapshot { outage: true, ..with_node_down(vec![placeholder()], None) };
    let plan = planned(&unit(false), &outage);
    assert_eq!((held(&plan), &plan.before_status), (("False", HeldReason::NodeLost), &vec![]));
    assert_eq!(plan.requeue_after, Some(Settings::default().node_lost()), "any node may end the outage");
}

/// The pod of a stopped instance on a dead node is no longer waited for, whatever happens to the other nodes.
#[test]
fn a_stop_that_has_ended_does_not_come_back_in_an_outage() {
    let terminating = || ObservedPod { deleting: true, ..ready_pod() };
    let stopping = with_status(unit(false), running_status());
    let begun = planned(&stopping, &Snapshot { outage: true, ..with_node_down(vec![terminating()], None) });
    assert_eq!(ready(&begun), InstanceReason::Stopping, "it is waited for when most nodes are down");
    let ended = planned(&stopping, &with_node_down(vec![terminating()], None)).status;
    assert_eq!((ended.state, &ended.instance), (UnitState::Init, &None));
    let ended = with_status(unit(false), ended);
    let later = planned(&ended, &Snapshot { outage: true, ..with_node_down(vec![terminating()], None) });
    assert_eq!((later.status.state, ready(&later)), (UnitState::Init, InstanceReason::Idle));
    assert_eq!(later.status.instance, None);
}

#[test]
fn a_node_that_does_not_exist_is_lost_at_once() {
    let gone = Snapshot { nodes: [].into(), ..snapshot(vec![placeholder()]) };
    let plan = planned(&unit(false), &gone);
    assert_eq!(held(&plan), ("False", HeldReason::NodeLost));
    assert_eq!(words(&plan.before_status), ["kill", "create fresh"]);
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
    assert_eq!(plan.before_status, [killed(&placeholder())]);
    assert_eq!(plan.status.node.as_deref(), Some("node-2"));
}

#[test]
fn of_several_placeholders_that_wait_for_the_place_the_youngest_stays() {
    let young = ObservedPod { uid: "young".to_owned(), created_at: after(5), ..pending(Some(NODE)) };
    let plan = planned(&unit(false), &guarded(vec![pending(Some(NODE)), young]));
    assert_eq!(plan.before_status, [killed(&pending(Some(NODE)))]);
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
    let just_freed = Snapshot { observed_since: after(20), ..guarded(vec![cleared]) };
    let plan = planned(&unit(false), &just_freed);
    assert_eq!(words(&plan.before_status), ["nominate"]);
    assert_eq!(held(&plan), ("True", HeldReason::Claimed));
    assert_eq!(plan.status.node.as_deref(), Some(NODE));
    assert_eq!(plan.check_place.as_deref(), Some(NODE));
}

#[test]
fn a_placeholder_is_bound_to_its_free_place_if_the_unit_fits() {
    let checked = |refusal, free_since| {
        let free = Snapshot { observed_since: free_since, ..guarded(vec![pending(Some(NODE))]) };
        planned(&unit(false), &Snapshot { place_check: Some(checked(refusal)), ..free })
    };
    let fits = checked(None, after(20));
    assert_eq!(words(&fits.before_status), ["bind"]);
    assert_eq!((held(&fits), &fits.check_place), (("True", HeldReason::Claimed), &None));
    let refused = checked(Some("full"), after(10));
    assert_eq!((&refused.before_status, refused.requeue_after), (&vec![], Some(Duration::from_secs(5))));
    let terminating = ObservedPod { deleting: true, container_ended: true, ..instance_pod() };
    let place_check = Some(self::checked(None));
    let snapshot = Snapshot { place_check, ..guarded(vec![pending(Some(NODE)), terminating]) };
    assert_eq!(
        words(&planned(&unit(false), &snapshot).before_status),
        [""; 0],
        "the kubelet still counts it"
    );
}

/// The plan for a placeholder that has waited for its free place for this number of seconds.
fn returning(waited: i64, place_check: Option<PlaceCheck>) -> Plan {
    let pod = ObservedPod { unschedulable: Some("not by the scheduler".to_owned()), ..pending(Some(NODE)) };
    planned(&claimed_unit(), &with_claim(Snapshot { now: after(waited), place_check, ..guarded(vec![pod]) }))
}

/// The snapshot with the claim of the unit, in use by its pods, and the answer for its size.
fn with_claim(mut snapshot: Snapshot) -> Snapshot {
    snapshot.pods = snapshot.pods.into_iter().map(claimed).collect();
    for guard in &mut snapshot.guards {
        guard.template = claimed(placeholder()).template;
    }
    if let Some(check) = snapshot.place_check.as_mut().filter(|check| check.template != "other") {
        check.template = claimed(placeholder()).template;
    }
    Snapshot { dra: DraSupport::Served, claims: vec![device_claim()], ..snapshot }
}

#[test]
fn a_place_that_has_not_come_back_in_time_is_not_called_held() {
    let limit = i64::try_from(Settings::default().hand_off_seconds).unwrap();
    let waits = returning(limit - 1, None);
    assert_eq!(
        (held(&waits), waits.requeue_after),
        (("True", HeldReason::Claimed), Some(Duration::from_secs(1)))
    );
    let late = returning(limit, None);
    assert_eq!((held(&late), &late.before_status), (("False", HeldReason::Scheduling), &vec![]));
    assert_eq!((late.status.node.as_deref(), late.check_place.as_deref()), (Some(NODE), Some(NODE)));
}

#[test]
fn a_place_is_given_up_when_the_unit_no_longer_fits() {
    let limit = i64::try_from(Settings::default().hand_off_seconds).unwrap();
    let at = |seconds, refusal| Some(PlaceCheck { at: after(seconds), ..checked(refusal) });
    let early = returning(limit - 1, at(limit - 1, Some("insufficient nvidia.com/gpu")));
    assert_eq!((&early.before_status, held(&early)), (&vec![], ("True", HeldReason::Claimed)));
    let lost = returning(limit, at(limit, Some("insufficient nvidia.com/gpu")));
    assert_eq!(words(&lost.before_status), ["kill", "ensure unit", "device", "create again"]);
    assert_eq!(held(&lost), ("False", HeldReason::PlaceLost));
    let message = "the place on node node-1 is lost: insufficient nvidia.com/gpu";
    assert_eq!(condition(&lost, names::CONDITION_HELD).message, message);
    let fits = returning(limit, at(limit, None));
    let claim = Some(device_claim().reference());
    let pod = claimed(pending(Some(NODE))).reference();
    assert_eq!(fits.before_status, [Action::Bind { pod, node: NODE.to_owned(), claim }]);
    let stale = returning(2 * limit, at(limit, Some("insufficient nvidia.com/gpu")));
    assert_eq!(stale.check_place.as_deref(), Some(NODE), "an answer is valid for a while");
    let other_size =
        at(limit, Some("full")).map(|check| PlaceCheck { template: "other".to_owned(), ..check });
    assert_eq!(returning(limit, other_size).check_place.as_deref(), Some(NODE));
}

#[test]
fn a_returning_placeholder_gives_up_at_once_if_its_node_accepts_no_pods() {
    let mut snapshot = snapshot(vec![pending(Some(NODE))]);
    snapshot.nodes.insert(NODE.to_owned(), ObservedNode { cordoned: true, ..node() });
    let plan = planned(&unit(false), &snapshot);
    assert_eq!(words(&plan.before_status), ["kill", "create again"]);
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
    assert_eq!(words(&plan.before_status), ["create guard", "nominate", "create own", "nominate"]);
    assert_eq!(held(&plan), ("True", HeldReason::Claimed));
    let successor = |successor| {
        let successor = ObservedPod { created_at: after(20), ..successor };
        planned(&unit(false), &guarded(vec![ready_pod(), successor])).before_status
    };
    assert_eq!(successor(pending(Some(NODE))), [], "the scheduler does not know it yet");
    assert_eq!(words(&successor(tried(pending(Some(NODE))))), ["delete"]);
    snapshot.nodes.insert(NODE.to_owned(), ObservedNode { cordoned: true, ..node() });
    assert_eq!(words(&planned(&unit(false), &snapshot).before_status), ["create fresh", "delete"]);
}

#[test]
fn a_place_is_free_from_the_end_of_the_pod_that_left_it() {
    let limit = i64::try_from(Settings::default().hand_off_seconds).unwrap();
    let exit = ContainerExit { code: 0, reason: "Completed".to_owned(), at: Some(after(19)) };
    let ended = ObservedPod { deleting: true, container_ended: true, exit: Some(exit), ..instance_pod() };
    let refused = |seconds| {
        let place_check = Some(PlaceCheck { at: after(seconds), ..checked(Some("full")) });
        let pods = vec![pending(Some(NODE)), ObservedPod { phase: Phase::Ended, ..ended.clone() }];
        planned(&unit(false), &Snapshot { now: after(seconds), place_check, ..guarded(pods) }).before_status
    };
    assert_eq!(refused(19 + limit), [], "an end is known to the second");
    assert_eq!(words(&refused(20 + limit)), ["kill", "create again"]);
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
fn a_placeholder_does_not_wait_for_a_place_without_its_devices() {
    let planned = |node: Option<&str>| {
        let claim = ObservedDeviceClaim { node: node.map(str::to_owned), ..device_claim() };
        planned(
            &claimed_unit(),
            &Snapshot { claims: vec![claim], ..with_claim(guarded(vec![pending(Some(NODE))])) },
        )
    };
    let given_up = |node| planned(node).before_status.contains(&killed(&claimed(pending(Some(NODE)))));
    assert!(given_up(Some("node-2")), "its devices are on another node");
    assert!(!given_up(Some(NODE)));
    assert!(!given_up(None), "its devices are bound to no node");
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
    let deleted = ObservedPod { deleting: true, ..with_gpus(&["GPU-2"]) };
    assert_eq!(again(deleted), ["GPU-1"], "the place is being taken back");
}

#[test]
fn a_placeholder_waits_for_its_place_as_long_as_the_instance_there_runs() {
    let after_instance_on = |node_name: &str| {
        let ending = ObservedPod { node: Some(node_name.to_owned()), deleting: true, ..ready_pod() };
        let mut snapshot = guarded(vec![pending(Some(NODE)), ending]);
        snapshot.nodes.insert("node-2".to_owned(), node());
        planned(&unit(false), &snapshot)
    };
    let here = after_instance_on(NODE);
    assert_eq!((&here.before_status, &here.check_place), (&vec![], &None));
    let elsewhere = after_instance_on("node-2");
    assert_eq!(elsewhere.before_status, []);
    assert_eq!(elsewhere.check_place.as_deref(), Some(NODE), "its own place is checked first");
}

#[test]
fn a_placeholder_that_returns_is_kept_beside_a_younger_one_that_looks_anywhere() {
    let fresh = ObservedPod { uid: "fresh".to_owned(), created_at: after(5), ..pending(None) };
    let plan = planned(&unit(false), &guarded(vec![pending(Some(NODE)), fresh.clone()]));
    assert_eq!(plan.before_status, [killed(&fresh)]);
    assert_eq!(plan.check_place.as_deref(), Some(NODE));
}

#[test]
fn the_place_of_a_placeholder_that_has_ended_is_tried_once_more() {
    let rejected = StatusReason { reason: "UnexpectedAdmissionError".to_owned(), message: String::new() };
    let ended =
        || ObservedPod { phase: Phase::Ended, status_reason: Some(rejected.clone()), ..placeholder() };
    let was_held = planned(&unit(false), &snapshot(vec![placeholder()])).status;
    let first = planned(&with_status(unit(false), was_held), &snapshot(vec![ended()]));
    assert_eq!(words(&first.before_status), ["kill", "create guard", "nominate", "create own", "nominate"]);
    assert_eq!(held(&first), ("False", HeldReason::Preempted));
    let second = planned(&with_status(unit(false), first.status), &snapshot(vec![ended()]));
    assert_eq!(words(&second.before_status), ["kill", "create again"], "it keeps its class");
}

#[test]
fn a_removed_unit_leaves_no_pod_behind_on_a_node_that_is_down_in_an_outage() {
    let mut unit = unit(false);
    unit.metadata.deletion_timestamp = Some(Time(start()));
    let terminating = ObservedPod { deleting: true, ..instance_pod() };
    let outage = Snapshot { outage: true, ..with_node_down(vec![terminating], None) };
    assert_eq!(words(&planned(&unit, &outage).after_status), ["release", "remove finalizer"]);
}
