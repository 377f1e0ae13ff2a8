//! The part of a plan that writes the outcome into the status.

use crds::{Instance, InstanceReason, InstanceStatus, TenantCodeReason, UnitState, names};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::action::Plan;
use super::attempt::Attempt;
use super::planner::{Planner, Ready};
use super::status::whole_seconds;
use super::{pods, status};
use crate::observation::ObservedPod;

impl<'a> Planner<'a> {
    /// Completes the status and returns the plan.
    pub(super) fn report(mut self) -> Plan {
        let wanted =
            self.unit.spec.instance.as_ref().filter(|_| self.unit.metadata.deletion_timestamp.is_none());
        let wanted = wanted.filter(|wanted| !status::has_failed(&self.plan.status, wanted));
        let live = self.live_pod_of(wanted);
        let known = self.plan.status.instance.take();
        self.plan.status.instance = match (wanted, live) {
            (Some(wanted), live) => Some(self.wanted_status(wanted, live, known)),
            (None, Some(pod)) => Some(known.unwrap_or_else(|| observed_status(pod))),
            (None, None) => None,
        };
        self.plan.status.state = match (&self.plan.status.instance, live) {
            (Some(instance), Some(_)) if instance.running_since.is_some() => UnitState::Running,
            (Some(_), Some(_)) => UnitState::Ready,
            (Some(_), None) if self.takes_over => UnitState::Ready,
            _ => UnitState::Init,
        };
        self.requeue_when_down();
        self.report_gpus();
        self.report_conditions(wanted, live);
        self.plan.status.observed_generation = self.unit.metadata.generation;
        self.plan
    }

