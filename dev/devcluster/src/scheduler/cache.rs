//! The state of the scheduler: nodes with their pods, and the pods that wait.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use objects::json::text;
use objects::pod::is_over;
use objects::store::Object;
use tokio::time::Instant;

use super::fit::{NodeInfo, PodInfo};

/// As in Kubernetes by default.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LAST_BACKOFF: Duration = Duration::from_secs(10);

struct Waiting {
    pod: PodInfo,
    attempts: u32,
    not_before: Instant,
    /// Has been tried since the last change that could help.
    parked: bool,
}

#[derive(Default)]
pub(super) struct Cache {
    pub nodes: BTreeMap<String, NodeInfo>,
    /// The node at which the next search starts.
    pub turn: usize,
    waiting: HashMap<String, Waiting>,
    /// The node of each bound pod.
    bound: HashMap<String, String>,
    /// Nominated pods that wait, by node.
    nominated: HashMap<String, Vec<String>>,
}

impl Cache {
    /// Takes in an object. Returns whether the change could help a waiting pod.
    pub(super) fn observe(&mut self, object: &Arc<Object>, gone: bool) -> bool {
        match text(&object.value["kind"]) {
            "Pod" if gone => self.forget_pod(object.uid()),
            "Pod" => self.set_pod(object),
            "Node" => {
                match self.nodes.get_mut(object.name()) {
                    Some(_) if gone => drop(self.nodes.remove(object.name())),
                    Some(node) => node.refresh(object),
                    None => drop(self.nodes.insert(object.name().to_owned(), NodeInfo::of(object))),
                }
                true
            }
            _ => true,
        }
    }

    /// Adds or updates a pod. Returns whether it frees resources for others.
    pub(super) fn set_pod(&mut self, object: &Arc<Object>) -> bool {
        let pod = PodInfo::of(object);
        if is_over(&object.value) {
            return self.forget_pod(&pod.uid);
        }
        if !pod.node.is_empty() {
            let nominated = self.forget_waiting(&pod.uid);
            self.bound.insert(pod.uid.clone(), pod.node.clone());
            if let Some(node) = self.nodes.get_mut(&pod.node) {
                node.add(pod);
            }
            return nominated;
        }
        if pod.terminating || object.value["spec"]["schedulerName"] != "default-scheduler" {
            return self.forget_waiting(&pod.uid);
        }
        self.set_waiting(pod)
    }

    fn set_waiting(&mut self, pod: PodInfo) -> bool {
        let before = self.waiting.get(&pod.uid).map(|w| &w.pod);
        let was_nominated = before.map(|p| p.nominated.clone()).unwrap_or_default();
        // changes of the status, also of the nomination, do not make a pod fit
        let same = before.is_some_and(|p| p.object.value["spec"] == pod.object.value["spec"]);
        if was_nominated != pod.nominated {
            self.drop_nomination(&pod.uid);
            if !pod.nominated.is_empty() {
                self.nominated.entry(pod.nominated.clone()).or_default().push(pod.uid.clone());
            }
        }
        let helps = !was_nominated.is_empty() && was_nominated != pod.nominated;
        match self.waiting.get_mut(&pod.uid) {
            Some(waiting) => {
                waiting.pod = pod;
                waiting.parked &= same;
            }
            None => {
                let waiting = Waiting { pod, attempts: 0, not_before: Instant::now(), parked: false };
                self.waiting.insert(waiting.pod.uid.clone(), waiting);
            }
        }
        helps
    }

    /// Forgets the pods and nodes that are missing from a list of everything. Returns whether there were any.
    pub(super) fn forget_missing(&mut self, objects: &[Arc<Object>]) -> bool {
        let exists = |object: &&Arc<Object>| !is_over(&object.value);
        let found: HashSet<&str> = objects.iter().filter(exists).map(|object| object.uid()).collect();
        let is_gone = |uid: &&String| !found.contains(uid.as_str());
        let pods: Vec<String> =
            self.bound.keys().chain(self.waiting.keys()).filter(is_gone).cloned().collect();
        for uid in &pods {
            self.forget_pod(uid);
        }
        let nodes: HashSet<&str> = objects
            .iter()
            .filter(|object| object.value["kind"] == "Node")
            .map(|object| object.name())
            .collect();
        let before = self.nodes.len();
        self.nodes.retain(|name, _| nodes.contains(name.as_str()));
        !pods.is_empty() || self.nodes.len() < before
    }

