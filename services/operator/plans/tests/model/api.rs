//! The API server: carries out the actions of a plan.

use atelier_operator_plans::observation::{ObservedPod, Phase, Role, StatusReason};
use atelier_operator_plans::unit::action::Action;
use crds::names;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::PLACES;
use crate::state::{Model, unit_name};

impl Model {
    /// Carries out one write as the API server would; false when it refuses.
    pub(crate) fn apply(&mut self, n: usize, action: &Action) -> bool {
        match action {
            Action::AddFinalizer => {
                self.units[n].as_mut().unwrap().metadata.finalizers =
                    Some(vec![names::FINALIZER_UNIT.to_owned()]);
            }
            Action::RemoveFinalizer => {
                let live = self
                    .pods
                    .iter()
                    .any(|pod| pod.unit == unit_name(n) && !pod.has_ended() && !self.is_down(pod));
                assert!(!live, "the unit went before its pods");
                assert!(
                    self.claims_of(n).all(|claim| claim.observed.reserved_for.is_none()),
                    "a claim stays reserved"
                );
                self.units[n] = None;
            }
            Action::CreateTenantNamespace { .. } => {}
            Action::EnsureTenantNamespace { namespace, .. } => {
                self.confined.insert(namespace.clone());
            }
            Action::EnsureUnitNamespace { .. } => {
                self.confined.insert(unit_name(n));
            }
            Action::CreateClaim(claim) => {
                self.uids += 1;
                let uid = format!("c{}", self.uids);
                return self.create_claim(claim, uid);
            }
            Action::ReserveClaim(at) => return self.reserve_claim(at, n),
            Action::UnreserveClaim(at) => self.unreserve_claim(at),
            Action::DeleteClaim(at) => self.delete_claim(&at.uid, false),
            Action::CreateMirror { .. } | Action::DeleteMirror(_) => panic!("no unit has a storage here"),
            Action::CreatePod(pod) => {
                let namespace = pod.metadata.namespace.clone();
                let name = pod.metadata.name.clone();
                if self.pods.iter().any(|known| {
                    Some(&known.name) == name.as_ref() && Some(&known.namespace) == namespace.as_ref()
                }) {
                    return false;
                }
                let full_name = (namespace.unwrap(), name.unwrap());
                assert!(!self.bound_names.contains(&full_name), "the name {full_name:?} is used again");
                let mut pod = (**pod).clone();
                self.uids += 1;
                pod.metadata.uid = Some(format!("p{}", self.uids));
                pod.metadata.creation_timestamp =
                    Some(Time(Timestamp::from_second(self.now.as_second()).unwrap()));
                let class = pod.spec.as_ref().unwrap().priority_class_name.clone().unwrap();
                let priority = match class.as_str() {
                    names::CLASS_INSTANCE => 1_000_000,
                    _ => -1000,
                };
                let view = ObservedPod::of(&pod).unwrap();
                self.priority.insert(view.uid.clone(), priority);
                self.pods.push(view);
            }
            Action::Nominate { pod, node } => {
                let found = self
                    .pods
                    .iter_mut()
                    .find(|known| known.name == pod.name && known.namespace == pod.namespace);
                match found.filter(|found| pod.uid.as_ref().is_none_or(|uid| *uid == found.uid)) {
                    Some(found) if found.node.is_none() => found.nominated = Some(node.clone()),
                    Some(_) => {}
                    None => return false,
                }
            }
            Action::Bind { pod, node, claim } => {
                let found = self.pods.iter().position(|known| {
                    known.name == pod.name
                        && known.namespace == pod.namespace
                        && pod.uid.as_ref().is_none_or(|uid| *uid == known.uid)
                });
                let Some(at) = found else { return false };
                let is_confined = self.confined.contains(&pod.namespace);
                assert!(self.pods[at].role == Role::Placeholder || is_confined, "{pod:?} runs unconfined");
                if self.pods[at].node.is_none() && !self.pods[at].deleting {
                    let is_full = self.used(node) >= PLACES;
                    assert_eq!(claim.is_some(), self.pods[at].claim.is_some());
                    let claimed = claim.as_ref().and_then(|claim| self.node_of_claim(&claim.uid));
                    assert!(
                        claimed.is_none_or(|of| of == node),
                        "{pod:?} is bound to {node} with devices of {claimed:?}"
                    );
                    if claim.as_ref().is_some_and(|claim| !self.use_claim(&claim.uid, at)) {
                        return false;
                    }
                    self.bind_pod(at, node.clone());
                    // the kubelet
                    if is_full {
                        let pod = &mut self.pods[at];
                        pod.phase = Phase::Ended;
                        let (reason, message) = ("OutOfcpu".to_owned(), String::new());
                        pod.status_reason = Some(StatusReason { reason, message });
                    }
                }
            }
            Action::DeletePod { pod, grace } => {
                let found = self.pods.iter().position(|known| Some(&known.uid) == pod.uid.as_ref());
                let Some(at) = found else { return true };
                let known = &mut self.pods[at];
                if pod.version.as_ref().is_some_and(|version| *version != known.version) {
                    return false;
                }
                if *grace == Some(0) && !known.has_run_finalizer {
                    self.remove_pod(at, n);
                } else {
                    known.deleting = true;
                    known.termination_confirmed = *grace == Some(0);
                }
            }
            Action::ReleasePod(pod) => {
                let Some(at) = self.pods.iter().position(|known| Some(&known.uid) == pod.uid.as_ref()) else {
                    return true;
                };
                self.pods[at].has_run_finalizer = false;
                assert!(self.pods[at].deleting);
                if self.pods[at].has_ended() {
                    self.remove_pod(at, n);
                }
            }
        }
        true
    }
}
