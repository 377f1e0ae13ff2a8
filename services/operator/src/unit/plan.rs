//! What to do next for one unit, as a value: pure, total, without a clock or a client of its own.
//!
//! # The hand-off
//! A place passes from one pod to the next without ever being free for a third:
//! the successor is made first (its class never pre-empts, its affinity names the one node), the node
//! is nominated for it, and only then the predecessor goes. From its nomination on, the scheduler
//! counts the successor on that node against every pod of the same or a lower class.
//! The same three steps serve every change:
//!
//! | change | predecessor | successor |
//! |---|---|---|
//! | start | placeholder, grace 0 | instance pod |
//! | stop, failed start | instance pod, graceful | placeholder *of a high class* |
//! | restart | instance pod, graceful | such a placeholder, and then the next instance pod |
//!
//! A restart goes through the placeholder although the next pod could be the successor itself: where a
//! node has room to spare, old and new would run side by side on the same volume.
//!
//! The placeholder that takes a place back has a high class: with the low class of a fresh placeholder, any
//! starving pod between the two would come first in the scheduler's queue. It keeps that class until its
//! place is used again; it never pre-empts either, and whoever wants to borrow idle stock asks for the unit
//! and does not evict it. A fresh placeholder is of the low class, and looks for room without pushing anybody.
//!
//! A nominated pod counts on its node beside the predecessor that has not gone yet, and so takes room from
//! every waiting pod of the same or a lower class. An instance may take minutes to end; the placeholder
//! behind it is therefore of a class below the instances', which hand over beside it undisturbed. Two such
//! placeholders on one node are in each other's way: the one whose place has been left gives way to a
//! placeholder of the instances' class.
//!
//! # Devices by claim
//! Where GPUs are allocated by dynamic resource allocation, the devices are a claim's, and all pods of the
//! unit use that one claim in the unit's home (see `devices`). The claim is reserved for the `GpuUnit` itself
//! as soon as it is allocated: the cluster keeps a reservation of a kind that it does not know, so that the
//! claim stays allocated whatever pods come and go. Only a place whose claim is so secured can be handed
//! over. An allocation keeps the unit on one node: where it cannot stay there (the node is lost or full,
//! another size), the claim is let go, deleted and no longer reserved, and the next placeholder gets a new
//! one. On a cordoned node the claim is kept until a second placeholder with a claim of its own holds
//! another place. A claim that somebody deletes serves the pod that uses it to its end.
//!
//! # Interrupted anywhere
//! Each step is read back from the objects alone: which pods exist, on which node they sit or wait, which
//! is deleted. What must not be forgotten (the end of a run, the reason of a failure) is written to the
//! status before the pod that proves it may go: instance pods bear a finalizer until then.
//!
//! # A pod on a lost node
//! cannot be known to be dead. It is left where it is while its instance is wanted; once the instance is
//! withdrawn, the pod is abandoned: deleted and no longer waited for, and the unit looks for another place.

use std::collections::BTreeMap;
use std::time::Duration;

use crds::{FailureReason, GpuUnit, GpuUnitStatus, HeldReason, Instance, InstanceReason, names};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::action::{Action, LogOf};
use super::pods;
use super::status;
use crate::settings::Settings;
use crate::view::{DeviceClaimView, Dra, MirrorView, NodeView, Phase, PodRef, PodView, Role, StorageView};

/// Everything a decision about one unit looks at beside the unit itself.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Now.
    pub now: Timestamp,
    /// When this process last saw a pod of the unit go, or began to lead: what was freed then may not have
    /// been given away yet, and what nobody could act on is not late.
    pub settled_since: Timestamp,
    /// The placeholder that went last had to give way to a pod of a higher class.
    pub preempted: bool,
    /// Pods of the unit.
    pub pods: Vec<PodView>,
    /// The nodes that its pods sit on or wait for; one that is missing here is gone.
    pub nodes: BTreeMap<String, NodeView>,
    /// The storages that its instance names; one that is missing here does not exist.
    pub storages: BTreeMap<String, StorageView>,
    /// Whether devices can be claimed here.
    pub dra: Dra,
    /// The unit's claims on devices.
    pub claims: Vec<DeviceClaimView>,
    /// The mirrors of storages in its home.
    pub mirrors: Vec<MirrorView>,
}

/// What to do for a unit, in this order: `first`, the status (if it differs), `then`.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// Writes that come before the status.
    pub first: Vec<Action>,
    /// The status as it should be.
    pub status: GpuUnitStatus,
    /// The pod whose last lines belong into `status.lastFailure.logTail`.
    pub log_of: Option<LogOf>,
    /// Writes that may only happen once the status is stored.
    pub then: Vec<Action>,
    /// When to look again although nothing changed.
    pub again: Option<Duration>,
}

