//! The part of a plan that reads how an instance fares, and says it in the status.

use crds::{
    FailureReason, HeldReason, Instance, InstanceReason, InstanceStatus, RunEndReason, UnitState, names,
};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::action::{Action, LogOf};
use super::plan::{Plan, Planner};
use super::{pods, status};
use crate::view::{Phase, PodView};

/// The kubelet's words for refusing a pod that the scheduler had placed: the place was not free.
const NOT_ADMITTED: [&str; 4] = ["OutOf", "UnexpectedAdmissionError", "NodeAffinity", "Preempting"];

impl<'a> Planner<'a> {
    /// Judges the instance's pod on its node.
    pub(super) fn judge(&mut self, wanted: &'a Instance, pod: &'a PodView) {
        let was_ready = status::was_ready(&self.plan.status, pod);
        if pod.phase == Phase::Ended {
            return self.judge_ended(wanted, pod, was_ready);
        }
        if was_ready {
            return self.judge_running(pod);
        }
        let log = |previous| Some(LogOf { pod: pod.at(), previous });
        if let Some((word, message)) = &pod.waiting
            && let Some(reason) = cannot_start(word)
        {
            let message = if message.is_empty() { word.clone() } else { format!("{word}: {message}") };
            return self.fail(wanted, reason, &message, None);
        }
        let crashed = pod.waiting.as_ref().is_some_and(|(word, _)| word == "CrashLoopBackOff");
        if pod.restarts > 0 || pod.container_ended || crashed {
            let message = format!("the container ended before it was ready: {}", ended(pod));
            return self.fail(
                wanted,
                FailureReason::ContainerExited,
                &message,
                log(pod.restarts > 0 && !pod.container_ended),
            );
        }
        if pod.ready {
            return self.judge_running(pod);
        }
        self.instance = Some((InstanceReason::Starting, "the readiness probe has not passed yet".to_owned()));
        let since = self.started_at(wanted);
        let limit = wanted.start_timeout_seconds;
        if pod.container_running {
            let message =
                format!("the container ran but did not answer its readiness probe within {limit} s");
            self.fail_after(wanted, since, FailureReason::ProbeFailed, &message, log(false));
        } else {
            let waits = pod.waiting.as_ref().map_or("", |(word, _)| word.as_str());
            let message = format!("the container did not run within {limit} s ({waits})");
            self.fail_after(wanted, since, FailureReason::StartTimeout, &message, None);
        }
    }

    fn judge_running(&mut self, pod: &PodView) {
        if pod.ready {
            self.instance = Some((InstanceReason::Running, String::new()));
        } else if pod.container_running {
            self.instance =
                Some((InstanceReason::ProbeFailing, "the readiness probe does not pass any more".to_owned()));
        } else {
            let message = format!("the container ended and is being started again: {}", ended(pod));
            self.instance = Some((InstanceReason::ContainerRestarting, message));
        }
    }

    /// A pod whose containers have ended for good, though nobody asked for it.
    fn judge_ended(&mut self, wanted: &'a Instance, pod: &PodView, was_ready: bool) {
        let (word, message) = pod.refusal.clone().unwrap_or_default();
        let not_admitted = NOT_ADMITTED.iter().any(|refusal| word.starts_with(refusal));
        if was_ready || not_admitted {
            // make it anew: its place first, then the pod
            self.plan.first.push(Action::DeletePod { pod: pod.at(), grace: None });
            self.hold(None);
            let why = format!("the pod ended ({word}: {message}) and is being made again");
            self.instance = Some((InstanceReason::WaitingForPlace, why.clone()));
            if not_admitted {
                let since = self.started_at(wanted);
                self.held = Some((false, HeldReason::PlaceLost, why.clone()));
                self.fail_after(wanted, since, FailureReason::NoPlace, &why, None);
            }
            return;
        }
        if word.is_empty() {
            let message = format!("the container ended before it was ready: {}", ended(pod));
            return self.fail(
                wanted,
                FailureReason::ContainerExited,
                &message,
                Some(LogOf { pod: pod.at(), previous: false }),
            );
        }
        self.fail(wanted, FailureReason::PodRejected, &format!("{word}: {message}"), None);
    }

