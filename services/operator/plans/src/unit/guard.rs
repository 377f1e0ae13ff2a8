//! The part of a plan that keeps a place from the pods of others while it is handed over.
//!
//! A scheduler reads the pods on a node first and the nominations for it after that. Between the two, it may
//! learn that the successor is bound, which ends its nomination: the successor is then in neither list. A
//! guard is nominated for the same place and stays until the scheduler has certainly seen the binding. Only
//! what the scheduler has seen protects the place: the predecessor stays until the scheduler has tried the
//! successor and the guard.

use crds::names;

use super::action::Action;
use super::planner::Planner;
use super::pods;
use crate::observation::{ObservedPod, Phase, PodRef, Role};

impl<'a> Planner<'a> {
    fn guards(&self, role: Role) -> impl Iterator<Item = &'a ObservedPod> + use<'a> {
        self.snapshot.guards.iter().filter(move |pod| pod.role == role && !pod.deleting)
    }

    fn guard_of(&self, node: &str) -> Option<&'a ObservedPod> {
        let template = self.template();
        self.guards(Role::Guard)
            .find(|guard| guard.required_node.as_deref() == Some(node) && guard.template == template)
    }

    /// Ensures a guard for the place on the node, which is being handed over.
    pub(super) fn guard_place(&mut self, node: &str) {
        if self.guarded_node.as_deref() == Some(node) {
            return;
        }
        self.guarded_node = Some(node.to_owned());
        if let Some(guard) = self.guard_of(node) {
            return self.nominate(guard, node);
        }
        let name = self.new_guard_name(node);
        let guard = pods::guard(self.unit, &name, node, self.settings);
        self.plan.before_status.push(Action::CreatePod(Box::new(guard)));
        let pod = PodRef { namespace: names::SYSTEM_NAMESPACE.to_owned(), name, uid: None, version: None };
        self.plan.before_status.push(Action::Nominate { pod, node: node.to_owned() });
    }

    /// Whether the successor can take over the place, and its predecessor leave it: the scheduler knows the
    /// successor and the guard, and gives the place to no other pod. A scheduler that does not answer in time
    /// does not run; when it starts, it reads everything before it acts.
    pub(super) fn is_protected(&mut self, successor: &ObservedPod, node: &str) -> bool {
        self.guard_place(node);
        let Some(guard) = self.guard_of(node) else { return false };
        if successor.is_tried() && guard.is_tried() && guard.nominated.as_deref() == Some(node) {
            return true;
        }
        let created_at = successor.created_at.max(guard.created_at);
        let remaining = if self.snapshot.scheduler_heard {
            self.remaining(created_at, self.settings.hand_off())
        } else {
            self.remaining(created_at.max(self.snapshot.observed_since), self.settings.scheduler_return())
        };
        if !remaining.is_zero() {
            self.requeue_after(remaining);
        }
        remaining.is_zero()
    }

    /// Deletes the guards once the scheduler has seen that the unit's pod is bound: once it has tried a pod that was created
    /// after the binding.
    pub(super) fn release_guards(&mut self) {
        let is_handing_over =
            self.guarded_node.is_some() || self.snapshot.pods.iter().any(ObservedPod::awaits_place);
        if is_handing_over || self.snapshot.guards.is_empty() {
            return;
        }
        let is_bound = |pod: &&ObservedPod| pod.node.is_some() && !pod.deleting && pod.phase != Phase::Ended;
        let holder = self.snapshot.pods.iter().filter(is_bound).max_by_key(|pod| pod.created_at);
        let holder = holder.filter(|_| self.guards(Role::Guard).next().is_some());
        let Some((holder, node)) = holder.and_then(|pod| Some((pod, pod.node.as_deref()?))) else {
            return self.delete_guards();
        };
        let name = pods::barrier_name(self.unit, &holder.uid);
        let Some(barrier) = self.guards(Role::Barrier).find(|barrier| barrier.name == name) else {
            let barrier = pods::barrier(self.unit, &holder.uid, node, self.settings);
            self.plan.before_status.push(Action::CreatePod(Box::new(barrier)));
            return;
        };
        let since = barrier.created_at.max(self.snapshot.observed_since);
        let remaining = self.remaining(since, self.settings.scheduler_return());
        if barrier.is_tried() || remaining.is_zero() {
            self.delete_guards();
        } else {
            self.requeue_after(remaining);
        }
    }

    /// Deletes all guards and barriers.
    pub(super) fn delete_guards(&mut self) {
        for pod in self.guards(Role::Guard).chain(self.guards(Role::Barrier)) {
            self.plan.before_status.push(Action::DeletePod { pod: pod.reference(), grace: Some(0) });
        }
    }
}