/// Decides for one unit.
#[must_use]
pub fn plan(unit: &GpuUnit, observed: &Observed, settings: &Settings) -> Plan {
    let before = unit.status.clone().unwrap_or_default();
    let mut planner = Planner {
        unit,
        observed,
        settings,
        before: &before,
        plan: Plan { status: before.clone(), ..Plan::default() },
        held: None,
        instance: None,
        given_up: Vec::new(),
    };
    planner.decide();
    planner.tidy_mirrors();
    planner.tidy_claims();
    planner.finish()
}

/// A unit whose pod the API server refused for what it is: the attempt has failed.
#[must_use]
pub fn refused(
    unit: &GpuUnit,
    message: &str,
    reason: FailureReason,
    now: Timestamp,
) -> Option<GpuUnitStatus> {
    let instance = unit.spec.instance.as_ref()?;
    let mut after = unit.status.clone().unwrap_or_default();
    status::fail(&mut after, instance, reason, message, now);
    Some(after)
}

/// What an instance pod that is ending leaves to the placeholder.
pub(super) struct Leaving {
    pub(super) node: String,
    /// The claim on devices, where the unit has one.
    pub(super) claim: Option<String>,
}

pub(super) struct Planner<'a> {
    pub(super) unit: &'a GpuUnit,
    pub(super) observed: &'a Observed,
    pub(super) settings: &'a Settings,
    pub(super) before: &'a GpuUnitStatus,
    pub(super) plan: Plan,
    /// The verdict on `Held`: true or false, reason, message.
    pub(super) held: Option<(bool, HeldReason, String)>,
    /// The verdict on `InstanceReady`.
    pub(super) instance: Option<(InstanceReason, String)>,
    /// Claims whose devices are where the unit cannot stay.
    pub(super) given_up: Vec<String>,
}

impl<'a> Planner<'a> {
    fn decide(&mut self) {
        if self.unit.metadata.deletion_timestamp.is_some() {
            return self.remove();
        }
        if !self.unit.finalizers().iter().any(|name| name == names::FINALIZER_UNIT) {
            self.plan.first.push(Action::AddFinalizer);
        }
        self.close_runs();
        let wanted = self.unit.spec.instance.as_ref();
        let wanted = wanted.filter(|wanted| !status::has_failed(self.before, wanted));
        match wanted {
            Some(wanted) => self.run(wanted),
            None => self.rest(),
        }
    }

    /// The unit is being deleted: end the instance, then the placeholder, then let go.
    fn remove(&mut self) {
        self.close_runs();
        self.held = Some((false, HeldReason::Deleting, "the unit is being removed".to_owned()));
        self.end_instances(None);
        if self.live_instances().next().is_none() {
            for pod in self.placeholders() {
                if !pod.deleting {
                    self.plan.first.push(Action::DeletePod { pod: pod.at(), grace: Some(0) });
                }
            }
            if self.observed.pods.iter().all(|pod| pod.is_over() || self.is_abandoned(pod))
                && self.observed.claims.iter().all(|claim| claim.holder.is_none())
                && self.unit.finalizers().iter().any(|name| name == names::FINALIZER_UNIT)
            {
                self.plan.then.push(Action::RemoveFinalizer);
            }
        }
    }

    /// Nothing should run: end what does, hold the place.
    fn rest(&mut self) {
        // the successor is made before the predecessor is deleted
        self.hold(self.leaving().as_ref());
        self.end_instances(None);
    }

    /// The instance should run.
    fn run(&mut self, wanted: &'a Instance) {
        if let Err(why) = pods::check(self.unit) {
            return self.fail(wanted, FailureReason::InvalidTemplate, &why, None);
        }
        let name = pods::instance_pod_name(wanted);
        let namespace = pods::instance_namespace(self.unit, wanted);
        let here =
            |pod: &&PodView| pod.name == name && pod.namespace == namespace && pod.instance == wanted.id;
        let current = self.instances().find(here);
        if let Some(pod) = current.filter(|pod| !pod.deleting) {
            // pods of earlier restarts and attempts give way to it
            self.end_instances(Some(pod));
            return self.follow(wanted, pod);
        }
        // never two pods of a unit's instances at a time: they may share a volume
        let ending = self.live_instances().next();
        if let Some(old) = ending {
            let restart =
                old.instance == wanted.id && old.attempt == wanted.attempt && old.restart < wanted.restart;
            let reason = if restart { InstanceReason::Restarting } else { InstanceReason::Stopping };
            self.instance = Some((reason, "an earlier pod of the unit is ending".to_owned()));
            return self.rest();
        }
        // what is left has ended: release it beside the new start
        self.end_instances(None);
        if current.is_some() {
            self.instance =
                Some((InstanceReason::Stopping, "an earlier pod of the unit is ending".to_owned()));
            self.hold(None);
            let since = self.started_at(wanted);
            let message = "an earlier pod of the same name did not end in time";
            return self.fail_after(wanted, since, FailureReason::StartTimeout, message, None);
        }
        self.start(wanted);
    }