    /// The pod that the status describes: the wanted one, else any live one.
    fn live_pod_of(&self, wanted: Option<&Instance>) -> Option<&'a ObservedPod> {
        let current = wanted.and_then(|wanted| self.pod_of(wanted));
        let current = current.and_then(|current| self.live_instances().find(|pod| pod.uid == current.uid));
        current.or_else(|| self.live_instances().next())
    }

    fn report_gpus(&mut self) {
        let node = &self.plan.status.node;
        let on_node =
            self.snapshot.pods.iter().filter(|pod| pod.node.is_some() && pod.node == *node && !pod.deleting);
        let uuids = on_node.map(|pod| &pod.gpu_uuids).find(|uuids| !uuids.is_empty());
        match uuids.or_else(|| self.devices_on_node()) {
            Some(uuids) => self.plan.status.gpu_uuids.clone_from(uuids),
            None if *node != self.previous.node => self.plan.status.gpu_uuids.clear(),
            None => {}
        }
    }

    fn report_conditions(&mut self, wanted: Option<&Instance>, live: Option<&ObservedPod>) {
        let ready = match (wanted, live, &self.unit.spec.instance) {
            (Some(_), ..) => self.ready.take().unwrap_or_else(|| Ready::new(InstanceReason::Starting, "")),
            (None, Some(_), _) => Ready::new(InstanceReason::Stopping, "the instance is terminating"),
            (None, None, Some(_)) => {
                let failure = self.plan.status.last_failure.as_ref();
                let message = failure.map(|failure| format!("{}: {}", failure.reason, failure.message));
                Ready::new(InstanceReason::StartFailed, message.unwrap_or_default())
            }
            (None, None, None) => Ready::new(InstanceReason::Idle, ""),
        };
        let (runs_tenant_code, reason, message) = match self.tenant_code() {
            Ok(isolation) => match isolation.runtime_class {
                Some(class) => (true, TenantCodeReason::Isolated, format!("RuntimeClass {class}")),
                None => (true, TenantCodeReason::DefaultRuntimeAccepted, String::new()),
            },
            Err(refusal) => (false, refusal.reason, refusal.message),
        };
        let mut conditions = status::Conditions {
            all: &mut self.plan.status.conditions,
            generation: self.unit.metadata.generation,
            now: self.snapshot.now,
        };
        if let Some(held) = self.held.take() {
            conditions.set(names::CONDITION_HELD, held.status, held.reason.as_str(), &held.message);
        }
        let is_running = ready.reason == InstanceReason::Running;
        conditions.set(names::CONDITION_INSTANCE_READY, is_running, ready.reason.as_str(), &ready.message);
        conditions.set(names::CONDITION_TENANT_CODE, runs_tenant_code, reason.as_str(), &message);
    }

    fn wanted_status(
        &self,
        wanted: &Instance,
        live: Option<&ObservedPod>,
        known: Option<InstanceStatus>,
    ) -> InstanceStatus {
        let attempt = Attempt::from(wanted);
        let known = known.filter(|known| Attempt::from(known) == attempt);
        // while an earlier pod of the attempt terminates, the status describes that one
        let described = live.filter(|pod| Attempt::from(*pod) == attempt);
        let current = described.filter(|pod| pod.restart == wanted.restart);
        let last = known.as_ref().filter(|known| known.restart == wanted.restart);
        let pod_name = described.map(|pod| &pod.name).or(self.created_pod.as_ref());
        let pod_name = pod_name.or(last.map(|known| &known.pod_name)).cloned().unwrap_or_default();
        let restart = described.map_or(wanted.restart, |pod| pod.restart);
        let same_pod = known.as_ref().filter(|known| known.pod_name == pod_name);
        let ready = current.filter(|pod| pod.ready && !pod.deleting && !self.is_down(pod));
        let open_run = same_pod.and_then(|known| known.running_since.clone());
        let running_since = open_run.or_else(|| self.new_run(wanted, ready?));
        let known_ip = || same_pod.and_then(|known| known.pod_ip.clone());
        InstanceStatus {
            id: wanted.id.clone(),
            attempt: wanted.attempt,
            restart,
            namespace: described
                .map_or_else(|| pods::instance_namespace(self.unit, wanted), |pod| pod.namespace.clone()),
            pod_ip: ready.and_then(|pod| pod.ip.clone()).or_else(known_ip),
            pod_name,
            started_at: known.as_ref().filter(|known| known.restart == restart).map_or_else(
                || whole_seconds(described.map_or(self.snapshot.now, |pod| pod.created_at)),
                |known| known.started_at.clone(),
            ),
            running_since,
            restarts: current.map_or_else(
                || known.as_ref().map_or(wanted.restart, |known| known.restarts),
                |pod| wanted.restart.saturating_add(pod.restarts),
            ),
            image_pull_failed_at: described.and_then(|pod| self.image_pull_failed_at(pod)).map(whole_seconds),
        }
    }

    /// The start of a new run in a ready pod: not before the end of the last one, and not in the second in which an
    /// earlier run of the attempt began, since attempt and start identify a run.
    fn new_run(&self, wanted: &Instance, ready: &ObservedPod) -> Option<Time> {
        let since = ready.ready_since?;
        let last_run = self.plan.status.last_run.as_ref().filter(|run| run.instance_id == wanted.id);
        let Some(run) = last_run else { return Some(whole_seconds(since)) };
        let since = since.max(run.ended_at.0);
        let apart =
            if run.attempt == wanted.attempt { SignedDuration::from_secs(1) } else { SignedDuration::ZERO };
        let taken = run.running_since.0.saturating_add(apart).unwrap_or(since);
        Some(whole_seconds(since.max(taken)))
    }
}

/// The status of an instance of which only the pod is known.
fn observed_status(pod: &ObservedPod) -> InstanceStatus {
    let since: Option<Timestamp> = pod.ready_since.filter(|_| pod.ready);
    InstanceStatus {
        id: pod.instance.clone(),
        attempt: pod.attempt,
        restart: pod.restart,
        namespace: pod.namespace.clone(),
        pod_name: pod.name.clone(),
        pod_ip: None,
        started_at: whole_seconds(pod.created_at),
        running_since: since.map(Time),
        restarts: pod.restarts,
        image_pull_failed_at: None,
    }
}
