//! Claims on devices in the model: the API server's rules, the scheduler's part and the controller.

use atelier_operator::view::ClaimRef;
use k8s_openapi::api::resource::v1::ResourceClaim;

use super::{DeviceClaimView, PLACES, Phase, PodView, Role, World, unit_name};

#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) view: DeviceClaimView,
    /// UIDs of the pods that it is reserved for.
    users: Vec<String>,
}

impl Claim {
    fn deallocate(&mut self) {
        self.users.clear();
        self.view.holder = None;
        self.view.allocated = false;
        self.view.node = None;
        self.view.devices.clear();
    }
}

impl World {
    pub(super) fn claims_of(&self, n: usize) -> impl Iterator<Item = &Claim> {
        self.claims.iter().filter(move |claim| claim.view.unit == unit_name(n))
    }

    pub(super) fn create_claim(&mut self, claim: &ResourceClaim, uid: String) -> bool {
        let view = DeviceClaimView { uid, ..DeviceClaimView::of(claim).unwrap() };
        let taken = self.claims.iter().any(|known| known.view.name == view.name);
        if !taken {
            self.claims.push(Claim { view, users: Vec::new() });
        }
        !taken
    }

    /// Nobody joins a claim without devices, or one that is being deleted.
    pub(super) fn reserve_claim(&mut self, at: &ClaimRef, n: usize) -> bool {
        let holder = self.units[n].as_ref().unwrap().metadata.uid.clone();
        let found = self.claims.iter_mut().find(|claim| claim.view.uid == at.uid);
        match found.filter(|claim| claim.view.allocated && !claim.view.deleting) {
            Some(claim) => {
                claim.view.holder = holder;
                true
            }
            None => false,
        }
    }

    pub(super) fn unreserve_claim(&mut self, at: &ClaimRef) {
        if let Some(claim) = self.claims.iter_mut().find(|claim| claim.view.uid == at.uid) {
            claim.view.holder = None;
        }
    }

    pub(super) fn delete_claim(&mut self, uid: &str, by_force: bool) {
        let Some(at) = self.claims.iter().position(|claim| claim.view.uid == uid) else { return };
        if self.claims[at].view.allocated && !by_force {
            self.claims[at].view.deleting = true;
        } else {
            self.claims.remove(at);
        }
    }

    pub(super) fn devices_used(&self, node: &str) -> usize {
        let claims = self.claims.iter().filter(|claim| claim.view.node.as_deref() == Some(node));
        claims.count() + self.thieves.iter().filter(|at| at.as_deref() == Some(node)).count()
    }

    pub(super) fn has_devices(&self, n: usize) -> bool {
        self.claims_of(n).any(|claim| claim.view.allocated)
    }

    /// A pod with this claim could go to the node.
    pub(super) fn claim_allows(&self, name: &str, node: &str) -> bool {
        let found = self.claims.iter().find(|claim| claim.view.name == name && !claim.view.deleting);
        found.is_some_and(|claim| match &claim.view.node {
            Some(only) => only == node,
            None => self.devices_used(node) < PLACES,
        })
    }

    pub(super) fn bind_claim(&mut self, pod: usize, node: &str) {
        let pod = &self.pods[pod];
        let found = self.claims.iter_mut().find(|claim| Some(&claim.view.name) == pod.claim.as_ref());
        if let Some(claim) = found {
            claim.view.allocated = true;
            claim.view.node = Some(node.to_owned());
            claim.view.devices = vec![format!("driver/{node}/{}", claim.view.uid)];
            claim.users.push(pod.uid.clone());
        }
    }

    /// The scheduler found no node for the pod: what keeps it to one is given back, if nobody else uses it.
    pub(super) fn release_claim(&mut self, pod: usize) {
        let pod = &self.pods[pod];
        let found = self.claims.iter_mut().find(|claim| Some(&claim.view.name) == pod.claim.as_ref());
        if let Some(claim) = found
            && claim.view.holder.is_none()
            && claim.users.iter().all(|user| *user == pod.uid)
        {
            claim.deallocate();
        }
    }

    pub(super) fn controller(&mut self) {
        let pods = &self.pods;
        let is_done = |pod: &PodView| pod.phase == Phase::Ended || (pod.deleting && pod.node.is_none());
        self.claims.retain_mut(|claim| {
            let before = claim.users.len();
            claim.users.retain(|user| pods.iter().any(|pod| pod.uid == *user && !is_done(pod)));
            let unused = claim.users.is_empty() && claim.view.holder.is_none();
            if unused && claim.users.len() < before {
                claim.deallocate();
            }
            !(unused && claim.view.deleting)
        });
    }

    /// A unit at rest has one claim, its own, where its pod is.
    pub(super) fn check_claims_settled(&self, n: usize, pod: &PodView) {
        let claims: Vec<_> = self.claims_of(n).collect();
        if !self.dra {
            assert!(claims.is_empty());
            return;
        }
        let claim = match claims[..] {
            [claim] => claim,
            // somebody took it by force; the instance goes on without
            [] if pod.role == Role::Instance => return,
            _ => panic!("unit {n}: {claims:#?}"),
        };
        let unit = self.units[n].as_ref().unwrap();
        // one that somebody deleted serves its instance to the end
        let deleted = claim.view.deleting && pod.role == Role::Placeholder;
        assert!(claim.view.allocated && !deleted, "{claim:#?}");
        assert_eq!((&claim.view.holder, &claim.view.node), (&unit.metadata.uid, &pod.node));
        assert_eq!(pod.claim.as_ref(), Some(&claim.view.name));
        assert_eq!(unit.status.as_ref().unwrap().gpu_uuids, claim.view.devices);
    }
}