    /// No pod of the instance exists: make it on the node of the placeholder.
    fn start(&mut self, wanted: &'a Instance) {
        let since = self.started_at(wanted);
        match self.storages_of(wanted) {
            Err((reason @ FailureReason::StorageForbidden, message)) => {
                return self.fail(wanted, reason, &message, None);
            }
            Err((reason, message)) => {
                self.hold(None);
                self.instance = Some((InstanceReason::WaitingForStorage, message.clone()));
                return self.fail_after(wanted, since, reason, &message, None);
            }
            Ok(()) => {}
        }
        let place = self.placeholders().find(|pod| self.is_good(pod));
        let place = place.filter(|_| self.unsupported().is_none());
        let Some((pod, node)) = place.and_then(|pod| Some((pod, pod.node.clone()?))) else {
            self.hold(None);
            let why = self.held.as_ref().map(|(_, _, message)| message.clone()).unwrap_or_default();
            self.instance = Some((InstanceReason::WaitingForPlace, why.clone()));
            return self.fail_after(
                wanted,
                since,
                FailureReason::NoPlace,
                &format!("the unit found no place in time: {why}"),
                None,
            );
        };
        let limit = Duration::from_secs(u64::try_from(wanted.start_timeout_seconds).unwrap_or(0));
        if self.left(since, limit).is_zero() {
            return self.fail(wanted, FailureReason::StartTimeout, "the pod could not be made in time", None);
        }
        if let Some(why) = self.mirrors(wanted) {
            self.hold(None);
            self.instance = Some((InstanceReason::WaitingForStorage, why.clone()));
            return self.fail_after(wanted, since, FailureReason::StorageMissing, &why, None);
        }
        self.make_instance(wanted, &node, pod.claim.as_deref());
        self.plan.first.push(Action::DeletePod { pod: pod.at(), grace: Some(0) });
        self.plan.status.node = Some(node);
        self.held = Some((true, HeldReason::Claimed, String::new()));
        self.instance =
            Some((InstanceReason::HandingOver, "the instance is taking the unit's place".to_owned()));
    }

    fn make_instance(&mut self, wanted: &Instance, node: &str, claim: Option<&str>) {
        let pod = pods::instance(self.unit, wanted, node, claim, self.settings);
        let namespace = pods::instance_namespace(self.unit, wanted);
        let root_inside = wanted.root_inside;
        self.plan.first.push(match claim {
            Some(_) => Action::EnsureHome { root_inside },
            None => Action::EnsureTenant { namespace: namespace.clone(), root_inside },
        });
        self.plan.first.push(Action::CreatePod(Box::new(pod)));
        let at = PodRef { namespace, name: pods::instance_pod_name(wanted), uid: None };
        self.plan.first.push(Action::Nominate { pod: at, node: node.to_owned() });
    }

    /// The pod of the instance exists and is meant to live.
    fn follow(&mut self, wanted: &'a Instance, pod: &'a PodView) {
        let Some(node) = pod.node.clone() else {
            return self.hand_over(wanted, pod);
        };
        self.held = Some((true, HeldReason::Claimed, String::new()));
        self.plan.status.node = Some(node.clone());
        if self.is_lost(pod) {
            let message = format!("node {node} does not answer");
            self.held = Some((false, HeldReason::NodeLost, message.clone()));
            self.instance = Some((InstanceReason::NodeLost, message.clone()));
            if !status::was_ready(&self.plan.status, pod) {
                let since = self.started_at(wanted);
                self.fail_after(wanted, since, FailureReason::StartTimeout, &message, None);
            }
            return;
        }
        self.look_again_when_lost(pod);
        for place in self.placeholders() {
            if !place.deleting {
                self.plan.first.push(Action::DeletePod { pod: place.at(), grace: Some(0) });
            }
        }
        self.judge(wanted, pod);
    }

