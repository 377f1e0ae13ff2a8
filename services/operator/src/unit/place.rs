//! The part of a plan that holds a place for an idle unit.

use std::time::Duration;

use crds::{HeldReason, names};
use jiff::{SignedDuration, Timestamp};

use super::action::Action;
use super::planner::{Held, LeftPlace, Planner};
use super::pods::{self, Placement};
use super::resources;
use crate::observation::{ObservedPod, Phase, PodRef};

/// How long a placeholder waits for a place that is free before one of the instances' class replaces it: longer than an
/// unobstructed scheduler needs.
const PATIENCE: Duration = Duration::from_millis(300);

/// Why a placeholder is deleted.
struct Loss {
    reason: HeldReason,
    message: String,
}

impl Loss {
    fn new(reason: HeldReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// The placeholders of which none holds a usable place.
#[derive(Default)]
struct Candidates<'a> {
    /// Waits for a node.
    waiting: Option<&'a ObservedPod>,
    /// Bound to a cordoned node. It stays there until another placeholder holds a place.
    cordoned: Option<&'a ObservedPod>,
}

impl<'a> Planner<'a> {
    /// Holds a place with a placeholder. `left`: the place of an ending instance pod, to be taken back.
    pub(super) fn hold_place(&mut self, left: Option<&LeftPlace>) {
        if let Some(why) = self.unsupported() {
            self.held = Some(Held::no(HeldReason::UnsupportedAllocation, why));
            return;
        }
        if let Err(message) = pods::check(self.unit) {
            self.held = Some(Held::no(HeldReason::InvalidSpec, message));
            self.plan.status.node = None;
            for pod in self.placeholders().filter(|pod| !pod.deleting) {
                self.delete_placeholder(pod);
            }
            return;
        }
        let (kept, loss) = self.delete_lost_placeholders(left);
        if let Some(holder) = kept.iter().copied().find(|pod| self.holds_place(pod)) {
            return self.keep_holder(holder, kept, left.is_some());
        }
        if let Some(pod) = kept.iter().find(|pod| self.is_reserving(pod)) {
            self.plan.status.node = pod.node.clone();
            let message = "the devices are being reserved for the unit";
            self.held = Some(Held::no(HeldReason::Scheduling, message));
            return;
        }
        let candidates = self.look_for_place(kept, left);
        self.report_search(&candidates, loss, left);
    }

    /// Deletes the placeholders that cannot hold a place. Returns the others, and why the last was deleted.
    fn delete_lost_placeholders(&mut self, left: Option<&LeftPlace>) -> (Vec<&'a ObservedPod>, Option<Loss>) {
        let mut kept = Vec::new();
        let mut last = None;
        for pod in self.placeholders().filter(|pod| !pod.deleting) {
            match self.loss_of(pod, left) {
                Some(loss) => {
                    self.delete_placeholder(pod);
                    last = Some(loss);
                }
                None => kept.push(pod),
            }
        }
        (kept, last)
    }

    fn loss_of(&mut self, pod: &ObservedPod, left: Option<&LeftPlace>) -> Option<Loss> {
        let template = resources::template_hash(&self.unit.spec, self.settings);
        if pod.template != template && left.is_none() {
            return Some(Loss::new(HeldReason::Scheduling, "the size of the unit has changed"));
        }
        if pod.phase == Phase::Ended {
            let message = pod.status_reason.as_ref().map(ToString::to_string);
            return Some(Loss::new(HeldReason::Preempted, message.unwrap_or_default()));
        }
        if self.is_lost(pod) {
            let node = pod.node.as_deref().unwrap_or_default();
            let message = format!("node {node} is not ready; looking for another place");
            return Some(Loss::new(HeldReason::NodeLost, message));
        }
        if let Some(message) = self.lost_return(pod, left).or_else(|| self.lost_devices(pod)) {
            self.abandoned_claims.extend(pod.claim.clone());
            return Some(Loss::new(HeldReason::PlaceLost, message));
        }
        self.devices_are_reserved(pod).err().map(|message| Loss::new(HeldReason::Scheduling, message))
    }

    /// A placeholder holds a usable place: the others are deleted.
    fn keep_holder(&mut self, holder: &ObservedPod, kept: Vec<&ObservedPod>, taken_back: bool) {
        for other in kept.into_iter().filter(|other| other.uid != holder.uid) {
            self.delete_placeholder(other);
        }
        self.requeue_when_lost(holder);
        self.plan.status.node.clone_from(&holder.node);
        let reason = if taken_back { HeldReason::Claimed } else { HeldReason::Holding };
        self.held = Some(Held::yes(reason, ""));
    }

    /// Whether the placeholder is bound and its devices are being reserved for the unit.
    fn is_reserving(&self, pod: &ObservedPod) -> bool {
        let accepts = pod.node.as_ref().is_some_and(|node| self.node_accepts_pods(node));
        accepts && self.devices_are_reserved(pod) == Ok(false)
    }

