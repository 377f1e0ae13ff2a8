//! The part of a plan that closes the open run once its end is observed.

use crds::{HeldReason, Instance, RunEndReason, names};
use jiff::Timestamp;

use super::attempt::Attempt;
use super::planner::Planner;
use super::status;
use crate::observation::ObservedPod;

/// The end of a run.
struct RunEnd {
    at: Timestamp,
    /// Neither the container runtime nor the kubelet has reported the time: the run ended by then.
    unseen: bool,
    reason: RunEndReason,
}

impl RunEnd {
    fn seen(at: Timestamp, reason: RunEndReason) -> Self {
        Self { at, unseen: false, reason }
    }

    fn unseen(by: Timestamp, reason: RunEndReason) -> Self {
        Self { at: by, unseen: true, reason }
    }
}

impl Planner<'_> {
    /// Closes the open run if its pod no longer proves that it continues.
    pub(super) fn close_run(&mut self) {
        let Some(known) = &self.plan.status.instance else { return };
        let Some(since) = known.running_since.as_ref().map(|since| since.0) else { return };
        let requested = self.requested_end();
        let pod = self.instances().find(|pod| pod.name == known.pod_name && pod.namespace == known.namespace);
        let end = match pod {
            Some(pod) => self.end_of_run(pod, since, requested),
            None => {
                let reason = requested.unwrap_or_else(|| self.reason_of_missing_pod());
                Some(RunEnd::unseen(self.snapshot.now, reason))
            }
        };
        if let Some(end) = end {
            status::close_run(&mut self.plan.status, end.at, end.unseen, end.reason);
        }
    }

    /// The reason, if the run was asked to end.
    fn requested_end(&self) -> Option<RunEndReason> {
        let known = self.plan.status.instance.as_ref()?;
        let is_same = |wanted: &&Instance| {
            Attempt::from(*wanted) == Attempt::from(known) && !status::has_failed(self.previous, wanted)
        };
        let wanted =
            self.unit.spec.instance.as_ref().filter(|_| self.unit.metadata.deletion_timestamp.is_none());
        match wanted.filter(is_same) {
            None => Some(RunEndReason::Stopped),
            Some(wanted) if wanted.restart > known.restart => Some(RunEndReason::Restarted),
            Some(_) => None,
        }
    }

    fn reason_of_missing_pod(&self) -> RunEndReason {
        let held = self.previous.condition(names::CONDITION_HELD);
        if held.is_some_and(|held| held.reason == HeldReason::NodeLost.as_str()) {
            RunEndReason::NodeLost
        } else {
            RunEndReason::PodDeleted
        }
    }

    /// The end of the run since `since` in this pod; `None` if it continues, or has not ended yet.
    fn end_of_run(
        &self,
        pod: &ObservedPod,
        since: Timestamp,
        requested: Option<RunEndReason>,
    ) -> Option<RunEnd> {
        let now = self.snapshot.now;
        let unready_since = pod.ready_since.filter(|_| !pod.ready);
        let exited = pod.exit.as_ref().and_then(|exit| exit.at).filter(|at| *at >= since);
        let node = pod.node.as_ref().and_then(|node| self.snapshot.nodes.get(node));
        let node_down = node.is_none_or(|node| !node.ready);
        if self.is_down(pod) || (node_down && !pod.ready && !pod.has_ended()) {
            let by = unready_since.or(node.and_then(|node| node.since)).unwrap_or(now);
            return Some(RunEnd::unseen(by, RunEndReason::NodeLost));
        }
        if pod.has_ended() {
            let reason = requested.unwrap_or_else(|| reason_of_ended_pod(pod));
            return Some(match exited.or(unready_since) {
                Some(at) => RunEnd::seen(at, reason),
                None => RunEnd::unseen(now, reason),
            });
        }
        if pod.deleting {
            return None;
        }
        if !pod.ready {
            return Some(match exited {
                Some(at) => RunEnd::seen(at, RunEndReason::ContainerExited),
                None if pod.container_running => {
                    RunEnd::seen(unready_since.unwrap_or(now), RunEndReason::ProbeFailed)
                }
                None => RunEnd::unseen(unready_since.unwrap_or(now), RunEndReason::ContainerExited),
            });
        }
        // ready again: the end was not observed
        let again = pod.ready_since.filter(|again| *again > since)?;
        Some(match exited.filter(|at| *at <= again) {
            Some(at) => RunEnd::seen(at, RunEndReason::ContainerExited),
            None => RunEnd::unseen(again, RunEndReason::ContainerExited),
        })
    }
}

/// Why a pod ended without a request.
fn reason_of_ended_pod(pod: &ObservedPod) -> RunEndReason {
    if matches!(pod.disruption.as_deref(), Some("DeletionByPodGC" | "DeletionByTaintManager")) {
        RunEndReason::NodeLost
    } else if pod.deleting || pod.status_reason.is_some() {
        RunEndReason::PodDeleted
    } else {
        RunEndReason::ContainerExited
    }
}
