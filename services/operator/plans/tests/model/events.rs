//! What happens to the cluster.

use atelier_operator_plans::observation::{ContainerExit, ObservedNode, ObservedPod, Role};
use crds::GpuUnit;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::json;

use crate::TENANT;
use crate::state::{Model, node_name, unit_name};

/// How an instance behaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Behavior {
    Fine,
    NoImage,
    Crashes,
    NeverReady,
}

/// One event.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    Start(usize, Behavior),
    Stop(usize),
    Restart(usize),
    /// The operator reconciles the unit and is killed after this number of writes.
    Reconcile(usize, usize),
    Schedule,
    /// The scheduler looks at the nodes; the operator reconciles the unit and is killed after this number of writes;
    /// the scheduler reads the nominations and decides.
    ScheduleAround(usize, usize),
    /// The API server was away, and the scheduler does not follow the cluster again yet.
    LoseScheduler,
    /// The scheduler lists the cluster again.
    Relist,
    Kubelet,
    Crash(usize),
    Unready(usize),
    DeleteByHand(usize),
    /// All pods of the unit disappear.
    DeleteByForce(usize),
    /// An idle unit gets another size.
    Resize(usize),
    /// Somebody deletes a unit's claim; true: also its finalizers.
    DeleteClaim(usize, bool),
    /// The claim controller runs.
    Controller,
    NodeDown(usize),
    NodeUp(usize),
    Cordon(usize, bool),
    AddThief,
    ThiefLeaves,
    Wait(i64),
    RemoveUnit(usize),
}

impl Model {
    pub(crate) fn change_spec(&mut self, n: usize, change: impl FnOnce(&mut GpuUnit)) {
        if let Some(unit) = self.units[n].as_mut().filter(|unit| unit.metadata.deletion_timestamp.is_none()) {
            change(unit);
            *unit.metadata.generation.as_mut().unwrap() += 1;
        }
    }

