//! The part of a plan that starts and ends pods of instances and hands places over to them.

use crds::{FailureReason, HeldReason, Instance, InstanceReason, names};
use kube::ResourceExt as _;

use super::action::Action;
use super::attempt::Attempt;
use super::isolation::Isolation;
use super::planner::{Held, LeftPlace, NodeState, Planner, Ready, start_timeout};
use super::progress::NOT_READY_YET;
use super::{pods, status};
use crate::observation::{ObservedPod, Phase, PodRef};

/// Message of a start whose pod did not get its place.
const NOT_BOUND: &str = "the pod was not bound in time";

/// Why the storages of an instance cannot be mounted.
struct StorageProblem {
    reason: FailureReason,
    message: String,
}

impl<'a> Planner<'a> {
    /// Plans the pods of the unit.
    pub(super) fn plan_pods(&mut self) {
        if self.unit.metadata.deletion_timestamp.is_some() {
            return self.plan_removal();
        }
        if !self.has_finalizer() {
            self.plan.before_status.push(Action::AddFinalizer);
        }
        self.close_run();
        match self.unit.spec.instance.as_ref() {
            Some(wanted) if !status::has_failed(self.previous, wanted) => self.plan_instance(wanted),
            _ => self.plan_idle(),
        }
        self.release_guards();
    }

    fn has_finalizer(&self) -> bool {
        self.unit.finalizers().iter().any(|name| name == names::FINALIZER_UNIT)
    }

    /// The unit is being deleted: ends the instance, then the placeholder, then removes the finalizer.
    fn plan_removal(&mut self) {
        self.close_run();
        self.held = Some(Held::no(HeldReason::Deleting, "the unit is being deleted"));
        self.end_instances(None);
        self.delete_guards();
        let is_over = |pod: &ObservedPod| pod.has_ended() || self.is_abandoned(pod);
        if !self.instances().all(|pod| pod.deleting && is_over(pod)) {
            return;
        }
        let pods_ended = self.snapshot.pods.iter().all(is_over);
        for pod in self.placeholders().filter(|pod| !pod.deleting) {
            self.delete_placeholder(pod);
        }
        let claims_free = self.snapshot.claims.iter().all(|claim| claim.reserved_for.is_none());
        if pods_ended && claims_free && self.has_finalizer() {
            self.plan.after_status.push(Action::RemoveFinalizer);
        }
    }

    /// No instance is desired: ends its pods and holds the place.
    pub(super) fn plan_idle(&mut self) {
        // the successor protects the place before the predecessor is deleted
        self.hold_place(self.left_place().as_ref());
        self.end_instances(None);
    }

    /// An instance is desired.
    fn plan_instance(&mut self, wanted: &'a Instance) {
        if let Err(message) = pods::check(self.unit) {
            return self.fail(wanted, FailureReason::InvalidTemplate, &message, None);
        }
        if let Some(pod) = self.pod_of(wanted).filter(|pod| !pod.deleting) {
            self.end_instances(Some(pod));
            return self.follow(wanted, pod);
        }
        // never two instance pods of a unit at a time: they may share a volume
        let earlier = self.live_instances().next();
        if let Some(earlier) = earlier {
            let is_same = Attempt::from(earlier) == Attempt::from(wanted);
            let is_restart = is_same && earlier.restart < wanted.restart;
            let reason = if is_restart { InstanceReason::Restarting } else { InstanceReason::Stopping };
            self.ready = Some(Ready::new(reason, "an earlier pod of the unit is terminating"));
            return self.plan_idle();
        }
        // ended pods are released while the next one starts; one of the same name must be deleted first
        self.end_instances(None);
        if let Some(earlier) = self.pod_of(wanted).filter(|pod| pod.node.is_none()) {
            let message = format!("an earlier pod of the unit is being removed: {}", earlier.name);
            self.ready = Some(Ready::new(InstanceReason::Stopping, message.clone()));
            self.hold_place(None);
            let since = self.started_at(wanted);
            return self.fail_after(wanted, since, FailureReason::StartTimeout, &message, None);
        }
        self.start(wanted);
    }