    /// The pod waits for the place that is being cleared for it.
    fn hand_over(&mut self, wanted: &'a Instance, pod: &'a PodView) {
        let node = pod.required_node.clone().unwrap_or_default();
        let since = self.started_at(wanted);
        self.held = Some((true, HeldReason::Claimed, String::new()));
        self.instance =
            Some((InstanceReason::HandingOver, "the instance is taking the unit's place".to_owned()));
        self.plan.status.node = Some(node.clone());
        let place =
            self.placeholders().find(|place| place.node.as_deref() == Some(node.as_str()) && !place.deleting);
        let node_serves = self.node_serves(&node);
        if let Some(place) = place.filter(|_| node_serves) {
            // a scheduler that tried the pod in between may have cleared the nomination
            if pod.nominated.as_deref() != Some(node.as_str()) {
                self.plan.first.push(Action::Nominate { pod: pod.at(), node });
            }
            self.plan.first.push(Action::DeletePod { pod: place.at(), grace: Some(0) });
            return;
        }
        let patience = self.left(self.free_since(pod), self.settings.hand_off());
        if node_serves && !patience.is_zero() {
            self.again(patience);
            return;
        }
        if node_serves && pod.unschedulable.is_none() {
            let message = "the scheduler did not look at the pod in time";
            return self.fail_after(wanted, since, FailureReason::NoPlace, message, None);
        }
        // lost, or late: give up this pod, win a place again (this one, if it may be had), and try again
        // within the same attempt
        let why = pod.unschedulable.clone().unwrap_or_else(|| format!("node {node} has no room any more"));
        let leaving = Leaving { node, claim: pod.claim.clone() };
        self.hold(Some(&leaving).filter(|_| node_serves && self.can_be_followed(pod)));
        self.plan.first.push(Action::DeletePod { pod: pod.at(), grace: Some(0) });
        if !matches!(self.held, Some((true, ..))) {
            self.held = Some((false, HeldReason::PlaceLost, why.clone()));
        }
        self.instance = Some((InstanceReason::WaitingForPlace, why.clone()));
        self.fail_after(
            wanted,
            since,
            FailureReason::NoPlace,
            &format!("another pod took the place: {why}"),
            None,
        );
    }

    /// The attempt has failed: say why (durably, with the last lines), then give the place back.
    pub(super) fn fail(
        &mut self,
        wanted: &Instance,
        reason: FailureReason,
        message: &str,
        log_of: Option<LogOf>,
    ) {
        status::fail(&mut self.plan.status, wanted, reason, message, self.observed.now);
        self.plan.log_of = log_of;
        // everything that was planned so far belonged to the attempt
        self.plan.first.retain(|action| matches!(action, Action::AddFinalizer));
        self.plan.then.clear();
        self.held = None;
        self.instance = None;
        self.rest();
        let late: Vec<_> =
            self.plan.first.extract_if(.., |action| !matches!(action, Action::AddFinalizer)).collect();
        self.plan.then.splice(0..0, late);
    }

    /// Fails the attempt if its time is over, else looks again when it will be.
    pub(super) fn fail_after(
        &mut self,
        wanted: &Instance,
        since: Timestamp,
        reason: FailureReason,
        message: &str,
        log_of: Option<LogOf>,
    ) {
        let limit = Duration::from_secs(u64::try_from(wanted.start_timeout_seconds).unwrap_or(0));
        let left = self.left(since, limit);
        if left.is_zero() {
            self.fail(wanted, reason, message, log_of);
        } else {
            self.again(left);
        }
    }

    /// Ends every instance pod but `keep`, and releases those that have ended.
    fn end_instances(&mut self, keep: Option<&PodView>) {
        for pod in self.instances().filter(|pod| keep.is_none_or(|keep| keep.uid != pod.uid)) {
            if !pod.deleting {
                // one that is bound nowhere has nothing to end gracefully
                let grace = pod.node.is_none().then_some(0);
                self.plan.first.push(Action::DeletePod { pod: pod.at(), grace });
            } else if pod.is_over() || self.is_abandoned(pod) {
                if pod.kept {
                    self.plan.then.push(Action::ReleasePod(pod.at()));
                }
                // its node does not exist any more: no kubelet will ever say that it has ended
                if !pod.confirmed
                    && pod.node.as_ref().is_some_and(|node| !self.observed.nodes.contains_key(node))
                {
                    self.plan.then.push(Action::DeletePod { pod: pod.at(), grace: Some(0) });
                }
            }
        }
    }

