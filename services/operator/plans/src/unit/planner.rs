//! The planner: the shared parts of a plan. Queries of the snapshot, time limits, the failure of an attempt.

use std::time::Duration;

use crds::{FailureReason, GpuUnit, GpuUnitStatus, HeldReason, Instance, InstanceReason};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::action::{Action, LogSource, Plan};
use super::attempt::Attempt;
use super::meta::short_hash;
use super::snapshot::Snapshot;
use super::{resources, status};
use crate::observation::{ObservedNode, ObservedPod, Phase, Role};
use crate::settings::Settings;

/// Shortest time after which a unit is reconciled again.
const REQUEUE_MIN: Duration = Duration::from_millis(50);

/// The `Held` condition that a plan reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) status: bool,
    pub(super) reason: HeldReason,
    pub(super) message: String,
}

impl Held {
    pub(super) fn yes(reason: HeldReason, message: impl Into<String>) -> Self {
        Self { status: true, reason, message: message.into() }
    }

    pub(super) fn no(reason: HeldReason, message: impl Into<String>) -> Self {
        Self { status: false, reason, message: message.into() }
    }
}

/// The `InstanceReady` condition that a plan reports. True for [`InstanceReason::Running`] only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) reason: InstanceReason,
    pub(super) message: String,
}

impl Ready {
    pub(super) fn new(reason: InstanceReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The place that an instance pod leaves when it ends.
pub(super) struct LeftPlace {
    pub(super) node: String,
    /// The claim on its devices, if the unit has one.
    pub(super) claim: Option<String>,
}

pub(super) struct Planner<'a> {
    pub(super) unit: &'a GpuUnit,
    pub(super) snapshot: &'a Snapshot,
    pub(super) settings: &'a Settings,
    /// The stored status.
    pub(super) previous: &'a GpuUnitStatus,
    pub(super) plan: Plan,
    pub(super) held: Option<Held>,
    pub(super) ready: Option<Ready>,
    /// Names of claims with devices on nodes where the unit cannot stay.
    pub(super) abandoned_claims: Vec<String>,
    /// The kubelet has found that the place on the node of the last pod is not free.
    pub(super) place_is_used: bool,
    /// The node with the place of the unit that is being handed over.
    pub(super) guarded_node: Option<String>,
    /// The instance pod keeps its place until its successor can take it over.
    pub(super) predecessor_stays: bool,
    /// Name of the instance pod that is about to be created.
    pub(super) created_pod: Option<String>,
    /// The instance pod is about to be bound.
    pub(super) takes_over: bool,
}

/// State of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeState {
    /// Ready and schedulable.
    Accepts,
    /// Cordoned (`spec.unschedulable`).
    Cordoned,
    /// Not ready for longer than `node_lost_seconds`. It may come back with its pods.
    Down,
    /// Deleted.
    Gone,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        unit: &'a GpuUnit,
        snapshot: &'a Snapshot,
        settings: &'a Settings,
        previous: &'a GpuUnitStatus,
    ) -> Self {
        Self {
            unit,
            snapshot,
            settings,
            previous,
            plan: Plan { status: previous.clone(), ..Plan::default() },
            held: None,
            ready: None,
            abandoned_claims: Vec::new(),
            place_is_used: false,
            guarded_node: None,
            predecessor_stays: false,
            created_pod: None,
            takes_over: false,
        }
    }

    /// Fails the attempt: the failure and the last log lines are stored first, then the place is taken back.
    pub(super) fn fail(
        &mut self,
        wanted: &Instance,
        reason: FailureReason,
        message: &str,
        log_source: Option<LogSource>,
    ) {
        status::record_failure(&mut self.plan.status, wanted, reason, message, self.snapshot.now);
        self.plan.log_source = log_source;
        // all previous actions of the plan belonged to the attempt
        self.plan.before_status.retain(|action| matches!(action, Action::AddFinalizer));
        self.plan.after_status.clear();
        self.held = None;
        self.ready = None;
        self.created_pod = None;
        self.takes_over = false;
        self.guarded_node = None;
        self.predecessor_stays = false;
        self.plan_idle();
        let is_late = |action: &mut Action| !matches!(action, Action::AddFinalizer);
        let late: Vec<_> = self.plan.before_status.extract_if(.., is_late).collect();
        self.plan.after_status.splice(0..0, late);
    }

    /// Fails the attempt if its time limit, counted from `since`, is over; requeues for that time otherwise.
    pub(super) fn fail_after(
        &mut self,
        wanted: &Instance,
        since: Timestamp,
        reason: FailureReason,
        message: &str,
        log_source: Option<LogSource>,
    ) {
        let remaining = self.remaining(since, start_timeout(wanted));
        if remaining.is_zero() {
            self.fail(wanted, reason, message, log_source);
        } else {
            self.requeue_after(remaining);
        }
    }

    /// The time from which the start timeout of the attempt counts: a start makes no progress while the cluster cannot be
    /// observed.
    pub(super) fn started_at(&self, wanted: &Instance) -> Timestamp {
        let attempt = Attempt::from(wanted);
        let known = self.previous.instance.as_ref();
        let known = known.filter(|known| Attempt::from(*known) == attempt && known.restart == wanted.restart);
        let started = known.map_or(self.snapshot.now, |known| known.started_at.0);
        // a pod that is created again after a run starts anew
        let last_run = self.plan.status.last_run.as_ref();
        let last_run = last_run.filter(|run| Attempt::from(*run) == attempt);
        let started = last_run.map_or(started, |run| started.max(run.ended_at.0));
        started.max(self.snapshot.observed_since)
    }

    pub(super) fn instances(&self) -> impl Iterator<Item = &'a ObservedPod> + use<'a> {
        self.snapshot.pods.iter().filter(|pod| pod.role == Role::Instance)
    }

    pub(super) fn placeholders(&self) -> impl Iterator<Item = &'a ObservedPod> + use<'a> {
        self.snapshot.pods.iter().filter(|pod| pod.role == Role::Placeholder)
    }

    /// Instance pods that run, may run, or are not known to have ended.
    pub(super) fn live_instances(&self) -> impl Iterator<Item = &'a ObservedPod> {
        self.instances().filter(|pod| !(pod.deleting && (pod.has_ended() || self.is_lost(pod))))
    }

    /// Whether the placeholder holds a usable place.
    pub(super) fn holds_place(&self, pod: &ObservedPod) -> bool {
        let accepts = pod.node.as_ref().is_some_and(|node| self.node_accepts_pods(node));
        !pod.deleting
            && pod.phase != Phase::Ended
            && accepts
            && pod.template == self.template()
            && self.devices_are_reserved(pod) == Ok(true)
    }

    /// Hash of the resources that a placeholder must hold.
    pub(super) fn template(&self) -> String {
        resources::template_hash(&self.unit.spec, self.settings)
    }

    pub(super) fn node_state(&self, name: &str) -> NodeState {
        match self.snapshot.nodes.get(name) {
            None => NodeState::Gone,
            Some(node) if self.remaining_until_down(node).is_some_and(|remaining| remaining.is_zero()) => {
                NodeState::Down
            }
            Some(node) if node.cordoned => NodeState::Cordoned,
            Some(_) => NodeState::Accepts,
        }
    }

    /// The time after which the node counts as down; `None` if it is ready. Time in which this process could
    /// not observe does not count, as the cluster may not have heard from the node then either.
    fn remaining_until_down(&self, node: &ObservedNode) -> Option<Duration> {
        if node.ready {
            return None;
        }
        let since = node.since.unwrap_or_default().max(self.snapshot.observed_since);
        Some(self.remaining(since, self.settings.node_lost()))
    }

    /// Whether the node exists, is not cordoned and not down.
    pub(super) fn node_accepts_pods(&self, name: &str) -> bool {
        self.node_state(name) == NodeState::Accepts
    }

    /// Whether the pod is bound to a node that is down or does not exist.
    pub(super) fn is_down(&self, pod: &ObservedPod) -> bool {
        let state = pod.node.as_ref().map(|node| self.node_state(node));
        matches!(state, Some(NodeState::Down | NodeState::Gone))
    }

    /// Whether the pod is bound to a node that does not exist, or that is down while most others are not. An
    /// outage does not restore a pod that the unit no longer waited for.
    pub(super) fn is_lost(&self, pod: &ObservedPod) -> bool {
        let is_gone = pod.node.as_ref().is_some_and(|node| self.node_state(node) == NodeState::Gone);
        let was_given_up = self.unit.status.is_some() && self.previous.instance.is_none();
        is_gone || (self.is_down(pod) && (!self.snapshot.outage || was_given_up))
    }

    /// Whether the pod was deleted on a lost node. It is no longer waited for. No pod of a unit that is being
    /// removed starts elsewhere, so it need not wait for a node that is down, even if most are.
    pub(super) fn is_abandoned(&self, pod: &ObservedPod) -> bool {
        let is_removed = self.unit.metadata.deletion_timestamp.is_some();
        pod.deleting && (self.is_lost(pod) || (is_removed && self.is_down(pod)))
    }

    /// Requeues for the time at which a node that is not ready counts as down. While it is down, the end of an outage
    /// of many nodes is checked periodically, because any node may change.
    pub(super) fn requeue_when_down(&mut self) {
        let nodes = &self.snapshot.nodes;
        let remaining: Vec<_> = nodes.values().filter_map(|node| self.remaining_until_down(node)).collect();
        for remaining in remaining {
            if !remaining.is_zero() {
                self.requeue_after(remaining);
            } else if self.snapshot.outage {
                self.requeue_after(self.settings.node_lost());
            }
        }
    }

    /// The name for another placeholder. No earlier pod has had it: it depends on the pods that exist and on when the
    /// last one disappeared. A reconcile that is repeated because its response was lost finds the same name.
    pub(super) fn new_placeholder_name(&self) -> String {
        format!("{}-{}", self.unit.name_any(), self.name_suffix())
    }

    /// The name for another guard: not that of one for another node, or with another template.
    pub(super) fn new_guard_name(&self, node: &str) -> String {
        let what = format!("{} {node} {}", self.name_suffix(), self.template());
        format!("{}-guard-{}", self.unit.name_any(), short_hash(what.as_bytes()))
    }

    fn name_suffix(&self) -> String {
        let mut uids: Vec<&str> = self.snapshot.pods.iter().map(|pod| pod.uid.as_str()).collect();
        uids.sort_unstable();
        uids.extend(self.unit.metadata.uid.as_deref());
        let since = self.snapshot.settled_since();
        short_hash(format!("{since} {}", uids.join(" ")).as_bytes())
    }

    /// What remains of a time limit that counts from `since`.
    pub(super) fn remaining(&self, since: Timestamp, limit: Duration) -> Duration {
        let elapsed = self.snapshot.now.duration_since(since);
        let limit = SignedDuration::try_from(limit).unwrap_or(SignedDuration::MAX);
        Duration::try_from(limit.saturating_sub(elapsed)).unwrap_or(Duration::ZERO)
    }

    /// Requeues after a time; the earliest of several counts.
    pub(super) fn requeue_after(&mut self, delay: Duration) {
        let delay = delay.max(REQUEUE_MIN);
        self.plan.requeue_after = Some(self.plan.requeue_after.map_or(delay, |known| known.min(delay)));
    }

    /// Deletes a placeholder unless it has changed meanwhile: one that waits may just have been bound. Nothing in it
    /// needs a grace period.
    pub(super) fn delete_placeholder(&mut self, pod: &ObservedPod) {
        let pod = pod.reference_as_observed();
        self.plan.before_status.push(Action::DeletePod { pod, grace: Some(0) });
    }
}

/// The time limit of a start.
pub(super) fn start_timeout(wanted: &Instance) -> Duration {
    Duration::from_secs(u64::try_from(wanted.start_timeout_seconds).unwrap_or(0))
}
