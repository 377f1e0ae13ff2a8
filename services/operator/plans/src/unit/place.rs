//! The part of a plan that holds a place for an idle unit.

use std::cmp::Reverse;
use std::time::Duration;

use crds::{HeldReason, names};
use jiff::{SignedDuration, Timestamp};

use super::action::Action;
use super::planner::{Held, LeftPlace, NodeState, Planner};
use super::pods::{self, Placement};
use super::progress::is_not_admitted;
use super::snapshot::PlaceCheck;
use crate::observation::{ObservedDeviceClaim, ObservedPod, Phase, PodRef};

/// Maximum age of a check that a unit fits on its node for a pod to be bound there.
const ROOM_AGE: Duration = Duration::from_millis(300);

/// Time after which it is checked again whether a unit fits after all.
const ROOM_RETRY: Duration = Duration::from_secs(5);

/// Why a placeholder does not hold a place.
struct Loss {
    reason: HeldReason,
    message: String,
    /// Another pod has taken the place.
    is_to_another: bool,
}

impl Loss {
    fn new(reason: HeldReason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), is_to_another: reason == HeldReason::PlaceLost }
    }
}

/// Why a placeholder is not useful now, but stays until another holds a place.
enum Stranding {
    /// Bound to a cordoned node.
    Cordoned,
    /// Bound to a node that is down, or waiting for it.
    Down,
    /// Bound, with the unit's previous size.
    Resized,
}