    pub(crate) fn event(&mut self, event: &Event) {
        let now = self.now;
        match event {
            Event::Start(n, behavior) => {
                let idle = self.units[*n].as_ref().is_some_and(|unit| {
                    unit.spec.instance.is_none()
                        && unit.status.as_ref().is_none_or(|status| status.instance.is_none())
                });
                if idle {
                    self.behaviors[*n] = *behavior;
                    let attempt = now.as_second();
                    let n = *n;
                    self.change_spec(n, |unit| {
                        unit.spec.instance = Some(
                            serde_json::from_value(
                                json!({"id": format!("inst-{n:032x}"), "attempt": attempt, "tenantId": TENANT,
                                "image": "atelier/webui:1.6", "startTimeoutSeconds": 60}),
                            )
                            .unwrap(),
                        );
                    });
                }
            }
            Event::Stop(n) => self.change_spec(*n, |unit| unit.spec.instance = None),
            Event::Restart(n) => self.change_spec(*n, |unit| {
                if let Some(instance) = &mut unit.spec.instance {
                    instance.restart += 1;
                }
            }),
            Event::Reconcile(n, writes) => drop(self.reconcile(*n, *writes)),
            Event::Schedule => self.schedule(),
            Event::ScheduleAround(n, writes) => self.schedule_around(*n, *writes),
            Event::LoseScheduler => {
                self.scheduler_lost_at.get_or_insert(now);
            }
            Event::Relist => self.relist(),
            Event::Kubelet => self.kubelet(),
            Event::Crash(n) => {
                let mine = |pod: &&mut ObservedPod| {
                    pod.unit == unit_name(*n) && pod.role == Role::Instance && pod.container_running
                };
                if let Some(pod) = self.pods.iter_mut().find(mine) {
                    pod.ready = false;
                    pod.ready_since = Some(Timestamp::from_second(now.as_second()).unwrap());
                    pod.container_running = false;
                    pod.restarts += 1;
                    pod.exit = Some(ContainerExit {
                        code: 137,
                        reason: "OOMKilled".to_owned(),
                        at: pod.ready_since,
                    });
                }
            }
            Event::Unready(n) => {
                let mine = |pod: &&mut ObservedPod| {
                    pod.unit == unit_name(*n) && pod.role == Role::Instance && pod.ready
                };
                if let Some(pod) = self.pods.iter_mut().find(mine) {
                    pod.ready = false;
                    pod.ready_since = Some(Timestamp::from_second(now.as_second()).unwrap());
                }
            }
            Event::DeleteByHand(n) => {
                let is_theirs = |pod: &ObservedPod| pod.unit == unit_name(*n) && pod.role.uses_place();
                let Some(at) = self.pods.iter().position(is_theirs) else { return };
                if self.pods[at].has_run_finalizer || self.pods[at].role == Role::Instance {
                    self.pods[at].deleting = true;
                } else {
                    self.remove_pod(at, *n);
                }
            }
            Event::DeleteByForce(n) => {
                self.pods.retain(|pod| pod.unit != unit_name(*n));
                self.pod_is_gone(*n);
            }
            Event::Resize(n) => self.change_spec(*n, |unit| {
                if unit.spec.instance.is_none() {
                    let is_small = unit.spec.resources.cpu == "4";
                    unit.spec.resources.cpu = if is_small { "8" } else { "4" }.to_owned();
                }
            }),
            Event::DeleteClaim(n, by_force) => {
                let found = self.claims_of(*n).next().map(|claim| claim.observed.uid.clone());
                if let Some(uid) = found {
                    self.delete_claim(&uid, *by_force);
                }
            }
            Event::Controller => self.controller(),
            Event::NodeDown(n) => {
                let node = self.nodes.get_mut(&node_name(*n)).unwrap();
                if node.ready {
                    *node = ObservedNode { ready: false, since: Some(now), ..node.clone() };
                    let at = Timestamp::from_second(now.as_second()).unwrap();
                    for pod in self.pods.iter_mut().filter(|pod| pod.node == Some(node_name(*n)) && pod.ready)
                    {
                        pod.ready = false;
                        pod.ready_since = Some(at);
                    }
                }
            }
            Event::NodeUp(n) => {
                let node = self.nodes.get_mut(&node_name(*n)).unwrap();
                let since = node.since.filter(|_| !node.ready);
                if since.is_some_and(|since| {
                    now.duration_since(since).unsigned_abs() >= self.settings.node_lost()
                }) {
                    let left = self.pods.iter().filter(|pod| pod.deleting && pod.node == Some(node_name(*n)));
                    self.abandoned.extend(left.map(|pod| pod.uid.clone()));
                }
                *node = ObservedNode { ready: true, since: Some(now), ..node.clone() };
            }
            Event::Cordon(n, cordoned) => self.nodes.get_mut(&node_name(*n)).unwrap().cordoned = *cordoned,
            Event::AddThief if self.thieves.len() < 3 => self.thieves.push(None),
            Event::AddThief => {}
            Event::ThiefLeaves => drop(self.thieves.pop()),
            Event::Wait(seconds) => {
                self.now = now + SignedDuration::from_secs(*seconds);
                // a scheduler that follows the cluster learns of a change in the time that the operator gives it
                let unseen = self.now.duration_since(self.seen_at).unsigned_abs();
                if unseen >= self.settings.hand_off() {
                    self.inform_scheduler();
                }
                let limit = self.settings.scheduler_return();
                if self
                    .scheduler_lost_at
                    .is_some_and(|at| self.now.duration_since(at).unsigned_abs() >= limit)
                {
                    self.relist();
                }
            }
            Event::RemoveUnit(n) => {
                if let Some(unit) = &mut self.units[*n] {
                    unit.metadata.deletion_timestamp = Some(Time(now));
                    if unit.metadata.finalizers.is_none() {
                        self.units[*n] = None;
                        self.pods.retain(|pod| pod.unit != unit_name(*n));
                        self.claims.retain(|claim| claim.observed.unit != unit_name(*n));
                    }
                }
            }
        }
    }
}
