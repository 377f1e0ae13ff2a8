use super::*;

#[test]
fn the_instance_pod_is_created_and_nominated_before_the_placeholder_is_deleted() {
    let plan = planned(&unit(true), &snapshot(vec![placeholder()]));
    let steps = ["create guard", "nominate", "create tenant", "create instance", "nominate"];
    assert_eq!(words(&plan.before_status), steps);
    assert_eq!(held(&plan), ("True", HeldReason::Claimed));
    assert_eq!((ready(&plan), plan.status.state), (InstanceReason::HandingOver, UnitState::Ready));
    let own = plan.status.instance.as_ref().unwrap();
    let name = pods::instance_pod_name(unit(true).spec.instance.as_ref().unwrap(), "placeholder");
    assert_eq!((own.pod_name.as_str(), own.started_at.0), (name.as_str(), after(20)));
}

#[test]
fn a_start_without_a_place_waits_and_fails_when_its_time_is_over() {
    let plan = planned(&unit(true), &snapshot(vec![pending(None)]));
    assert_eq!(ready(&plan), InstanceReason::WaitingForPlace);
    assert_eq!(plan.requeue_after, Some(Duration::from_secs(60)));
    let unit = with_status(unit(true), plan.status);
    let later = |seconds| planned(&unit, &Snapshot { now: after(seconds), ..snapshot(vec![pending(None)]) });
    assert_eq!((failure(&later(79)), later(79).requeue_after), (None, Some(Duration::from_secs(1))));
    let failed = later(80);
    assert_eq!(
        (failure(&failed), ready(&failed)),
        (Some(FailureReason::NoPlace), InstanceReason::StartFailed)
    );
    assert_eq!(failed.status.instance, None);
}

#[test]
fn a_start_does_not_use_a_placeholder_that_ends() {
    let deleted = ObservedPod { deleting: true, ..placeholder() };
    let ended = ObservedPod { phase: Phase::Ended, ..placeholder() };
    for pod in [deleted, ended] {
        let plan = planned(&unit(true), &snapshot(vec![pod]));
        assert_eq!(ready(&plan), InstanceReason::WaitingForPlace);
        assert!(words(&plan.before_status).contains(&"create fresh"), "{plan:?}");
    }
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
    assert_eq!((ready(&unbound), held(&unbound).1), (InstanceReason::WaitingForStorage, HeldReason::Holding));
    assert_eq!(ready(&with(None)), InstanceReason::WaitingForStorage);
    let foreign = with(Some(ObservedStorage { tenant: "ten-2".to_owned(), ..storage }));
    assert_eq!(failure(&foreign), Some(FailureReason::StorageForbidden));
}

#[test]
fn a_pod_that_waits_for_its_place_is_nominated_again_and_the_placeholder_deleted() {
    let waiting = tried(ObservedPod { node: None, phase: Phase::Pending, ..instance_pod() });
    let plan = planned(&unit(true), &guarded(vec![placeholder(), waiting.clone()]));
    assert_eq!(words(&plan.before_status), ["nominate", "kill", "ensure tenant", "bind"]);
    let nominated = ObservedPod { nominated: Some(NODE.to_owned()), ..waiting };
    let plan = planned(&unit(true), &guarded(vec![placeholder(), nominated.clone()]));
    assert_eq!(words(&plan.before_status), ["kill", "ensure tenant", "bind"]);
    assert_eq!((ready(&plan), plan.status.state), (InstanceReason::Starting, UnitState::Ready));
    let deleted = ObservedPod { deleting: true, ..placeholder() };
    assert_eq!(planned(&unit(true), &guarded(vec![deleted, nominated])).before_status, []);
}

#[test]
fn a_pod_on_its_node_needs_no_placeholder() {
    let plan = planned(&unit(true), &snapshot(vec![placeholder(), instance_pod()]));
    assert_eq!(words(&plan.before_status), ["kill"]);
    let deleted = ObservedPod { deleting: true, ..placeholder() };
    assert_eq!(planned(&unit(true), &snapshot(vec![deleted, instance_pod()])).before_status, []);
}

