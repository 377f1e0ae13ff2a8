//! The scheduler and the kubelets.

use atelier_operator_plans::observation::{ContainerExit, ObservedPod, Phase, Role, StatusReason};
use jiff::Timestamp;

use crate::events::Behavior;
use crate::state::{Model, unit_name};
use crate::{PLACES, UNITS};

/// Whether the scheduler counts the pod on its node.
fn uses_node(pod: &ObservedPod) -> bool {
    pod.phase != Phase::Ended && !(pod.node.is_some() && pod.has_ended())
}

impl Model {
    pub(crate) fn is_down(&self, pod: &ObservedPod) -> bool {
        pod.node.as_ref().is_some_and(|node| !self.nodes[node].ready)
    }

    /// Number of places on the node that others than this unit use.
    pub(crate) fn others_on(&self, node: &str, n: usize) -> usize {
        let own = self
            .pods
            .iter()
            .filter(|pod| pod.unit == unit_name(n) && pod.node.as_deref() == Some(node) && !pod.has_ended());
        self.used(node) - own.count()
    }

    /// Number of other units with a pod of the instances' class that has waited for the node for longer than this one's.
    pub(crate) fn rivals_on(&self, node: &str, n: usize) -> usize {
        let waits = |n: usize| {
            let pods = self.pods.iter().filter(move |pod| {
                pod.unit == unit_name(n) && pod.awaits_place() && pod.required_node.as_deref() == Some(node)
            });
            pods.map(|pod| (pod.created_at, &pod.uid)).min()
        };
        let own = waits(n);
        let is_there = |n| {
            self.pods
                .iter()
                .any(|pod| pod.unit == unit_name(n) && pod.node.as_deref() == Some(node) && !pod.deleting)
        };
        let is_older = |other| waits(other).is_some_and(|since| own.is_none_or(|own| since < own));
        (0..UNITS).filter(|other| *other != n && !is_there(*other) && is_older(*other)).count()
    }

    pub(crate) fn used(&self, node: &str) -> usize {
        let pods = self
            .pods
            .iter()
            .filter(|pod| pod.node.as_deref() == Some(node) && pod.phase != Phase::Ended && !pod.has_ended());
        pods.count() + self.thieves.iter().filter(|at| at.as_deref() == Some(node)).count()
    }

    pub(crate) fn bind_pod(&mut self, at: usize, node: String) {
        let pod = &mut self.pods[at];
        self.bound_names.insert((pod.namespace.clone(), pod.name.clone()));
        pod.node = Some(node);
        pod.unschedulable = None;
    }

    /// The scheduler takes in what has happened, if it follows the cluster.
    pub(crate) fn inform_scheduler(&mut self) {
        if self.scheduler_lost_at.is_none() {
            self.seen_pods.clone_from(&self.pods);
            self.seen_at = self.now;
        }
    }

    /// The scheduler takes in what has happened, and tries every pod that waits.
    pub(crate) fn schedule(&mut self) {
        self.inform_scheduler();
        self.schedule_seen(&self.seen_pods.clone());
    }

    /// A cycle that looks at the nodes before the operator writes and at the nominations after it.
    pub(crate) fn schedule_around(&mut self, n: usize, writes: usize) {
        self.schedule();
        let nodes = self.seen_pods.clone();
        self.reconcile(n, writes);
        self.inform_scheduler();
        self.schedule_seen(&nodes);
    }

    /// The scheduler lists again, as client-go does: what is gone comes first, and for a moment the scheduler knows
    /// nothing of what is new.
    pub(crate) fn relist(&mut self) {
        if self.scheduler_lost_at.take().is_some() {
            let pods = &self.pods;
            self.seen_pods.retain(|seen| pods.iter().any(|pod| pod.uid == seen.uid && uses_node(pod)));
            self.schedule_seen(&self.seen_pods.clone());
            self.schedule();
        }
    }