    /// Keeps one placeholder that waits and one on a cordoned node, and creates one if none waits.
    fn look_for_place(&mut self, mut kept: Vec<&'a ObservedPod>, left: Option<&LeftPlace>) -> Candidates<'a> {
        let mut candidates = Candidates::default();
        let mut surplus = Vec::new();
        kept.sort_by_key(|pod| pod.class != names::CLASS_INSTANCE);
        for pod in kept {
            let slot = if pod.node.is_some() { &mut candidates.cordoned } else { &mut candidates.waiting };
            if slot.is_none() { *slot = Some(pod) } else { surplus.push(pod) }
        }
        match (candidates.waiting, left) {
            (Some(pod), _) => self.press_for_place(pod, left.is_none()),
            (None, Some(left)) => {
                self.create_placeholder(Placement::Returning(&left.node), left.claim.clone());
            }
            (None, None) => self.create_placeholder(Placement::Anywhere, None),
        }
        for pod in surplus {
            self.delete_placeholder(pod);
        }
        candidates
    }

    fn report_search(&mut self, candidates: &Candidates<'_>, loss: Option<Loss>, left: Option<&LeftPlace>) {
        let Candidates { waiting, cordoned } = *candidates;
        if let Some(pod) = cordoned {
            let node = pod.node.as_deref().unwrap_or_default();
            let message = format!("node {node} is cordoned; looking for another place");
            self.plan.status.node.clone_from(&pod.node);
            self.held = Some(Held::no(HeldReason::NodeCordoned, message));
            return;
        }
        let returns_to = match waiting {
            Some(pod) => pod.required_node.clone(),
            None => left.map(|left| left.node.clone()),
        };
        if returns_to.is_some() {
            self.plan.status.node = returns_to;
            self.held = Some(Held::yes(HeldReason::Claimed, "the place is being taken back"));
            return;
        }
        self.plan.status.node = None;
        self.held = Some(match (loss, waiting) {
            (Some(loss), _) => Held::no(loss.reason, loss.message),
            (None, Some(pod)) => match &pod.unschedulable {
                Some(message) => Held::no(HeldReason::Unschedulable, message.clone()),
                None => self.still_waiting(),
            },
            (None, None) if self.snapshot.preempted => {
                Held::no(HeldReason::Preempted, "a pod of a higher class preempted the placeholder")
            }
            (None, None) => Held::no(HeldReason::Scheduling, "looking for a place"),
        });
    }

    /// The scheduler has not tried the placeholder yet: the previous reason stays.
    fn still_waiting(&self) -> Held {
        let previous = self.previous.condition(names::CONDITION_HELD).filter(|held| held.status == "False");
        previous
            .and_then(|held| Some(Held::no(held.reason.parse().ok()?, held.message.clone())))
            .filter(|held| held.reason != HeldReason::Claimed)
            .unwrap_or_else(|| Held::no(HeldReason::Scheduling, "looking for a place"))
    }

    /// Why a placeholder that should take a place back will not get it.
    fn lost_return(&mut self, pod: &ObservedPod, left: Option<&LeftPlace>) -> Option<String> {
        let node = pod.required_node.as_ref().filter(|_| pod.node.is_none())?;
        if !self.node_accepts_pods(node) {
            return Some(format!("node {node} does not accept pods"));
        }
        if left.is_some_and(|left| left.node == *node) || pod.class == names::CLASS_RETURNING {
            return None;
        }
        let remaining = self.remaining(self.free_since(pod), self.settings.hand_off());
        if remaining.is_zero() {
            // without a verdict of the scheduler, the place has not been given to another pod either
            return pod.unschedulable.clone();
        }
        self.requeue_after(remaining);
        None
    }

    /// The time from which the place that the pod waits for may have been free: an earlier pod of the unit may have
    /// ended long after this one was created, and may still exist. Clusters report ends in whole seconds; the end was
    /// before the next one.
    pub(super) fn free_since(&self, pod: &ObservedPod) -> Timestamp {
        let ended = self.instances().filter(|other| other.uid != pod.uid && other.has_ended());
        let ends = ended.map(|ended| {
            let second = ended.exit.as_ref().and_then(|exit| exit.at);
            second.map_or(self.snapshot.now, |at| at + SignedDuration::from_secs(1))
        });
        ends.fold(pod.created_at.max(self.snapshot.settled_since), Timestamp::max)
    }

    /// A placeholder waits for its place. Once that is free, waiting pods of the same class beside it may keep it out:
    /// after a while, a placeholder of the instances' class replaces it.
    fn press_for_place(&mut self, pod: &ObservedPod, is_free: bool) {
        let Some(node) = &pod.required_node else { return };
        if pod.nominated.as_ref() != Some(node) {
            self.plan.before_status.push(Action::Nominate { pod: pod.reference(), node: node.clone() });
        }
        if !is_free || pod.class == names::CLASS_INSTANCE {
            return;
        }
        let patience = self.remaining(self.free_since(pod), PATIENCE);
        if patience.is_zero() {
            self.create_placeholder(Placement::Reclaiming(node), pod.claim.clone());
        } else {
            self.requeue_after(patience);
        }
    }

    /// `claim`: the claim that it shares, if the unit has claims; without one, a claim is found or created.
    fn create_placeholder(&mut self, placement: Placement<'_>, claim: Option<String>) {
        let name = self.free_placeholder_name();
        let claim = claim.or_else(|| self.claim_for_placeholder());
        let pod = pods::placeholder(self.unit, &name, placement, claim.as_deref(), self.settings);
        self.plan.before_status.push(Action::CreatePod(Box::new(pod)));
        if let Some(node) = placement.node() {
            let pod = PodRef { namespace: pods::placeholder_namespace(self.unit), name, uid: None };
            self.plan.before_status.push(Action::Nominate { pod, node: node.to_owned() });
        }
    }
}
