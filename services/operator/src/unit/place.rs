//! The part of a plan that keeps a place for an idle unit.

use std::time::Duration;

use crds::{HeldReason, names};
use jiff::{SignedDuration, Timestamp};

use super::action::Action;
use super::plan::{Leaving, Planner};
use super::pods::{self, Hold};
use crate::view::{Phase, PodRef, PodView};

/// How long a placeholder may wait for a place that has been left before one of a higher class takes over:
/// longer than a scheduler with nothing in its way needs.
const PATIENCE: Duration = Duration::from_millis(300);

impl Planner<'_> {
    /// Holds a place with a placeholder. `leaving`: what an instance pod that is ending leaves, which is
    /// to be taken back.
    pub(super) fn hold(&mut self, leaving: Option<&Leaving>) {
        if let Some(why) = self.unsupported() {
            self.held = Some((false, HeldReason::UnsupportedAllocation, why.to_owned()));
            return;
        }
        if let Err(why) = pods::check(self.unit) {
            self.held = Some((false, HeldReason::InvalidSpec, why));
            self.plan.status.node = None;
            for pod in self.placeholders().filter(|pod| !pod.deleting) {
                self.drop_placeholder(pod);
            }
            return;
        }
        let template = pods::template_hash(&self.unit.spec, self.settings);
        let mut verdict: Option<(HeldReason, String)> = None;
        let mut keep: Vec<&PodView> = Vec::new();
        for pod in self.placeholders().filter(|pod| !pod.deleting) {
            if pod.template != template && leaving.is_none() {
                verdict = Some((HeldReason::Scheduling, "the unit's size was changed".to_owned()));
            } else if pod.phase == Phase::Ended {
                let why = pod
                    .refusal
                    .as_ref()
                    .map(|(reason, message)| format!("{reason}: {message}"))
                    .unwrap_or_default();
                verdict = Some((HeldReason::Preempted, why));
            } else if self.is_lost(pod) {
                let node = pod.node.as_deref().unwrap_or_default();
                verdict = Some((
                    HeldReason::NodeLost,
                    format!("node {node} does not answer; looking for another place"),
                ));
            } else if let Some(why) = self.lost_return(pod, leaving).or_else(|| self.pinned_in_vain(pod)) {
                self.give_up_devices(pod);
                verdict = Some((HeldReason::PlaceLost, why));
            } else if let Err(why) = self.are_secured(pod) {
                verdict = Some((HeldReason::Scheduling, why));
            } else {
                keep.push(pod);
                continue;
            }
            self.drop_placeholder(pod);
        }

        if let Some(good) = keep.iter().copied().find(|pod| self.is_good(pod)) {
            for other in keep.into_iter().filter(|other| other.uid != good.uid) {
                self.drop_placeholder(other);
            }
            self.look_again_when_lost(good);
            self.plan.status.node = good.node.clone();
            let reason = if leaving.is_some() { HeldReason::Claimed } else { HeldReason::Holding };
            self.held = Some((true, reason, String::new()));
            return;
        }

        let reserving = keep.iter().find(|pod| {
            pod.node.as_ref().is_some_and(|node| self.node_serves(node)) && self.are_secured(pod) == Ok(false)
        });
        if let Some(pod) = reserving {
            self.plan.status.node = pod.node.clone();
            let message = "the devices are being reserved for the unit".to_owned();
            self.held = Some((false, HeldReason::Scheduling, message));
            return;
        }

        // none holds a usable place: one may stay on a cordoned node while another looks around
        let mut waiting = None;
        let mut cordoned = None;
        let mut surplus = Vec::new();
        keep.sort_by_key(|pod| pod.class != names::CLASS_INSTANCE);
        for pod in keep {
            let slot = if pod.node.is_some() { &mut cordoned } else { &mut waiting };
            if slot.is_none() { *slot = Some(pod) } else { surplus.push(pod) }
        }
        match (waiting, leaving) {
            (Some(pod), _) => self.press_on(pod, leaving.is_none()),
            (None, Some(left)) => self.make_placeholder(Hold::Behind(&left.node), left.claim.clone()),
            (None, None) => self.make_placeholder(Hold::Anywhere, None),
        }
        for pod in surplus {
            self.drop_placeholder(pod);
        }
        let returning = waiting.map_or(leaving.is_some(), |pod| pod.required_node.is_some());
        if returning && cordoned.is_none() {
            let node =
                waiting.map_or(leaving.map(|leaving| leaving.node.clone()), |pod| pod.required_node.clone());
            self.plan.status.node = node;
            self.held = Some((true, HeldReason::Claimed, "the place is being taken back".to_owned()));
            return;
        }
        self.plan.status.node = cordoned.and_then(|pod| pod.node.clone());
        let (reason, message) = match (cordoned, verdict, waiting) {
            (Some(pod), ..) => {
                let node = pod.node.as_deref().unwrap_or_default();
                (
                    HeldReason::NodeCordoned,
                    format!("node {node} takes no new pods; looking for another place"),
                )
            }
            (None, Some(verdict), _) => verdict,
            (None, None, Some(pod)) => match &pod.unschedulable {
                Some(words) => (HeldReason::Unschedulable, words.clone()),
                None => self.still_waiting(),
            },
            (None, None, None) if self.observed.preempted => (
                HeldReason::Preempted,
                "the placeholder had to give way to a pod of a higher class".to_owned(),
            ),
            (None, None, None) => (HeldReason::Scheduling, "looking for a place".to_owned()),
        };
        self.held = Some((false, reason, message));
    }

    /// The scheduler has not spoken yet: what was said before still stands.
    fn still_waiting(&self) -> (HeldReason, String) {
        let said = self.before.condition(names::CONDITION_HELD).filter(|held| held.status == "False");
        said.and_then(|held| Some((held.reason.parse().ok()?, held.message.clone())))
            .filter(|(reason, _)| *reason != HeldReason::Claimed)
            .unwrap_or((HeldReason::Scheduling, "looking for a place".to_owned()))
    }

    /// Why a placeholder that was to take a place back will not get it, if so.
    fn lost_return(&mut self, pod: &PodView, leaving: Option<&Leaving>) -> Option<String> {
        let node = pod.required_node.as_ref().filter(|_| pod.node.is_none())?;
        if !self.node_serves(node) {
            return Some(format!("node {node} takes no pods"));
        }
        if leaving.is_some_and(|leaving| leaving.node == *node) || pod.class == names::CLASS_RETURNING {
            return None;
        }
        let left = self.left(self.free_since(pod), self.settings.hand_off());
        if left.is_zero() {
            // a scheduler that has not looked at it has given its place to nobody else either
            return pod.unschedulable.clone();
        }
        self.again(left);
        None
    }

    /// Since when the place that the pod waits for may have been its own: an earlier pod of the unit may have
    /// ended long after this one was made, and may not have gone yet. Clusters give ends in whole seconds: it
    /// ended before the next one.
    pub(super) fn free_since(&self, pod: &PodView) -> Timestamp {
        let ends = self.instances().filter(|other| other.uid != pod.uid && other.is_over()).map(|ended| {
            let second = ended.exit.as_ref().and_then(|exit| exit.at);
            second.map_or(self.observed.now, |at| at + SignedDuration::from_secs(1))
        });
        ends.fold(pod.created_at.max(self.observed.settled_since), Timestamp::max)
    }

    fn nominate_again(&mut self, pod: &PodView) {
        if let Some(node) = pod.required_node.as_ref().filter(|node| pod.nominated.as_ref() != Some(*node)) {
            self.plan.first.push(Action::Nominate { pod: pod.at(), node: node.clone() });
        }
    }

    /// A placeholder that waits for its place. When that has been `left` and still is not its own, pods of
    /// its class that wait beside it may keep it from it: one of the instances' class takes over.
    fn press_on(&mut self, pod: &PodView, left: bool) {
        self.nominate_again(pod);
        let Some(node) = pod.required_node.as_ref().filter(|_| left && pod.class != names::CLASS_INSTANCE)
        else {
            return;
        };
        let patience = self.left(self.free_since(pod), PATIENCE);
        if patience.is_zero() {
            self.make_placeholder(Hold::Into(node), pod.claim.clone());
        } else {
            self.again(patience);
        }
    }

    /// `claim`: the one it is to share, where the unit has claims; without, one is found or made.
    fn make_placeholder(&mut self, hold: Hold<'_>, claim: Option<String>) {
        let name = self.free_name();
        let claim = claim.or_else(|| self.claim_for_another());
        let pod = pods::placeholder(self.unit, &name, hold, claim.as_deref(), self.settings);
        self.plan.first.push(Action::CreatePod(Box::new(pod)));
        if let Hold::Behind(node) | Hold::Into(node) = hold {
            let pod = PodRef { namespace: pods::placeholder_namespace(self.unit), name, uid: None };
            self.plan.first.push(Action::Nominate { pod, node: node.to_owned() });
        }
    }

    fn drop_placeholder(&mut self, pod: &PodView) {
        self.plan.first.push(Action::DeletePod { pod: pod.at(), grace: Some(0) });
    }
}