#[test]
fn a_bound_pod_changes_nothing_in_the_status_of_its_start() {
    let bound = ObservedPod { container_running: false, phase: Phase::Pending, ..instance_pod() };
    let waiting = tried(ObservedPod { node: None, ..bound.clone() });
    let start = planned(&unit(true), &guarded(vec![placeholder(), waiting]));
    assert!(words(&start.before_status).contains(&"bind"));
    let next = planned(&with_status(unit(true), start.status.clone()), &snapshot(vec![bound]));
    assert_eq!(next.status, start.status);
}

#[test]
fn a_hand_off_that_fails_in_time_holds_the_place_again() {
    let limit = i64::try_from(Settings::default().hand_off_seconds).unwrap();
    let waiting = || ObservedPod { node: None, phase: Phase::Pending, ..instance_pod() };
    let settled = |seconds: i64, refusal| {
        let place_check = Some(checked(refusal));
        let observed_since = after(seconds);
        planned(&unit(true), &Snapshot { observed_since, place_check, ..guarded(vec![waiting()]) })
    };
    let early = settled(20 - limit + 1, Some("full"));
    assert_eq!((early.before_status, early.requeue_after), (vec![], Some(Duration::from_secs(1))));
    let fits = settled(20 - limit, None);
    assert_eq!(words(&fits.before_status), ["ensure tenant", "bind"]);
    assert_eq!(ready(&fits), InstanceReason::HandingOver);
    let late = settled(20 - limit, Some("full"));
    assert_eq!(words(&late.before_status), ["create own", "nominate", "kill"]);
    assert_eq!((ready(&late), failure(&late)), (InstanceReason::WaitingForPlace, None));
    assert_eq!(held(&late), ("True", HeldReason::Claimed));
    let mut cordoned = snapshot(vec![waiting()]);
    cordoned.nodes.insert(NODE.to_owned(), ObservedNode { cordoned: true, ..node() });
    let lost = planned(&unit(true), &cordoned);
    assert_eq!(words(&lost.before_status), ["create fresh", "kill"]);
    assert_eq!(held(&lost), ("False", HeldReason::PlaceLost));
}

#[test]
fn a_restart_and_another_instance_wait_for_the_earlier_pod() {
    let mut restarted = unit(true);
    restarted.spec.instance.as_mut().unwrap().restart = 1;
    let plan = planned(&restarted, &snapshot(vec![ready_pod()]));
    assert_eq!(words(&plan.before_status), ["create guard", "nominate", "create own", "nominate"]);
    assert_eq!(ready(&plan), InstanceReason::Restarting);
    let mut next = restarted;
    next.spec.instance.as_mut().unwrap().attempt = 2;
    let plan = planned(&next, &snapshot(vec![ready_pod()]));
    assert_eq!(ready(&plan), InstanceReason::Stopping);
    let terminating = ObservedPod { deleting: true, ..ready_pod() };
    assert_eq!(ready(&planned(&unit(true), &snapshot(vec![terminating]))), InstanceReason::Stopping);
}

#[test]
fn the_status_describes_the_earlier_pod_of_the_attempt_until_it_has_ended() {
    let mut unit = with_status(unit(true), running_status());
    let own = |unit: &GpuUnit, pod| {
        let own = planned(unit, &snapshot(vec![pod])).status.instance.unwrap();
        (own.pod_name, own.restart, own.pod_ip.is_some(), own.started_at.0)
    };
    let terminating = ObservedPod { deleting: true, ..ready_pod() };
    let ended = ObservedPod { phase: Phase::Ended, ..terminating.clone() };
    unit.spec.instance.as_mut().unwrap().restart = 1;
    assert_eq!(own(&unit, terminating.clone()), ("inst-1-1".to_owned(), 0, true, start()));
    assert_eq!(own(&unit, ended), (String::new(), 1, false, after(20)));
    unit.spec.instance.as_mut().unwrap().attempt = 2;
    assert_eq!(own(&unit, terminating), (String::new(), 1, false, after(20)));
}

