//! The part of a plan that keeps a unit's devices in its claim.

use std::collections::BTreeSet;

use kube::ResourceExt as _;

use super::action::Action;
use super::devices;
use super::planner::{NodeState, Planner};
use crate::observation::{DraSupport, ObservedDeviceClaim, ObservedPod};

impl<'a> Planner<'a> {
    /// Why devices cannot be claimed in this cluster, if the unit needs claims.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        if !self.unit.spec.claims_devices() {
            return None;
        }
        match self.snapshot.dra {
            DraSupport::Served => None,
            DraSupport::NotServed => Some(
                "this cluster does not serve resource.k8s.io/v1, which needs Kubernetes 1.34: use an extended resource (allocation kind device)",
            ),
            DraSupport::Forbidden => Some(
                "the operator is not allowed to read resource claims or persistent volumes: apply deploy/rbac/operator-dra.yaml",
            ),
        }
    }

    fn claim_of(&self, pod: &ObservedPod) -> Option<&'a ObservedDeviceClaim> {
        let name = pod.claim.as_ref()?;
        self.snapshot.claims.iter().find(|claim| claim.namespace == pod.namespace && claim.name == *name)
    }

    /// The devices of the unit on its node, for the status.
    pub(super) fn devices_on_node(&self) -> Option<&'a Vec<String>> {
        let claims = self.snapshot.pods.iter().filter_map(|pod| self.claim_of(pod));
        claims
            .filter(|claim| claim.node == self.plan.status.node)
            .map(|claim| &claim.devices)
            .find(|devices| !devices.is_empty())
    }

    /// Whether the devices of a pod stay with the unit when the pod disappears.
    ///
    /// # Errors
    /// Why no later pod can use these devices.
    pub(super) fn devices_are_reserved(&self, pod: &ObservedPod) -> Result<bool, String> {
        let Some(name) = &pod.claim else { return Ok(true) };
        let Some(claim) = self.claim_of(pod) else {
            return Err(format!("the claim {name} does not exist and is being created again"));
        };
        if claim.deleting {
            return Err(format!("the claim {name} was deleted and is being created again"));
        }
        if !self.is_current(claim) {
            return Err(format!("the claim {name} does not fit the unit and is being created again"));
        }
        Ok(claim.allocated && claim.reserved_for.is_some())
    }

    /// Why a pod that waits for its place can never be bound there: its claim has been deleted, or deleted and created again.
    pub(super) fn lost_claim(&self, pod: &ObservedPod) -> Option<String> {
        let node = pod.required_node.as_ref().filter(|_| pod.node.is_none())?;
        let name = pod.claim.as_ref()?;
        if let Err(message) = self.devices_are_reserved(pod) {
            return Some(message);
        }
        let is_there = self.claim_of(pod).is_some_and(|claim| claim.has_devices_for(node));
        (!is_there).then(|| format!("the claim {name} has no devices on node {node} any more"))
    }

    /// Whether the claim requests what the unit needs, and is not reserved for an earlier unit of the same name.
    fn is_current(&self, claim: &ObservedDeviceClaim) -> bool {
        Some(&claim.template) == devices::template_hash(&self.unit.spec).as_ref()
            && (claim.reserved_for.is_none() || claim.reserved_for == self.unit.metadata.uid)
    }

    /// Whether a new pod can use the claim on a node that accepts pods.
    fn is_usable(&self, claim: &ObservedDeviceClaim) -> bool {
        !claim.deleting
            && self.is_current(claim)
            && !self.abandoned_claims.contains(&claim.name)
            && claim.node.as_ref().is_none_or(|node| self.node_accepts_pods(node))
    }

    /// Whether a claim has devices for the node that a new pod can use.
    pub(super) fn has_usable_claim_on(&self, node: &str) -> bool {
        let mut claims = self.snapshot.claims.iter();
        claims.any(|claim| claim.has_devices_for(node) && self.is_usable(claim))
    }

    /// Whether another pod can use the devices of this one after it.
    pub(super) fn devices_are_reusable(&self, pod: &ObservedPod) -> bool {
        pod.claim.is_none()
            || self.claim_of(pod).is_some_and(|claim| claim.allocated && self.is_usable(claim))
    }

    /// The claim for another placeholder: an existing one, else a new one. `None` if the unit needs none. `node`: the only
    /// node that the placeholder may get, which must be that of the devices.
    pub(super) fn claim_for_placeholder(&mut self, node: Option<&str>) -> Option<String> {
        let namespace = devices::namespace(self.unit)?;
        let is_there = |claim: &&ObservedDeviceClaim| node.is_none_or(|node| claim.has_devices_for(node));
        let mut claims = self.snapshot.claims.iter().filter(is_there);
        if let Some(claim) = claims.find(|claim| self.is_usable(claim)) {
            return Some(claim.name.clone());
        }
        let base = self.unit.name_any();
        let taken = |name: &String| {
            self.snapshot.claims.iter().any(|claim| claim.namespace == namespace && claim.name == *name)
        };
        let name = (1..).map(|n| format!("{base}-{n}")).find(|name| !taken(name))?;
        let claim = devices::claim(self.unit, &name);
        self.plan.before_status.push(Action::EnsureUnitNamespace { root_inside: false });
        self.plan.before_status.push(Action::CreateClaim(Box::new(claim)));
        Some(name)
    }

    /// Why a placeholder cannot get to the node of the devices that its claim already has.
    pub(super) fn lost_devices(&mut self, pod: &ObservedPod) -> Option<String> {
        if pod.node.is_some() || pod.required_node.is_some() {
            return None;
        }
        let node = self.claim_of(pod)?.node.clone()?;
        match self.node_state(&node) {
            NodeState::Accepts if pod.unschedulable.is_some() => {
                self.refusal(&node, pod.created_at.max(self.snapshot.settled_since()))
            }
            NodeState::Accepts => None,
            NodeState::Down if self.snapshot.outage => None,
            _ => Some(format!("node {node} does not accept pods")),
        }
    }

    /// Reserves the claims in use for the unit once they have devices, and deletes those that no pod needs.
    pub(super) fn clean_up_claims(&mut self) {
        if self.unsupported().is_some() {
            return;
        }
        let needed = self.needed_claims();
        let mut releases = Vec::new();
        for claim in &self.snapshot.claims {
            if needed.contains(&claim.name) {
                if claim.allocated && !claim.deleting && claim.reserved_for.is_none() {
                    self.plan.after_status.push(Action::ReserveClaim(claim.reference()));
                }
                continue;
            }
            if !claim.deleting {
                releases.push(Action::DeleteClaim(claim.reference()));
            }
            if claim.reserved_for.is_some() {
                releases.push(Action::UnreserveClaim(claim.reference()));
            }
        }
        // first of all: objects to create may wait for these claims to disappear
        self.plan.before_status.splice(0..0, releases);
    }

    /// Names of the claims of pods that stay or are about to be created.
    fn needed_claims(&self) -> BTreeSet<String> {
        let actions = || self.plan.before_status.iter().chain(&self.plan.after_status);
        // a waiting pod may be bound before its deletion, which is refused then
        let is_deleted = |pod: &ObservedPod| {
            actions().any(|action| {
                matches!(action, Action::DeletePod { pod: deleted, grace: Some(0) }
                    if deleted.uid.as_ref() == Some(&pod.uid) && (deleted.version.is_none() || pod.node.is_some()))
            })
        };
        let staying = self.snapshot.pods.iter();
        let staying = staying.filter(|pod| !pod.has_ended() && !self.is_abandoned(pod) && !is_deleted(pod));
        let created = actions().filter_map(|action| match action {
            Action::CreatePod(pod) => {
                let claims = pod.spec.as_ref()?.resource_claims.as_ref()?;
                claims.first()?.resource_claim_name.clone()
            }
            _ => None,
        });
        staying.filter_map(|pod| pod.claim.clone()).chain(created).collect()
    }
}
