//! The part of a plan that keeps a unit's devices in its claim, and mirrors storages to where it is.

use std::collections::BTreeSet;

use crds::Instance;
use kube::ResourceExt as _;

use super::action::Action;
use super::devices;
use super::plan::Planner;
use super::status;
use crate::view::{DeviceClaimView, Dra, MirrorView, PodView};

impl<'a> Planner<'a> {
    /// Why devices cannot be claimed in this cluster, where the unit needs that.
    pub(super) fn unsupported(&self) -> Option<&'static str> {
        if !devices::are_claimed(&self.unit.spec) {
            return None;
        }
        match self.observed.dra {
            Dra::Served => None,
            Dra::NotServed => Some(
                "this cluster does not serve resource.k8s.io/v1 (Kubernetes does from 1.34 on): use an extended resource (allocation kind device)",
            ),
            Dra::Forbidden => Some(
                "the operator may not read resource claims or persistent volumes: apply deploy/rbac/operator-dra.yaml",
            ),
        }
    }

    pub(super) fn claim_of(&self, pod: &PodView) -> Option<&'a DeviceClaimView> {
        let name = pod.claim.as_ref()?;
        self.observed.claims.iter().find(|claim| claim.namespace == pod.namespace && claim.name == *name)
    }

    /// The devices that the unit has on its node.
    pub(super) fn devices(&self) -> Option<&'a Vec<String>> {
        let claims = self.observed.pods.iter().filter_map(|pod| self.claim_of(pod));
        claims
            .filter(|claim| claim.node == self.plan.status.node)
            .map(|claim| &claim.devices)
            .find(|devices| !devices.is_empty())
    }

    /// Whether the devices that a pod holds stay the unit's own when the pod goes.
    ///
    /// # Errors
    /// Why nothing can follow the pod on its devices.
    pub(super) fn are_secured(&self, pod: &PodView) -> Result<bool, String> {
        let Some(name) = &pod.claim else { return Ok(true) };
        let Some(claim) = self.claim_of(pod) else {
            return Err(format!("the claim {name} is gone and is being made again"));
        };
        if claim.deleting {
            return Err(format!("the claim {name} was deleted and is being made again"));
        }
        if !self.is_ours(claim) {
            return Err(format!("the claim {name} is not the unit's any more and is being made again"));
        }
        Ok(claim.allocated && claim.holder.is_some())
    }

    /// It asks for what the unit needs, and no earlier unit of the same name holds it.
    fn is_ours(&self, claim: &DeviceClaimView) -> bool {
        Some(&claim.template) == devices::template_hash(&self.unit.spec).as_ref()
            && (claim.holder.is_none() || claim.holder == self.unit.metadata.uid)
    }

    /// A new pod may use it and find a node that takes it.
    fn is_usable(&self, claim: &DeviceClaimView) -> bool {
        !claim.deleting
            && self.is_ours(claim)
            && !self.given_up.contains(&claim.name)
            && claim.node.as_ref().is_none_or(|node| self.node_serves(node))
    }

    /// Whether what a pod leaves behind can be taken back with the devices that it used.
    pub(super) fn can_be_followed(&self, pod: &PodView) -> bool {
        pod.claim.is_none() || self.claim_of(pod).is_some_and(|claim| self.is_usable(claim))
    }

    /// The claim for another placeholder: what the unit has, else a new one. `None`: the unit needs none.
    pub(super) fn claim_for_another(&mut self) -> Option<String> {
        let home = devices::home(self.unit)?;
        if let Some(claim) = self.observed.claims.iter().find(|claim| self.is_usable(claim)) {
            return Some(claim.name.clone());
        }
        let base = self.unit.name_any();
        let taken = |name: &String| {
            self.observed.claims.iter().any(|claim| claim.namespace == home && claim.name == *name)
        };
        let name = (1..).map(|n| format!("{base}-{n}")).find(|name| !taken(name))?;
        let claim = devices::claim(self.unit, &name);
        self.plan.first.push(Action::EnsureHome { root_inside: false });
        self.plan.first.push(Action::CreateClaim(Box::new(claim)));
        Some(name)
    }

    /// Why a placeholder that was made for devices the unit has will not come to them, if so.
    pub(super) fn pinned_in_vain(&mut self, pod: &PodView) -> Option<String> {
        if pod.node.is_some() || pod.required_node.is_some() {
            return None;
        }
        let node = self.claim_of(pod)?.node.as_ref()?;
        if !self.node_serves(node) {
            return Some(format!("node {node} takes no pods"));
        }
        let words = pod.unschedulable.clone()?;
        let left = self.left(pod.created_at.max(self.observed.settled_since), self.settings.hand_off());
        if left.is_zero() {
            return Some(words);
        }
        self.again(left);
        None
    }

    /// The devices of a pod are where the unit cannot stay.
    pub(super) fn give_up_devices(&mut self, pod: &PodView) {
        self.given_up.extend(pod.claim.clone());
    }

    /// Devices in use become the unit's own as soon as there are any; what no pod needs is let go.
    pub(super) fn tidy_claims(&mut self) {
        if self.unsupported().is_some() {
            return;
        }
        let needed = self.needed_claims();
        let mut release = Vec::new();
        for claim in &self.observed.claims {
            if needed.contains(&claim.name) {
                if claim.allocated && !claim.deleting && claim.holder.is_none() {
                    self.plan.then.push(Action::ReserveClaim(claim.at()));
                }
                continue;
            }
            if !claim.deleting {
                release.push(Action::DeleteClaim(claim.at()));
            }
            if claim.holder.is_some() {
                release.push(Action::UnreserveClaim(claim.at()));
            }
        }
        // before everything else: what is to be made may wait for the end of these
        self.plan.first.splice(0..0, release);
    }

    /// Names of the claims of pods that are there or about to be made.
    fn needed_claims(&self) -> BTreeSet<String> {
        let actions = || self.plan.first.iter().chain(&self.plan.then);
        let dropped = |pod: &PodView| {
            actions().any(|action| {
                matches!(action, Action::DeletePod { pod: at, grace: Some(0) } if at.uid.as_ref() == Some(&pod.uid))
            })
        };
        let stay = self.observed.pods.iter();
        let stay = stay.filter(|pod| !pod.is_over() && !self.is_abandoned(pod) && !dropped(pod));
        let made = actions().filter_map(|action| match action {
            Action::CreatePod(pod) => {
                let claims = pod.spec.as_ref()?.resource_claims.as_ref()?;
                claims.first()?.resource_claim_name.clone()
            }
            _ => None,
        });
        stay.filter_map(|pod| pod.claim.clone()).chain(made).collect()
    }

    /// Why the instance's storages cannot be mounted in the unit's home yet, if so.
    pub(super) fn mirrors(&mut self, wanted: &Instance) -> Option<String> {
        if !devices::are_claimed(&self.unit.spec) {
            return None;
        }
        let mut why = None;
        for storage in wanted.volumes.iter().filter_map(|volume| volume.storage.as_ref()) {
            let Some(volume) = self.observed.storages.get(storage).and_then(|storage| storage.volume.clone())
            else {
                why = Some(format!("storage {storage} is not bound to a volume yet"));
                continue;
            };
            let found = self.observed.mirrors.iter().find(|mirror| mirror.storage == *storage);
            let make = match found {
                None => true,
                Some(mirror) if mirror.deleting || mirror.source != volume || is_spent(mirror) => {
                    if !is_going(mirror) {
                        self.plan.first.push(Action::DropMirror(mirror.clone()));
                    }
                    false
                }
                Some(mirror) if mirror.phase == "Bound" => continue,
                // its claim may be missing
                Some(mirror) => {
                    let left = self.left(mirror.created_at, self.settings.hand_off());
                    if !left.is_zero() {
                        self.again(left);
                    }
                    left.is_zero()
                }
            };
            if make {
                let storage = storage.clone();
                self.plan.first.push(Action::MirrorVolume { storage, volume });
                self.again(self.settings.hand_off());
            }
            why = Some(format!("the volume of storage {storage} is being brought to the unit's namespace"));
        }
        why
    }

    /// Mirrors that no pod uses go.
    pub(super) fn tidy_mirrors(&mut self) {
        if self.observed.mirrors.is_empty() || self.live_instances().next().is_some() {
            return;
        }
        let wanted = self.unit.spec.instance.as_ref();
        let wanted = wanted.filter(|wanted| {
            self.unit.metadata.deletion_timestamp.is_none() && !status::has_failed(&self.plan.status, wanted)
        });
        let volumes = wanted.into_iter().flat_map(|wanted| &wanted.volumes);
        let kept: BTreeSet<&String> = volumes.filter_map(|volume| volume.storage.as_ref()).collect();
        for mirror in self.observed.mirrors.iter().filter(|mirror| !kept.contains(&mirror.storage)) {
            if !is_going(mirror) {
                self.plan.then.push(Action::DropMirror(mirror.clone()));
            }
        }
    }
}

/// It cannot be bound any more.
fn is_spent(mirror: &MirrorView) -> bool {
    matches!(mirror.phase.as_str(), "Released" | "Failed")
}

/// It goes, and no claim keeps it.
fn is_going(mirror: &MirrorView) -> bool {
    mirror.deleting && mirror.phase != "Bound"
}