    /// The bound pods by name.
    pub(super) fn bound_pods(&self) -> impl Iterator<Item = &PodInfo> {
        self.nodes.values().flat_map(|node| node.pods.values())
    }

    /// Removes a pod. Returns whether that frees resources for others.
    fn forget_pod(&mut self, uid: &str) -> bool {
        let nominated = self.forget_waiting(uid);
        let node = self.bound.remove(uid).and_then(|node| self.nodes.get_mut(&node));
        node.is_some_and(|n| n.remove(uid).is_some()) || nominated
    }

    /// Removes a pod from the waiting ones. Returns whether it was nominated.
    fn forget_waiting(&mut self, uid: &str) -> bool {
        self.drop_nomination(uid);
        self.waiting.remove(uid).is_some_and(|w| !w.pod.nominated.is_empty())
    }

    fn drop_nomination(&mut self, uid: &str) {
        self.nominated.retain(|_, pods| {
            pods.retain(|u| u != uid);
            !pods.is_empty()
        });
    }

    /// Lets every waiting pod be tried again.
    pub(super) fn wake_all(&mut self) {
        self.waiting.values_mut().for_each(|w| w.parked = false);
    }

    /// Pods that are due: by priority, then by age.
    pub(super) fn due(&self) -> Vec<String> {
        let now = Instant::now();
        let mut due: Vec<&PodInfo> =
            self.waiting.values().filter(|w| !w.parked && w.not_before <= now).map(|w| &w.pod).collect();
        due.sort_by_key(|pod| (-pod.priority, &pod.created, &pod.uid));
        due.into_iter().map(|pod| pod.uid.clone()).collect()
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.waiting.values().filter(|w| !w.parked).map(|w| w.not_before).min()
    }

    pub(super) fn waiting(&self, uid: &str) -> Option<&PodInfo> {
        self.waiting.get(uid).map(|w| &w.pod)
    }

    /// Does not try a pod again before a change, and then only after a backoff.
    pub(super) fn park(&mut self, uid: &str) {
        self.back_off(uid);
        if let Some(waiting) = self.waiting.get_mut(uid) {
            waiting.parked = true;
        }
    }

    /// Tries a pod again after a backoff.
    pub(super) fn back_off(&mut self, uid: &str) {
        if let Some(w) = self.waiting.get_mut(uid) {
            let backoff = (FIRST_BACKOFF * 2u32.saturating_pow(w.attempts.min(12))).min(LAST_BACKOFF);
            (w.not_before, w.attempts) = (Instant::now() + backoff, w.attempts + 1);
        }
    }

    /// Replaces a parked pod with its new version, whose nomination counts at once.
    pub(super) fn renominate(&mut self, object: &Arc<Object>) {
        let pod = PodInfo::of(object);
        let Some(waiting) = self.waiting.get_mut(&pod.uid).filter(|w| w.pod.nominated != pod.nominated)
        else {
            return;
        };
        waiting.pod = pod.clone();
        self.drop_nomination(&pod.uid);
        self.nominated.entry(pod.nominated).or_default().push(pod.uid);
    }

    /// Nominated pods whose resources a node keeps from `pod`.
    pub(super) fn reserved<'a>(&'a self, node: &str, pod: &PodInfo) -> Vec<&'a PodInfo> {
        let nominated = self.nominated.get(node).map(Vec::as_slice).unwrap_or_default();
        nominated
            .iter()
            .filter(|uid| **uid != pod.uid)
            .filter_map(|uid| self.waiting(uid))
            .filter(|other| other.priority >= pod.priority)
            .collect()
    }

    /// Whether the pods of a node that a nominated pod has preempted still terminate.
    pub(super) fn victims_terminate(&self, pod: &PodInfo) -> bool {
        let node = self.nodes.get(&pod.nominated);
        node.is_some_and(|n| n.pods.values().any(|p| p.terminating && p.priority < pod.priority))
    }
}
