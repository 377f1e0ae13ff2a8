//! The planner: what the parts of a plan share. Queries of the snapshot, time limits, the failure of an attempt.

use std::time::Duration;

use crds::{FailureReason, GpuUnit, GpuUnitStatus, HeldReason, Instance, InstanceReason};
use jiff::{SignedDuration, Timestamp};
use kube::ResourceExt as _;

use super::action::{Action, LogSource, Plan};
use super::attempt::Attempt;
use super::snapshot::Snapshot;
use super::status;
use crate::observation::{ObservedPod, Phase, Role};
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
    /// Names of claims whose devices are where the unit cannot stay.
    pub(super) abandoned_claims: Vec<String>,
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
        // everything planned before belonged to the attempt
        self.plan.before_status.retain(|action| matches!(action, Action::AddFinalizer));
        self.plan.after_status.clear();
        self.held = None;
        self.ready = None;
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

    /// The time from which the start timeout of the attempt counts.
    pub(super) fn started_at(&self, wanted: &Instance) -> Timestamp {
        let attempt = Attempt::from(wanted);
        let known = self.previous.instance.as_ref();
        let known = known.filter(|known| Attempt::from(*known) == attempt && known.restart == wanted.restart);
        let started = known.map_or(self.snapshot.now, |known| known.started_at.0);
        // a pod that is created again after a run starts anew
        let last_run = self.plan.status.last_run.as_ref();
        let last_run = last_run.filter(|run| Attempt::from(*run) == attempt);
        last_run.map_or(started, |run| started.max(run.ended_at.0))
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
        !pod.deleting && pod.phase != Phase::Ended && accepts && self.devices_are_reserved(pod) == Ok(true)
    }

    /// Whether the node exists, is not cordoned and not lost.
    pub(super) fn node_accepts_pods(&self, name: &str) -> bool {
        self.snapshot.nodes.get(name).is_some_and(|node| !node.cordoned) && !self.node_is_lost(name)
    }

    /// Whether the node does not exist or has not been ready for longer than the limit.
    pub(super) fn node_is_lost(&self, name: &str) -> bool {
        self.snapshot.nodes.get(name).is_none_or(|node| {
            let limit = self.settings.node_lost();
            !node.ready && node.since.is_none_or(|since| self.remaining(since, limit).is_zero())
        })
    }

    /// Whether the pod is bound to a lost node.
    pub(super) fn is_lost(&self, pod: &ObservedPod) -> bool {
        pod.node.as_ref().is_some_and(|node| self.node_is_lost(node))
    }

    /// Whether the pod was deleted on a lost node. It is no longer waited for.
    pub(super) fn is_abandoned(&self, pod: &ObservedPod) -> bool {
        pod.deleting && self.is_lost(pod)
    }

    /// Requeues for the time at which the pod's node counts as lost, if it is not ready.
    pub(super) fn requeue_when_lost(&mut self, pod: &ObservedPod) {
        let node = pod.node.as_ref().and_then(|name| self.snapshot.nodes.get(name));
        if let Some(since) = node.filter(|node| !node.ready).and_then(|node| node.since) {
            self.requeue_after(self.remaining(since, self.settings.node_lost()));
        }
    }

    /// The name for another placeholder: the unit's name, or a second one while that is taken.
    pub(super) fn free_placeholder_name(&self) -> String {
        let name = self.unit.name_any();
        if self.placeholders().any(|pod| pod.name == name) { format!("{name}-b") } else { name }
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

    /// Deletes a placeholder. Nothing in it needs a grace period.
    pub(super) fn delete_placeholder(&mut self, pod: &ObservedPod) {
        self.plan.before_status.push(Action::DeletePod { pod: pod.reference(), grace: Some(0) });
    }
}

/// The time limit of a start.
pub(super) fn start_timeout(wanted: &Instance) -> Duration {
    Duration::from_secs(u64::try_from(wanted.start_timeout_seconds).unwrap_or(0))
}