    /// The instance has no pod: creates it on the node of the placeholder.
    fn start(&mut self, wanted: &'a Instance) {
        let since = self.started_at(wanted);
        if let Err(problem) = self.check_storages(wanted) {
            if problem.reason == FailureReason::StorageForbidden {
                return self.fail(wanted, problem.reason, &problem.message, None);
            }
            self.hold_place(None);
            self.ready = Some(Ready::new(InstanceReason::WaitingForStorage, problem.message.clone()));
            return self.fail_after(wanted, since, problem.reason, &problem.message, None);
        }
        let placeholder = self.placeholders().find(|pod| self.holds_place(pod));
        let isolation = match self.isolation(wanted, placeholder.and_then(|pod| pod.node.as_deref())) {
            Ok(isolation) => isolation,
            Err(refusal) => {
                return self.fail(wanted, FailureReason::RuntimeUnavailable, &refusal.message, None);
            }
        };
        let placeholder = placeholder.filter(|_| self.unsupported().is_none());
        let Some((pod, node)) = placeholder.and_then(|pod| Some((pod, pod.node.clone()?))) else {
            self.hold_place(None);
            let why = self.held.as_ref().map(|held| held.message.clone()).unwrap_or_default();
            self.ready = Some(Ready::new(InstanceReason::WaitingForPlace, why.clone()));
            let message = format!("the unit did not find a place in time: {why}");
            return self.fail_after(wanted, since, FailureReason::NoPlace, &message, None);
        };
        if self.remaining(since, start_timeout(wanted)).is_zero() {
            let message = "the pod was not created in time";
            return self.fail(wanted, FailureReason::StartTimeout, message, None);
        }
        if let Some(why) = self.create_missing_mirrors(wanted) {
            self.hold_place(None);
            self.ready = Some(Ready::new(InstanceReason::WaitingForStorage, why.clone()));
            return self.fail_after(wanted, since, FailureReason::StorageMissing, &why, None);
        }
        self.guard_place(&node);
        if let Err(message) = self.create_instance_pod(wanted, &node, pod, &isolation) {
            return self.fail(wanted, FailureReason::InvalidTemplate, &message, None);
        }
        self.plan.status.node = Some(node);
        self.takes_over = true;
        self.report_hand_off();
        self.fail_after(wanted, since, FailureReason::NoPlace, NOT_BOUND, None);
    }

    /// The pod is bound: only its start is left.
    fn report_taken_over(&mut self) {
        self.held = Some(Held::yes(HeldReason::Claimed, ""));
        self.ready = Some(Ready::new(InstanceReason::Starting, NOT_READY_YET));
        self.takes_over = true;
    }

    fn report_hand_off(&mut self) {
        self.held = Some(Held::yes(HeldReason::Claimed, ""));
        self.ready =
            Some(Ready::new(InstanceReason::HandingOver, "the instance is taking over the unit's place"));
    }

    /// Creates the pod that takes over the place of the placeholder.
    fn create_instance_pod(
        &mut self,
        wanted: &Instance,
        node: &str,
        placeholder: &ObservedPod,
        isolation: &Isolation,
    ) -> Result<(), String> {
        let claim = placeholder.claim.as_deref();
        let name = pods::instance_pod_name(wanted, &placeholder.uid);
        let place = pods::InstancePlace { node, claim };
        let pod = pods::instance(self.unit, wanted, &name, place, isolation, self.settings)?;
        let namespace = pods::instance_namespace(self.unit, wanted);
        let root_inside = wanted.root_inside;
        self.plan.before_status.push(match claim {
            Some(_) => Action::EnsureUnitNamespace { root_inside },
            None => Action::CreateTenantNamespace { namespace: namespace.clone(), root_inside },
        });
        self.plan.before_status.push(Action::CreatePod(Box::new(pod)));
        self.created_pod = Some(name.clone());
        let pod = PodRef { namespace, name, uid: None, version: None };
        self.plan.before_status.push(Action::Nominate { pod, node: node.to_owned() });
        Ok(())
    }