/// The placeholders, if none of them holds a usable place.
#[derive(Default)]
struct Candidates<'a> {
    /// Waits for a node.
    waiting: Option<&'a ObservedPod>,
    stranded: Option<(&'a ObservedPod, Stranding)>,
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
        let candidates = self.sort_placeholders(kept);
        // a kubelet rejects pods while it starts: its place is tried once more
        let may_return = loss.as_ref().is_none_or(|loss| loss.reason == HeldReason::Preempted);
        let elsewhere = if self.place_is_used || loss.as_ref().is_some_and(|loss| loss.is_to_another) {
            Placement::Elsewhere
        } else {
            Placement::Anywhere
        };
        let returns_to = self.look_for_place(&candidates, left, may_return, elsewhere);
        self.report_search(&candidates, loss, returns_to, left.is_some());
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
        let is_resized = pod.template != self.template();
        if is_resized && pod.node.is_none() && pod.required_node.is_none() {
            return Some(Loss::new(HeldReason::Scheduling, "the size of the unit has changed"));
        }
        if pod.phase == Phase::Ended {
            let why = pod.status_reason.as_ref().map(ToString::to_string);
            let message = why.unwrap_or_else(|| "the placeholder has ended".to_owned());
            let is_to_another = is_not_admitted(pod);
            return Some(Loss { is_to_another, ..Loss::new(HeldReason::Preempted, message) });
        }
        let node = pod.node.as_ref().filter(|node| self.node_state(node) == NodeState::Gone);
        if let Some(node) = node {
            let message = format!("node {node} does not exist any more; looking for another place");
            return Some(Loss::new(HeldReason::NodeLost, message));
        }
        if let Some(message) = self.lost_return(pod, left).or_else(|| self.lost_devices(pod)) {
            self.abandoned_claims.extend(pod.claim.clone());
            return Some(Loss::new(HeldReason::PlaceLost, message));
        }
        let message = self.lost_claim(pod).or_else(|| self.devices_are_reserved(pod).err())?;
        Some(Loss::new(HeldReason::Scheduling, message))
    }

    /// A placeholder holds a usable place: the others are deleted.
    fn keep_holder(&mut self, holder: &ObservedPod, kept: Vec<&ObservedPod>, taken_back: bool) {
        for other in kept.into_iter().filter(|other| other.uid != holder.uid) {
            self.delete_placeholder(other);
        }
        self.plan.status.node.clone_from(&holder.node);
        let reason = if taken_back { HeldReason::Claimed } else { HeldReason::Holding };
        self.held = Some(Held::yes(reason, ""));
    }

    /// Whether the placeholder is bound and its devices are being reserved for the unit.
    fn is_reserving(&self, pod: &ObservedPod) -> bool {
        let accepts = pod.node.as_ref().is_some_and(|node| self.node_accepts_pods(node));
        accepts && self.devices_are_reserved(pod) == Ok(false)
    }

    /// Keeps one placeholder that waits and one that is stranded, and deletes the others.
    fn sort_placeholders(&mut self, mut kept: Vec<&'a ObservedPod>) -> Candidates<'a> {
        let mut candidates = Candidates::default();
        let template = self.template();
        // of the waiting ones, first one for a place of the unit, then the youngest
        kept.sort_by_key(|pod| {
            let is_fresh = pod.node.is_none() && pod.required_node.is_none();
            (pod.template != template, is_fresh, Reverse(pod.created_at))
        });
        for pod in kept {
            match self.stranding_of(pod) {
                Some(why) if candidates.stranded.is_none() => candidates.stranded = Some((pod, why)),
                None if candidates.waiting.is_none() => candidates.waiting = Some(pod),
                _ => self.delete_placeholder(pod),
            }
        }
        candidates
    }

    fn stranding_of(&self, pod: &ObservedPod) -> Option<Stranding> {
        let node = pod.node.as_ref().or(pod.required_node.as_ref())?;
        match self.node_state(node) {
            NodeState::Down => Some(Stranding::Down),
            NodeState::Cordoned => Some(Stranding::Cordoned),
            _ => (pod.node.is_some() && pod.template != self.template()).then_some(Stranding::Resized),
        }
    }

    /// Takes the next step towards a place. Returns the node on which one is being taken back.
    fn look_for_place(
        &mut self,
        candidates: &Candidates<'a>,
        left: Option<&LeftPlace>,
        may_return: bool,
        elsewhere: Placement<'static>,
    ) -> Option<String> {
        let Candidates { waiting, stranded } = candidates;
        if let (Some((old, Stranding::Resized)), None) = (stranded, left) {
            self.resize(old, *waiting);
            return None;
        }
        if let Some(pod) = waiting {
            let node = pod.required_node.clone()?;
            self.guard_place(&node);
            self.nominate(pod, &node);
            if left.is_some_and(|left| left.node == node) {
                self.predecessor_stays = self.node_accepts_pods(&node) && !self.is_protected(pod, &node);
            }
            if left.is_none() && self.is_protected(pod, &node) && self.may_take_place(pod, &node) {
                self.bind(pod.reference(), pod.claim.as_deref(), &node);
            }
            return Some(node);
        }
        let is_stranded_at = |node: &str| stranded.as_ref().is_some_and(|(pod, _)| waits_for(pod, node));
        let (placement, claim) = match (left.filter(|left| !is_stranded_at(&left.node)), stranded) {
            (Some(left), _) => {
                self.predecessor_stays = self.node_accepts_pods(&left.node);
                (Placement::Own(&left.node), left.claim.clone())
            }
            (None, Some((_, Stranding::Down))) if self.snapshot.outage => return None,
            (None, Some(_)) => (elsewhere, None),
            (None, None) => match self.place_lost_by_force().filter(|_| may_return) {
                Some(node) => (Placement::Own(node), None),
                None => (elsewhere, None),
            },
        };
        self.create_placeholder(placement, claim);
        placement.node().map(str::to_owned)
    }

    /// Hands the place of a placeholder over to one of the unit's new size, if that fits there; looks elsewhere
    /// otherwise.
    fn resize(&mut self, old: &'a ObservedPod, waiting: Option<&'a ObservedPod>) {
        let Some(node) = old.node.as_deref() else { return };
        if let Some(new) = waiting.filter(|new| waits_for(new, node)) {
            self.nominate(new, node);
            if self.is_protected(new, node) {
                self.delete_placeholder(old);
                self.bind(new.reference(), new.claim.as_deref(), node);
            }
            return;
        }
        match self.place_check(node, ROOM_RETRY) {
            None => self.ask_whether_it_fits(node),
            Some(PlaceCheck { refusal: None, .. }) => {
                self.create_placeholder(Placement::Own(node), old.claim.clone());
            }
            Some(_) => {
                self.requeue_after(ROOM_RETRY);
                if waiting.is_none() {
                    self.create_placeholder(Placement::Anywhere, None);
                }
            }
        }
    }

    /// The node on which the unit held its place until its last pod was deleted by force.
    fn place_lost_by_force(&self) -> Option<&'a str> {
        let held = self.previous.condition(names::CONDITION_HELD);
        let was_held = held.is_some_and(|held| held.status == "True");
        let node = self.previous.node.as_deref().filter(|node| self.node_accepts_pods(node))?;
        let has_devices = !self.unit.spec.claims_devices() || self.has_usable_claim_on(node);
        (was_held && has_devices && !self.snapshot.preempted && !self.place_is_used).then_some(node)
    }

    fn report_search(
        &mut self,
        candidates: &Candidates<'_>,
        loss: Option<Loss>,
        returns_to: Option<String>,
        is_left: bool,
    ) {
        if let Some(held) = self.report_stranded(candidates) {
            self.held = Some(held);
            return;
        }
        let waiting = candidates.waiting;
        if let Some(node) = returns_to {
            let remaining = waiting
                .filter(|_| !is_left)
                .map(|pod| self.remaining(self.free_since(pod), self.settings.hand_off()));
            let is_late = remaining.is_some_and(|remaining| remaining.is_zero());
            if let Some(remaining) = remaining.filter(|_| !is_late) {
                self.requeue_after(remaining);
            }
            let was_lost =
                self.previous.condition(names::CONDITION_HELD).is_some_and(|held| held.status == "False");
            self.held = Some(if let Some(loss) = loss {
                Held::no(loss.reason, loss.message)
            } else if is_late || was_lost {
                let message = format!("the place on node {node} has not come back yet");
                Held::no(HeldReason::Scheduling, message)
            } else {
                Held::yes(HeldReason::Claimed, "the place is being taken back")
            });
            self.plan.status.node = Some(node);
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

    /// Reports a placeholder that is stranded, with its node.
    fn report_stranded(&mut self, candidates: &Candidates<'_>) -> Option<Held> {
        let (pod, why) = candidates.stranded.as_ref()?;
        let node = pod.node.as_ref().or(pod.required_node.as_ref())?;
        self.plan.status.node = Some(node.clone());
        Some(match why {
            Stranding::Cordoned => Held::no(
                HeldReason::NodeCordoned,
                format!("node {node} is cordoned; looking for another place"),
            ),
            Stranding::Down if self.snapshot.outage => Held::no(
                HeldReason::NodeLost,
                format!("node {node} is not ready, as most nodes; waiting for it"),
            ),
            Stranding::Down => {
                Held::no(HeldReason::NodeLost, format!("node {node} is not ready; looking for another place"))
            }
            Stranding::Resized => match self.place_check(node, ROOM_RETRY).and_then(|check| check.refusal) {
                Some(refusal) => Held::no(
                    HeldReason::Unschedulable,
                    format!(
                        "the unit's new size does not fit on node {node} ({refusal}); looking for another place"
                    ),
                ),
                None => Held::yes(HeldReason::Claimed, "the unit is being resized in its place"),
            },
        })
    }

    /// The scheduler has not tried the placeholder yet: the previous reason stays.
    fn still_waiting(&self) -> Held {
        let previous = self.previous.condition(names::CONDITION_HELD).filter(|held| held.status == "False");
        previous
            .and_then(|held| Some(Held::no(held.reason.parse().ok()?, held.message.clone())))
            .filter(|held| held.reason != HeldReason::Claimed)
            .unwrap_or_else(|| Held::no(HeldReason::Scheduling, "looking for a place"))
    }

    /// Returns why a placeholder will not get back the place that it should take.
    fn lost_return(&mut self, pod: &ObservedPod, left: Option<&LeftPlace>) -> Option<String> {
        let node = pod.required_node.as_ref().filter(|_| pod.node.is_none())?;
        match self.node_state(node) {
            NodeState::Gone | NodeState::Cordoned => {
                return Some(format!("node {node} does not accept pods"));
            }
            NodeState::Down => return None,
            NodeState::Accepts => {}
        }
        if left.is_some_and(|left| left.node == *node) {
            return None;
        }
        self.refusal(node, self.free_since(pod))
    }

    /// Returns why the unit will not get its place on the node, which may have been free since a time:
    /// another pod has taken it if the unit no longer fits there.
    pub(super) fn refusal(&mut self, node: &str, since: Timestamp) -> Option<String> {
        let remaining = self.remaining(since, self.settings.hand_off());
        if !remaining.is_zero() {
            self.requeue_after(remaining);
            return None;
        }
        let Some(check) = self.place_check(node, ROOM_RETRY) else {
            self.ask_whether_it_fits(node);
            return None;
        };
        self.requeue_after(ROOM_RETRY);
        check.refusal.map(|why| format!("the place on node {node} is lost: {why}"))
    }

    fn ask_whether_it_fits(&mut self, node: &str) {
        self.plan.check_place = Some(node.to_owned());
        self.requeue_after(ROOM_RETRY);
    }

    /// The last check of this node for the unit's present size, if it is younger than `age` and nothing has changed.
    fn place_check(&self, node: &str, age: Duration) -> Option<PlaceCheck> {
        let check = self.snapshot.place_check.as_ref()?;
        let is_valid = check.node == node
            && check.template == self.template()
            && check.at >= self.snapshot.settled_since()
            && !self.remaining(check.at, age).is_zero();
        is_valid.then(|| check.clone())
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
        ends.fold(pod.created_at.max(self.snapshot.settled_since()), Timestamp::max)
    }

    /// Nominates the node for the pod, unless it is.
    pub(super) fn nominate(&mut self, pod: &ObservedPod, node: &str) {
        if pod.nominated.as_deref() != Some(node) {
            self.plan.before_status.push(Action::Nominate { pod: pod.reference(), node: node.to_owned() });
        }
    }

    /// Whether the pod's predecessor has left its place and the unit still fits there.
    pub(super) fn may_take_place(&mut self, pod: &ObservedPod, node: &str) -> bool {
        let is_vacated = self.snapshot.pods.iter().all(|other| {
            other.uid == pod.uid || other.node.as_deref() != Some(node) || other.phase == Phase::Ended
        });
        if !is_vacated {
            return false;
        }
        match self.place_check(node, ROOM_AGE) {
            Some(PlaceCheck { refusal: None, .. }) => return true,
            Some(_) => self.requeue_after(ROOM_RETRY),
            None => self.ask_whether_it_fits(node),
        }
        false
    }

    /// Binds a pod to the place that it takes over.
    pub(super) fn bind(&mut self, pod: PodRef, claim: Option<&str>, node: &str) {
        let claim = claim.and_then(|name| self.snapshot.claims.iter().find(|claim| claim.name == name));
        let claim = claim.map(ObservedDeviceClaim::reference);
        self.plan.before_status.push(Action::Bind { pod, node: node.to_owned(), claim });
    }

    /// `claim`: the claim that it shares, if the unit has claims; without one, a claim is found or created.
    fn create_placeholder(&mut self, placement: Placement<'_>, claim: Option<String>) {
        if let Some(node) = placement.node() {
            self.guard_place(node);
        }
        let name = self.new_placeholder_name();
        let claim = claim.or_else(|| self.claim_for_placeholder(placement.node()));
        let pod = pods::placeholder(self.unit, &name, placement, claim.as_deref(), self.settings);
        self.plan.before_status.push(Action::CreatePod(Box::new(pod)));
        let namespace = pods::placeholder_namespace(self.unit);
        let pod = PodRef { namespace, name, uid: None, version: None };
        if let Some(node) = placement.node() {
            self.plan.before_status.push(Action::Nominate { pod, node: node.to_owned() });
        }
    }
}

/// Whether the pod is bound to the node or requires it.
fn waits_for(pod: &ObservedPod, node: &str) -> bool {
    pod.node.as_deref().or(pod.required_node.as_deref()) == Some(node)
}