    /// Closes the open run when its evidence has ended.
    pub(super) fn close_runs(&mut self) {
        let Some(own) = &self.plan.status.instance else { return };
        let Some(since) = own.running_since.as_ref().map(|since| since.0) else { return };
        let now = self.observed.now;
        let wanted =
            self.unit.spec.instance.as_ref().filter(|_| self.unit.metadata.deletion_timestamp.is_none());
        let wanted = wanted.filter(|wanted| {
            wanted.id == own.id && wanted.attempt == own.attempt && !status::has_failed(self.before, wanted)
        });
        let asked = match wanted {
            None => Some(RunEndReason::Stopped),
            Some(wanted) if wanted.restart > own.restart => Some(RunEndReason::Restarted),
            Some(_) => None,
        };
        let found = self.instances().find(|pod| pod.name == own.pod_name && pod.namespace == own.namespace);
        let Some(pod) = found else {
            let on_lost_node = self
                .before
                .condition(names::CONDITION_HELD)
                .is_some_and(|held| held.reason == HeldReason::NodeLost.as_str());
            let reason =
                asked.unwrap_or(if on_lost_node { RunEndReason::NodeLost } else { RunEndReason::PodDeleted });
            return status::close_run(&mut self.plan.status, now, reason);
        };
        let fell = pod.ready_since.filter(|_| !pod.ready);
        let exited = pod.exit.as_ref().and_then(|exit| exit.at).filter(|at| *at >= since);
        let node = pod.node.as_ref().and_then(|node| self.observed.nodes.get(node));
        let node_down = node.is_none_or(|node| !node.ready);
        let (ended_at, reason) = if self.is_lost(pod) || (node_down && !pod.ready && !pod.is_over()) {
            (fell.or(node.and_then(|node| node.since)).unwrap_or(now), RunEndReason::NodeLost)
        } else if pod.is_over() {
            let with_node =
                matches!(pod.disruption.as_deref(), Some("DeletionByPodGC" | "DeletionByTaintManager"));
            let by_itself = if with_node {
                RunEndReason::NodeLost
            } else if pod.deleting || pod.refusal.is_some() {
                RunEndReason::PodDeleted
            } else {
                RunEndReason::ContainerExited
            };
            (exited.or(fell).unwrap_or(now), asked.unwrap_or(by_itself))
        } else if pod.deleting {
            return;
        } else if !pod.ready {
            match exited {
                Some(at) => (at, RunEndReason::ContainerExited),
                None => (fell.unwrap_or(now), RunEndReason::ProbeFailed),
            }
        } else if let Some(again) = pod.ready_since.filter(|again| *again > since) {
            // fell and rose unseen
            (exited.filter(|at| *at <= again).unwrap_or(again), RunEndReason::ContainerExited)
        } else {
            return;
        };
        status::close_run(&mut self.plan.status, ended_at, reason);
    }

    /// Writes the verdicts into the status.
    pub(super) fn finish(mut self) -> Plan {
        let now = self.observed.now;
        let generation = self.unit.metadata.generation;
        let wanted =
            self.unit.spec.instance.as_ref().filter(|_| self.unit.metadata.deletion_timestamp.is_none());
        let wanted = wanted.filter(|wanted| !status::has_failed(&self.plan.status, wanted));
        let live: Option<&PodView> = match wanted {
            Some(wanted) => {
                let name = pods::instance_pod_name(wanted);
                let mut all = self.live_instances();
                all.find(|pod| pod.name == name).or_else(|| self.live_instances().next())
            }
            None => self.live_instances().next(),
        };
        let own = self.plan.status.instance.take();
        self.plan.status.instance = match (wanted, live) {
            (Some(wanted), live) => Some(self.wanted_status(wanted, live, own)),
            (None, Some(pod)) => Some(own.unwrap_or_else(|| found_status(pod))),
            (None, None) => None,
        };
        let devices = self.devices();
        let after = &mut self.plan.status;
        after.state = match (&after.instance, live) {
            (Some(instance), Some(_)) if instance.running_since.is_some() => UnitState::Running,
            (Some(_), Some(_)) => UnitState::Ready,
            _ => UnitState::Init,
        };
        let uuids = self
            .observed
            .pods
            .iter()
            .filter(|pod| pod.node.is_some() && pod.node == after.node && !pod.deleting);
        let uuids = uuids.map(|pod| &pod.gpu_uuids).find(|uuids| !uuids.is_empty());
        match uuids.or(devices) {
            Some(uuids) => after.gpu_uuids.clone_from(uuids),
            None if after.node != self.before.node => after.gpu_uuids.clear(),
            None => {}
        }
        if let Some((held, reason, message)) = self.held.take() {
            status::set_condition(
                &mut after.conditions,
                names::CONDITION_HELD,
                held,
                reason.as_str(),
                &message,
                generation,
                now,
            );
        }
        let (reason, message) = match (wanted, live, &self.unit.spec.instance) {
            (Some(_), ..) => self.instance.take().unwrap_or((InstanceReason::Starting, String::new())),
            (None, Some(_), _) => (InstanceReason::Stopping, "the instance is being ended".to_owned()),
            (None, None, Some(_)) => {
                let failure = after
                    .last_failure
                    .as_ref()
                    .map(|failure| format!("{}: {}", failure.reason, failure.message));
                (InstanceReason::StartFailed, failure.unwrap_or_default())
            }
            (None, None, None) => (InstanceReason::Idle, String::new()),
        };
        let ready = reason == InstanceReason::Running;
        status::set_condition(
            &mut after.conditions,
            names::CONDITION_INSTANCE_READY,
            ready,
            reason.as_str(),
            &message,
            generation,
            now,
        );
        after.observed_generation = generation;
        self.plan
    }