    /// Binds the pod of the instance once its namespace is confined. A unit's own namespace has been since its first
    /// claim.
    fn bind_instance(&mut self, wanted: &Instance, pod: &ObservedPod, node: &str) {
        if pod.claim.is_none() {
            let (namespace, root_inside) = (pod.namespace.clone(), wanted.root_inside);
            self.plan.before_status.push(Action::EnsureTenantNamespace { namespace, root_inside });
        }
        self.bind(pod.reference(), pod.claim.as_deref(), node);
    }

    /// The pod of the instance exists and is not being deleted.
    fn follow(&mut self, wanted: &'a Instance, pod: &'a ObservedPod) {
        let Some(node) = pod.node.clone() else {
            return self.hand_over(wanted, pod);
        };
        self.plan.status.node = Some(node.clone());
        if self.is_down(pod) {
            return self.wait_for_node(wanted, &node, status::was_ready(&self.plan.status, pod));
        }
        self.held = Some(Held::yes(HeldReason::Claimed, ""));
        for placeholder in self.placeholders().filter(|placeholder| !placeholder.deleting) {
            self.delete_placeholder(placeholder);
        }
        self.plan_progress(wanted, pod);
    }

    /// The node of the instance's pod is down. A pod that was ready waits for the node as long as it is
    /// desired.
    fn wait_for_node(&mut self, wanted: &'a Instance, node: &str, was_ready: bool) {
        let message = format!("node {node} is not ready");
        self.held = Some(Held::no(HeldReason::NodeLost, message.clone()));
        self.ready = Some(Ready::new(InstanceReason::NodeLost, message.clone()));
        if !was_ready {
            let since = self.started_at(wanted);
            self.fail_after(wanted, since, FailureReason::StartTimeout, &message, None);
        }
    }

    /// The pod waits for the place that is being freed for it.
    fn hand_over(&mut self, wanted: &'a Instance, pod: &'a ObservedPod) {
        let node = pod.required_node.clone().unwrap_or_default();
        let since = self.started_at(wanted);
        self.report_hand_off();
        self.plan.status.node = Some(node.clone());
        let state = self.node_state(&node);
        if state == NodeState::Down {
            return self.wait_for_node(wanted, &node, false);
        }
        let node_accepts = state == NodeState::Accepts;
        if let Some(why) = self.lost_claim(pod) {
            return self.take_back_hand_off(wanted, pod, node, false, &why);
        }
        let placeholder =
            self.placeholders().find(|other| other.node.as_deref() == Some(node.as_str()) && !other.deleting);
        if node_accepts {
            self.guard_place(&node);
        }
        if let Some(placeholder) = placeholder.filter(|_| node_accepts) {
            self.nominate(pod, &node);
            if self.is_protected(pod, &node) {
                self.delete_placeholder(placeholder);
                self.bind_instance(wanted, pod, &node);
                return self.report_taken_over();
            }
            return self.fail_after(wanted, since, FailureReason::NoPlace, NOT_BOUND, None);
        }
        let refusal = if node_accepts {
            self.refusal(&node, self.free_since(pod))
        } else {
            Some(format!("node {node} does not accept the pod"))
        };
        if let Some(why) = refusal {
            return self.take_back_hand_off(wanted, pod, node, node_accepts, &why);
        }
        if self.is_protected(pod, &node) && self.may_take_place(pod, &node) {
            self.bind_instance(wanted, pod, &node);
        }
        self.fail_after(wanted, since, FailureReason::NoPlace, NOT_BOUND, None);
    }