#[test]
fn a_restart_and_a_pod_that_is_created_again_have_the_whole_time() {
    let mut known = with_status(unit(true), running_status());
    let remaining = |unit: &GpuUnit| planned(unit, &snapshot(vec![pending(None)])).requeue_after;
    assert_eq!(remaining(&known), Some(Duration::from_secs(60)), "its run ends now");
    known.status.as_mut().unwrap().instance.as_mut().unwrap().running_since = None;
    assert_eq!(remaining(&known), Some(Duration::from_secs(40)));
    known.spec.instance.as_mut().unwrap().restart = 1;
    assert_eq!(remaining(&known), Some(Duration::from_secs(60)));
}

#[test]
fn the_status_describes_the_wanted_pod_beside_an_earlier_one() {
    let mut next = unit(true);
    next.spec.instance.as_mut().unwrap().attempt = 2;
    let current = ObservedPod { name: "inst-1-2".to_owned(), attempt: 2, ..ready_pod() };
    let earlier = ObservedPod { uid: "earlier".to_owned(), deleting: true, ..ready_pod() };
    let status = planned(&next, &snapshot(vec![earlier, current])).status;
    assert_eq!(status.state, UnitState::Running);
    assert_eq!(status.instance.unwrap().pod_name, "inst-1-2");
}

#[test]
fn a_start_does_not_wait_for_a_pod_that_has_ended() {
    let ended = ObservedPod { deleting: true, container_ended: true, ..instance_pod() };
    let mut next = unit(true);
    next.spec.instance.as_mut().unwrap().attempt = 2;
    let plan = planned(&next, &snapshot(vec![ended, placeholder()]));
    assert_eq!(ready(&plan), InstanceReason::HandingOver);
    assert_eq!(words(&plan.after_status), ["release"]);
}

#[test]
fn a_start_on_a_lost_node_fails_in_time_and_an_instance_that_was_ready_waits() {
    let now = after(60);
    let failure_on_lost_node = |unit: &GpuUnit| {
        let lost = Snapshot { now, nodes: [].into(), ..snapshot(vec![instance_pod()]) };
        let plan = planned(unit, &lost);
        (ready(&plan), failure(&plan))
    };
    let starting = with_status(unit(true), planned(&unit(true), &snapshot(vec![instance_pod()])).status);
    let timeout = Some(FailureReason::StartTimeout);
    assert_eq!(failure_on_lost_node(&starting), (InstanceReason::Stopping, timeout));
    let running = with_status(unit(true), running_status());
    assert_eq!(failure_on_lost_node(&running), (InstanceReason::NodeLost, None));
}

#[test]
fn a_pod_without_a_node_is_deleted_only_as_observed() {
    let waiting = ObservedPod { node: None, phase: Phase::Pending, ..instance_pod() };
    let plan = planned(&unit(false), &snapshot(vec![placeholder(), waiting.clone()]));
    assert_eq!(plan.before_status, [killed(&waiting)], "it may just have been bound");
}

#[test]
fn a_start_waits_until_an_earlier_pod_of_its_name_is_gone() {
    let removed = ObservedPod { node: None, phase: Phase::Pending, deleting: true, ..instance_pod() };
    let plan = planned(&unit(true), &snapshot(vec![placeholder(), removed]));
    assert_eq!((words(&plan.before_status), words(&plan.after_status)), (vec![], vec!["release"]));
    assert_eq!(ready(&plan), InstanceReason::Stopping);
    assert_eq!(plan.requeue_after, Some(Duration::from_secs(60)));
}

#[test]
fn a_start_has_no_time_limit_while_the_cluster_is_not_observed() {
    let known = planned(&unit(true), &snapshot(vec![pending(None)])).status;
    let gap = Snapshot { now: after(100), observed_since: after(90), ..snapshot(vec![pending(None)]) };
    let plan = planned(&with_status(unit(true), known), &gap);
    assert_eq!((failure(&plan), plan.requeue_after), (None, Some(Duration::from_secs(50))));
}