    fn wanted_status(
        &self,
        wanted: &Instance,
        live: Option<&PodView>,
        own: Option<InstanceStatus>,
    ) -> InstanceStatus {
        let own = own.filter(|own| own.id == wanted.id && own.attempt == wanted.attempt);
        let name = pods::instance_pod_name(wanted);
        let current = live.filter(|pod| pod.name == name);
        // while an earlier pod of the attempt ends, the status speaks of that one
        let earlier = live.filter(|pod| pod.instance == wanted.id && pod.attempt == wanted.attempt);
        let speaking_pod = current.or(earlier);
        let speaking = speaking_pod.map_or_else(|| name.clone(), |pod| pod.name.clone());
        let restart = speaking_pod.map_or(wanted.restart, |pod| pod.restart);
        let same_pod = own.as_ref().filter(|own| own.pod_name == speaking);
        let last_end = self
            .plan
            .status
            .last_run
            .as_ref()
            .filter(|run| run.instance_id == wanted.id)
            .map(|run| run.ended_at.0);
        let ready = current.filter(|pod| pod.ready && !pod.deleting && !self.is_lost(pod));
        let open = same_pod.and_then(|own| own.running_since.clone());
        let running_since = open.or_else(|| {
            let since = ready?.ready_since?;
            Some(status::whole(last_end.map_or(since, |end: Timestamp| since.max(end))))
        });
        let seen_ip = || same_pod.and_then(|own| own.pod_ip.clone());
        InstanceStatus {
            id: wanted.id.clone(),
            attempt: wanted.attempt,
            restart,
            namespace: speaking_pod
                .map_or_else(|| pods::instance_namespace(self.unit, wanted), |pod| pod.namespace.clone()),
            pod_name: speaking,
            pod_ip: ready.and_then(|pod| pod.ip.clone()).or_else(seen_ip),
            started_at: own.as_ref().filter(|own| own.restart == restart).map_or_else(
                || status::whole(speaking_pod.map_or(self.observed.now, |pod| pod.created_at)),
                |own| own.started_at.clone(),
            ),
            running_since,
            restarts: current.map_or_else(
                || own.as_ref().map_or(wanted.restart, |own| own.restarts),
                |pod| wanted.restart.saturating_add(pod.restarts),
            ),
        }
    }
}

/// The status of an instance whose pod is all that is known of it.
fn found_status(pod: &PodView) -> InstanceStatus {
    InstanceStatus {
        id: pod.instance.clone(),
        attempt: pod.attempt,
        restart: pod.restart,
        namespace: pod.namespace.clone(),
        pod_name: pod.name.clone(),
        pod_ip: None,
        started_at: status::whole(pod.created_at),
        running_since: pod.ready_since.filter(|_| pod.ready).map(Time),
        restarts: pod.restarts,
    }
}

/// The kubelet's words for a container that cannot be started as it stands.
fn cannot_start(word: &str) -> Option<FailureReason> {
    match word {
        "ErrImagePull"
        | "ImagePullBackOff"
        | "ErrImageNeverPull"
        | "RegistryUnavailable"
        | "ImageInspectError"
        | "SignatureValidationFailed" => Some(FailureReason::ImagePullFailed),
        "InvalidImageName" => Some(FailureReason::InvalidImageName),
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" | "StartError" => {
            Some(FailureReason::ContainerConfigError)
        }
        _ => None,
    }
}

fn ended(pod: &PodView) -> String {
    pod.exit.as_ref().map_or_else(
        || "no exit code is known".to_owned(),
        |exit| format!("exit code {} ({})", exit.code, exit.reason),
    )
}
