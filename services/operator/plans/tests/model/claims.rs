//! Claims on devices: the rules of the API server, the scheduler and the claim controller.

use atelier_operator_plans::observation::ClaimRef;
use atelier_operator_plans::observation::{ObservedDeviceClaim, ObservedPod, Phase, Role};
use k8s_openapi::api::resource::v1::ResourceClaim;

use crate::PLACES;
use crate::state::{Model, unit_name};

#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) observed: ObservedDeviceClaim,
    /// UIDs of the pods that it is reserved for.
    users: Vec<String>,
}

impl Claim {
    fn deallocate(&mut self) {
        self.users.clear();
        self.observed.reserved_for = None;
        self.observed.allocated = false;
        self.observed.node = None;
        self.observed.devices.clear();
    }
}

impl Model {
    pub(crate) fn claims_of(&self, n: usize) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |claim| claim.observed.unit == unit_name(n))
    }

    pub(crate) fn create_claim(&mut self, claim: &ResourceClaim, uid: String) -> bool {
        let observed = ObservedDeviceClaim { uid, ..ObservedDeviceClaim::of(claim).unwrap() };
        let taken = self.claims.iter().any(|known| known.observed.name == observed.name);
        if !taken {
            self.claims.push(Claim { observed, users: Vec::new() });
        }
        !taken
    }

    /// Rejects the reservation of a claim without devices or with a deletion timestamp.
    pub(crate) fn reserve_claim(&mut self, at: &ClaimRef, n: usize) -> bool {
        let holder = self.units[n].as_ref().unwrap().metadata.uid.clone();
        let found = self.claims.iter_mut().find(|claim| claim.observed.uid == at.uid);
        match found.filter(|claim| claim.observed.allocated && !claim.observed.deleting) {
            Some(claim) => {
                claim.observed.reserved_for = holder;
                true
            }
            None => false,
        }
    }

    pub(crate) fn unreserve_claim(&mut self, at: &ClaimRef) {
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.observed.uid == at.uid) {
            claim.observed.reserved_for = None;
        }
    }

    pub(crate) fn delete_claim(&mut self, uid: &str, by_force: bool) {
        let Some(at) = self.claims.iter().position(|claim| claim.observed.uid == uid) else { return };
        if self.claims[at].observed.allocated && !by_force {
            self.claims[at].observed.deleting = true;
        } else {
            self.claims.remove(at);
        }
    }

    pub(crate) fn devices_used(&self, node: &str) -> usize {
        let claims = self.claims.iter().filter(|claim| claim.observed.node.as_deref() == Some(node));
        claims.count() + self.thieves.iter().filter(|at| at.as_deref() == Some(node)).count()
    }

    pub(crate) fn has_devices(&self, n: usize) -> bool {
        self.claims_of(n).any(|claim| claim.observed.allocated)
    }

    pub(crate) fn node_of_claim(&self, uid: &str) -> Option<&String> {
        self.claims.iter().find(|claim| claim.observed.uid == uid)?.observed.node.as_ref()
    }

    /// Whether a pod with this claim fits on the node.
    pub(crate) fn claim_allows(&self, name: &str, node: &str) -> bool {
        let found = self.claims.iter().find(|claim| claim.observed.name == name && !claim.observed.deleting);
        found.is_some_and(|claim| match &claim.observed.node {
            Some(only) => only == node,
            None => self.devices_used(node) < PLACES,
        })
    }

    /// Reserves the claim for the pod; false if it has no devices.
    pub(crate) fn use_claim(&mut self, uid: &str, pod: usize) -> bool {
        let found = self.claims.iter_mut().find(|claim| claim.observed.uid == uid);
        let found = found.filter(|claim| claim.observed.allocated && !claim.observed.deleting);
        if let Some(claim) = found {
            claim.users.push(self.pods[pod].uid.clone());
            return true;
        }
        false
    }

    pub(crate) fn bind_claim(&mut self, pod: usize, node: &str) {
        let pod = &self.pods[pod];
        let found = self.claims.iter_mut().find(|claim| Some(&claim.observed.name) == pod.claim.as_ref());
        if let Some(claim) = found {
            claim.observed.allocated = true;
            claim.observed.node = Some(node.to_owned());
            claim.observed.devices = vec![format!("driver/{node}/{}", claim.observed.uid)];
            claim.users.push(pod.uid.clone());
        }
    }

    /// The scheduler found no node for the pod: the allocation of its claim is removed, unless another uses it.
    pub(crate) fn release_claim(&mut self, pod: usize) {
        let pod = &self.pods[pod];
        let found = self.claims.iter_mut().find(|claim| Some(&claim.observed.name) == pod.claim.as_ref());
        if let Some(claim) = found
            && claim.observed.reserved_for.is_none()
            && claim.users.iter().all(|user| *user == pod.uid)
        {
            claim.deallocate();
        }
    }

    pub(crate) fn controller(&mut self) {
        let pods = &self.pods;
        let is_done = |pod: &ObservedPod| pod.phase == Phase::Ended || (pod.deleting && pod.node.is_none());
        self.claims.retain_mut(|claim| {
            let before = claim.users.len();
            claim.users.retain(|user| pods.iter().any(|pod| pod.uid == *user && !is_done(pod)));
            let unused = claim.users.is_empty() && claim.observed.reserved_for.is_none();
            if unused && claim.users.len() < before {
                claim.deallocate();
            }
            !(unused && claim.observed.deleting)
        });
    }

    /// A settled unit has one claim, reserved for it, on the node of its pod.
    pub(crate) fn check_claims_settled(&self, n: usize, pod: &ObservedPod) {
        let claims: Vec<_> = self.claims_of(n).collect();
        if !self.dra {
            assert!(claims.is_empty());
            return;
        }
        let claim = match claims[..] {
            [claim] => claim,
            // it was deleted by force; the instance continues without it
            [] if pod.role == Role::Instance => return,
            _ => panic!("unit {n}: {claims:#?}"),
        };
        let unit = self.units[n].as_ref().unwrap();
        // a deleted claim serves its instance to the end
        let deleted = claim.observed.deleting && pod.role == Role::Placeholder;
        assert!(claim.observed.allocated && !deleted, "{claim:#?}");
        assert_eq!((&claim.observed.reserved_for, &claim.observed.node), (&unit.metadata.uid, &pod.node));
        assert_eq!(pod.claim.as_ref(), Some(&claim.observed.name));
        assert_eq!(unit.status.as_ref().unwrap().gpu_uuids, claim.observed.devices);
    }
}