    /// What a pod that is ending (or gives up) leaves to the placeholder.
    fn leaving(&self) -> Option<Leaving> {
        let (pod, node) = self
            .live_instances()
            .find_map(|pod| Some((pod, pod.node.clone().or_else(|| pod.required_node.clone())?)))?;
        (self.node_serves(&node) && self.can_be_followed(pod))
            .then(|| Leaving { node, claim: pod.claim.clone() })
    }

    /// The name for another placeholder: the unit's own, or its second one while that is taken.
    pub(super) fn free_name(&self) -> String {
        let name = self.unit.name_any();
        if self.placeholders().any(|place| place.name == name) { format!("{name}-b") } else { name }
    }

    /// Each storage of the instance is there and its own.
    fn storages_of(&self, wanted: &Instance) -> Result<(), (FailureReason, String)> {
        for name in wanted.volumes.iter().filter_map(|volume| volume.storage.as_ref()) {
            match self.observed.storages.get(name) {
                Some(storage) if storage.tenant != wanted.tenant_id => {
                    return Err((
                        FailureReason::StorageForbidden,
                        format!("storage {name} is not one of this tenant"),
                    ));
                }
                Some(storage) if storage.mountable => {}
                _ => {
                    return Err((FailureReason::StorageMissing, format!("storage {name} has no volume yet")));
                }
            }
        }
        Ok(())
    }

    /// From when the time of the attempt is counted.
    pub(super) fn started_at(&self, wanted: &Instance) -> Timestamp {
        let own =
            self.before.instance.as_ref().filter(|own| own.id == wanted.id && own.attempt == wanted.attempt);
        let began =
            own.filter(|own| own.restart == wanted.restart).map_or(self.observed.now, |own| own.started_at.0);
        // brought back after it had run: the clock of the start begins again
        let ended = self.plan.status.last_run.as_ref();
        let ended = ended
            .filter(|run| run.instance_id == wanted.id && run.attempt == wanted.attempt)
            .map(|run| run.ended_at.0);
        ended.map_or(began, |ended| began.max(ended))
    }

    pub(super) fn instances(&self) -> impl Iterator<Item = &'a PodView> + use<'a> {
        self.observed.pods.iter().filter(|pod| pod.role == Role::Instance)
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &'a PodView> + use<'a> {
        self.observed.pods.iter().filter(|pod| pod.role == Role::Placeholder)
    }

    /// Instance pods that run, may run, or could not be seen to have ended.
    pub(super) fn live_instances(&self) -> impl Iterator<Item = &'a PodView> {
        self.instances().filter(|pod| !(pod.deleting && (pod.is_over() || self.is_lost(pod))))
    }

    /// A placeholder that really holds a usable place.
    pub(super) fn is_good(&self, pod: &PodView) -> bool {
        let serves = pod.node.as_ref().is_some_and(|node| self.node_serves(node));
        pod.role == Role::Placeholder
            && !pod.deleting
            && pod.phase != Phase::Ended
            && serves
            && self.are_secured(pod) == Ok(true)
    }

    /// The node takes pods.
    pub(super) fn node_serves(&self, name: &str) -> bool {
        self.observed.nodes.get(name).is_some_and(|node| !node.cordoned) && !self.node_is_lost(name)
    }

    pub(super) fn node_is_lost(&self, name: &str) -> bool {
        self.observed.nodes.get(name).is_none_or(|node| {
            !node.ready
                && node.since.is_none_or(|since| self.left(since, self.settings.node_lost()).is_zero())
        })
    }

    pub(super) fn is_lost(&self, pod: &PodView) -> bool {
        pod.node.as_ref().is_some_and(|node| self.node_is_lost(node))
    }

    /// Deleted on a node that does not answer: not waited for any more.
    pub(super) fn is_abandoned(&self, pod: &PodView) -> bool {
        pod.deleting && self.is_lost(pod)
    }

    pub(super) fn look_again_when_lost(&mut self, pod: &PodView) {
        let node = pod.node.as_ref().and_then(|name| self.observed.nodes.get(name));
        if let Some(since) = node.filter(|node| !node.ready).and_then(|node| node.since) {
            let left = self.left(since, self.settings.node_lost());
            self.again(left);
        }
    }

    /// What is left of a time that began at `since`; zero when it is over.
    pub(super) fn left(&self, since: Timestamp, limit: Duration) -> Duration {
        let passed = self.observed.now.duration_since(since);
        let limit = SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX);
        Duration::try_from(limit.saturating_sub(passed)).unwrap_or(Duration::ZERO)
    }

    pub(super) fn again(&mut self, after: Duration) {
        let after = after.max(Duration::from_millis(50));
        self.plan.again = Some(self.plan.again.map_or(after, |before| before.min(after)));
    }
}