    /// The pod did not get its place: deletes it, holds a place again (this one, if possible), and retries within the
    /// same attempt.
    fn take_back_hand_off(
        &mut self,
        wanted: &'a Instance,
        pod: &'a ObservedPod,
        node: String,
        node_accepts: bool,
        why: &str,
    ) {
        let since = self.started_at(wanted);
        let left = LeftPlace { node, claim: pod.claim.clone() };
        self.hold_place(Some(&left).filter(|_| node_accepts && self.devices_are_reusable(pod)));
        // it may just have been bound
        let observed = pod.reference_as_observed();
        self.plan.before_status.push(Action::DeletePod { pod: observed, grace: Some(0) });
        if !self.held.as_ref().is_some_and(|held| held.status) {
            self.held = Some(Held::no(HeldReason::PlaceLost, why));
        }
        self.ready = Some(Ready::new(InstanceReason::WaitingForPlace, why));
        let message = format!("another pod took the place: {why}");
        self.fail_after(wanted, since, FailureReason::NoPlace, &message, None);
    }

    /// Deletes every instance pod except `keep`, and releases those that have ended.
    fn end_instances(&mut self, keep: Option<&ObservedPod>) {
        for pod in self.instances().filter(|pod| keep.is_none_or(|keep| keep.uid != pod.uid)) {
            if !pod.deleting {
                if self.predecessor_stays && pod.node.is_some() && pod.phase != Phase::Ended {
                    continue;
                }
                // a pod without a node needs no grace period, unless it has just been bound
                let (pod, grace) = match pod.node {
                    Some(_) => (pod.reference(), None),
                    None => (pod.reference_as_observed(), Some(0)),
                };
                self.plan.before_status.push(Action::DeletePod { pod, grace });
            } else if pod.has_ended() || self.is_abandoned(pod) {
                if pod.has_run_finalizer {
                    self.plan.after_status.push(Action::ReleasePod(pod.reference()));
                }
                // its node does not exist: no kubelet will confirm the end
                let node_is_gone =
                    pod.node.as_ref().is_some_and(|node| !self.snapshot.nodes.contains_key(node));
                if !pod.termination_confirmed && node_is_gone {
                    self.plan.after_status.push(Action::DeletePod { pod: pod.reference(), grace: Some(0) });
                }
            }
        }
    }

    /// The pod of this attempt and restart; one that is not being deleted, if there are several.
    pub(super) fn pod_of(&self, wanted: &Instance) -> Option<&'a ObservedPod> {
        let is_of = |pod: &&ObservedPod| {
            Attempt::from(*pod) == Attempt::from(wanted) && pod.restart == wanted.restart
        };
        self.instances().filter(is_of).min_by_key(|pod| pod.deleting)
    }

    /// The place that the live instance pod leaves, if a placeholder can take it back.
    fn left_place(&self) -> Option<LeftPlace> {
        let (pod, node) = self
            .live_instances()
            .find_map(|pod| Some((pod, pod.node.clone().or_else(|| pod.required_node.clone())?)))?;
        let may_return = matches!(self.node_state(&node), NodeState::Accepts | NodeState::Down);
        (may_return && self.devices_are_reusable(pod)).then(|| LeftPlace { node, claim: pod.claim.clone() })
    }

    /// Checks that each storage of the instance exists and belongs to its tenant.
    fn check_storages(&self, wanted: &Instance) -> Result<(), StorageProblem> {
        for name in wanted.volumes.iter().filter_map(|volume| volume.storage.as_ref()) {
            match self.snapshot.storages.get(name) {
                Some(storage) if storage.tenant != wanted.tenant_id => {
                    let message = format!("storage {name} belongs to another tenant");
                    return Err(StorageProblem { reason: FailureReason::StorageForbidden, message });
                }
                Some(storage) if storage.mountable => {}
                _ => {
                    let message = format!("storage {name} has no volume yet");
                    return Err(StorageProblem { reason: FailureReason::StorageMissing, message });
                }
            }
        }
        Ok(())
    }
}