    /// Tries the pods that wait, by priority. A nominated pod counts on its node for all of its priority or less. `nodes`:
    /// the pods on the nodes.
    fn schedule_seen(&mut self, nodes: &[ObservedPod]) {
        let mut waiting: Vec<(i32, Option<usize>, usize)> = Vec::new();
        for (at, pod) in self.pods.iter().enumerate() {
            let is_seen = self.seen_pods.iter().any(|seen| seen.uid == pod.uid);
            if is_seen && pod.node.is_none() && !pod.deleting {
                waiting.push((self.priority[&pod.uid], Some(at), 0));
            }
        }
        for (at, thief) in self.thieves.iter().enumerate() {
            if thief.is_none() {
                waiting.push((0, None, at));
            }
        }
        waiting.sort_by_key(|(priority, ..)| -priority);
        // those that this pass has placed
        let mut placed: Vec<String> = Vec::new();
        for (priority, pod, thief) in waiting {
            let me = pod.map(|at| self.pods[at].uid.clone());
            let claim = pod.and_then(|at| self.pods[at].claim.clone());
            let fits = |node: &String| {
                let nominated = self.seen_pods.iter().filter(|other| {
                    other.node.is_none()
                        && !other.deleting
                        && other.nominated.as_ref() == Some(node)
                        && Some(&other.uid) != me.as_ref()
                        && self.priority[&other.uid] >= priority
                });
                let on_node = |pod: &&ObservedPod| pod.node.as_ref() == Some(node) && uses_node(pod);
                let thieves = self.thieves.iter().filter(|at| at.as_ref() == Some(node));
                let used = nodes.iter().filter(on_node).count()
                    + thieves.count()
                    + placed.iter().filter(|at| *at == node).count();
                let view = &self.nodes[node];
                let devices = match (&claim, pod) {
                    (Some(name), _) => self.claim_allows(name, node),
                    (None, Some(_)) => true,
                    (None, None) => !self.dra || self.devices_used(node) < PLACES,
                };
                view.ready && !view.cordoned && devices && used + nominated.count() < PLACES
            };
            let found = self.nodes.keys().find(|node| {
                // the operator binds the others
                let is_scheduled = pod.is_none_or(|at| self.pods[at].required_node.is_none());
                is_scheduled && fits(node)
            });
            let found = found.cloned();
            match (pod, found) {
                (Some(at), Some(node)) => {
                    self.bind_claim(at, &node);
                    placed.push(node.clone());
                    self.bind_pod(at, node);
                    // it knows its own bindings
                    let bound = self.pods[at].clone();
                    let seen = self.seen_pods.iter_mut().find(|seen| seen.uid == bound.uid);
                    seen.into_iter().for_each(|seen| *seen = bound.clone());
                }
                (Some(at), None) => {
                    self.pods[at].unschedulable = Some("0/2 nodes are available".to_owned());
                    self.release_claim(at);
                }
                (None, found) => self.thieves[thief] = found,
            }
        }
        self.inform_scheduler();
    }

    /// One step of every pod on a node that answers.
    pub(crate) fn kubelet(&mut self) {
        let now = Timestamp::from_second(self.now.as_second()).unwrap();
        let mut gone = Vec::new();
        for pod in &mut self.pods {
            let Some(node) = &pod.node else { continue };
            if !self.nodes[node].ready || pod.phase == Phase::Ended {
                continue;
            }
            let n = usize::from_str_radix(&pod.unit[5..], 16).unwrap();
            if pod.deleting {
                pod.ready = false;
                pod.container_running = false;
                pod.container_ended = true;
                pod.phase = Phase::Ended;
                pod.exit = Some(ContainerExit { code: 0, reason: "Completed".to_owned(), at: Some(now) });
                if !pod.has_run_finalizer {
                    gone.push((pod.uid.clone(), n));
                }
                continue;
            }
            let behavior = if pod.role == Role::Placeholder { Behavior::Fine } else { self.behaviors[n] };
            match behavior {
                Behavior::NoImage => {
                    pod.waiting = Some(StatusReason {
                        reason: "ErrImagePull".to_owned(),
                        message: "no such image".to_owned(),
                    });
                }
                Behavior::Crashes => {
                    pod.phase = Phase::Running;
                    pod.restarts += 1;
                    pod.waiting =
                        Some(StatusReason { reason: "CrashLoopBackOff".to_owned(), message: String::new() });
                    pod.exit = Some(ContainerExit { code: 1, reason: "Error".to_owned(), at: Some(now) });
                }
                Behavior::NeverReady | Behavior::Fine if pod.phase == Phase::Pending => {
                    pod.phase = Phase::Running;
                    pod.container_running = true;
                }
                Behavior::Fine if !pod.ready => {
                    pod.container_running = true;
                    pod.container_ended = false;
                    pod.ready = true;
                    pod.ready_since = Some(now);
                    pod.ip = Some("10.0.0.1".to_owned());
                }
                _ => {}
            }
        }
        for (uid, n) in gone {
            self.pods.retain(|pod| pod.uid != uid);
            self.pod_is_gone(n);
        }
    }
}
