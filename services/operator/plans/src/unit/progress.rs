//! The part of a plan that follows the instance's pod on its node: ready, failed, or still starting.

use crds::{FailureReason, HeldReason, Instance, InstanceReason};
use jiff::Timestamp;

use super::action::{Action, LogSource};
use super::planner::{Held, Planner, Ready};
use super::status;
use crate::observation::{ObservedPod, Phase};

/// Prefixes of the kubelet's reasons for rejecting a pod that the scheduler had bound: the place was not free.
const NOT_ADMITTED: [&str; 4] = ["OutOf", "UnexpectedAdmissionError", "NodeAffinity", "Preempting"];

/// The kubelet's reasons for a pull that failed and is tried again.
const IMAGE_PULL_ERRORS: [&str; 3] = ["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"];

/// Messages of runtimes and registries that deny a pull.
const PULL_DENIALS: [&str; 7] = [
    "401 unauthorized",
    "403 forbidden",
    "unauthorized: ",
    "authorization failed",
    "authentication required",
    "access denied",
    "requested access to the resource is denied",
];

/// Message of an instance that is starting.
pub(super) const NOT_READY_YET: &str = "the readiness probe has not succeeded yet";

impl<'a> Planner<'a> {
    /// Follows the pod of the instance on its node.
    pub(super) fn plan_progress(&mut self, wanted: &'a Instance, pod: &'a ObservedPod) {
        let was_ready = status::was_ready(&self.plan.status, pod);
        if pod.phase == Phase::Ended {
            self.plan_ended(wanted, pod, was_ready);
        } else if was_ready {
            self.report_running(pod);
        } else if let Some((reason, message)) = start_error(pod) {
            self.fail(wanted, reason, &message, None);
        } else if let Some(failed_at) = self.image_pull_failed_at(pod) {
            self.retry_image_pull(wanted, pod, failed_at);
        } else if has_exited(pod) {
            let message = format!("the container exited before it was ready: {}", exit_text(pod));
            let previous = pod.restarts > 0 && !pod.container_ended;
            let log = LogSource { pod: pod.reference(), previous };
            self.fail(wanted, FailureReason::ContainerExited, &message, Some(log));
        } else if pod.ready {
            self.report_running(pod);
        } else {
            self.plan_starting(wanted, pod);
        }
    }

    /// When pulling the image first failed in this pod, while the container waits for it.
    pub(super) fn image_pull_failed_at(&self, pod: &ObservedPod) -> Option<Timestamp> {
        pod.waiting.as_ref().filter(|waiting| IMAGE_PULL_ERRORS.contains(&waiting.reason.as_str()))?;
        let known = self.previous.instance.as_ref().filter(|known| known.pod_name == pod.name);
        let known = known.and_then(|known| known.image_pull_failed_at.as_ref());
        Some(known.map_or(self.snapshot.now, |at| at.0))
    }

    /// The kubelet could not pull the image, and will try again. The cause may be temporary.
    fn retry_image_pull(&mut self, wanted: &'a Instance, pod: &'a ObservedPod, failed_at: Timestamp) {
        let error = pod.waiting.as_ref().map(ToString::to_string).unwrap_or_default();
        let (reason, error) = pull_failure(error);
        let since = failed_at.max(self.snapshot.observed_since);
        let remaining = self.remaining(since, self.settings.image_pull());
        if remaining.is_zero() {
            return self.fail(wanted, reason, &error, None);
        }
        self.requeue_after(remaining);
        let message = format!("the image could not be pulled and is tried again: {error}");
        self.ready = Some(Ready::new(InstanceReason::Starting, message));
        let since = self.started_at(wanted);
        self.fail_after(wanted, since, reason, &error, None);
    }

    /// The container has not been ready yet.
    fn plan_starting(&mut self, wanted: &'a Instance, pod: &'a ObservedPod) {
        self.ready = Some(Ready::new(InstanceReason::Starting, NOT_READY_YET));
        let since = self.started_at(wanted);
        let limit = wanted.start_timeout_seconds;
        if pod.container_running {
            let message =
                format!("the readiness probe of the running container did not succeed within {limit} s");
            let log = LogSource { pod: pod.reference(), previous: false };
            self.fail_after(wanted, since, FailureReason::ProbeFailed, &message, Some(log));
        } else {
            let waits = pod.waiting.as_ref().map(|waiting| format!(" ({})", waiting.reason));
            let message =
                format!("the container was not running within {limit} s{}", waits.unwrap_or_default());
            self.fail_after(wanted, since, FailureReason::StartTimeout, &message, None);
        }
    }

    /// The container has been ready before.
    fn report_running(&mut self, pod: &ObservedPod) {
        self.ready = Some(if pod.ready {
            Ready::new(InstanceReason::Running, "")
        } else if pod.container_running {
            Ready::new(InstanceReason::ProbeFailing, "the readiness probe fails")
        } else {
            let message = format!("the container exited and is being restarted: {}", exit_text(pod));
            Ready::new(InstanceReason::ContainerRestarting, message)
        });
    }

    /// All containers of the pod have ended, although the instance is desired.
    fn plan_ended(&mut self, wanted: &'a Instance, pod: &'a ObservedPod, was_ready: bool) {
        let status_reason = pod.status_reason.clone().unwrap_or_default();
        let reason = status_reason.reason.as_str();
        let not_admitted = is_not_admitted(pod);
        if was_ready || not_admitted {
            // takes its place back first, then creates another pod
            self.plan.before_status.push(Action::DeletePod { pod: pod.reference(), grace: None });
            self.place_is_used = not_admitted;
            self.hold_place(None);
            let why = match reason {
                "" => "the pod ended and is being created again".to_owned(),
                _ => format!("the pod ended ({status_reason}) and is being created again"),
            };
            self.ready = Some(Ready::new(InstanceReason::WaitingForPlace, why.clone()));
            if not_admitted {
                let since = self.started_at(wanted);
                self.held = Some(Held::no(HeldReason::PlaceLost, why.clone()));
                self.fail_after(wanted, since, FailureReason::NoPlace, &why, None);
            }
        } else if reason.is_empty() {
            let message = format!("the container exited before it was ready: {}", exit_text(pod));
            let log = LogSource { pod: pod.reference(), previous: false };
            self.fail(wanted, FailureReason::ContainerExited, &message, Some(log));
        } else {
            self.fail(wanted, FailureReason::PodRejected, &status_reason.to_string(), None);
        }
    }
}

/// The reason for the kubelet's error of a pull, with the error in words for the user.
fn pull_failure(error: String) -> (FailureReason, String) {
    let words = error.to_lowercase();
    if PULL_DENIALS.iter().any(|denial| words.contains(denial)) {
        let message = format!(
            "the registry does not let the image be pulled: it asks for a registry credential, or refuses the one of the \
             instance ({error})"
        );
        return (FailureReason::ImagePullDenied, message);
    }
    (FailureReason::ImagePullFailed, error)
}

/// Whether the kubelet has rejected the pod because its place was not free.
pub(super) fn is_not_admitted(pod: &ObservedPod) -> bool {
    let reason = pod.status_reason.as_ref().map(|status| status.reason.as_str());
    reason.is_some_and(|reason| NOT_ADMITTED.iter().any(|prefix| reason.starts_with(prefix)))
}

/// Whether the container has exited at least once.
fn has_exited(pod: &ObservedPod) -> bool {
    let backs_off = pod.waiting.as_ref().is_some_and(|waiting| waiting.reason == "CrashLoopBackOff");
    pod.restarts > 0 || pod.container_ended || backs_off
}

/// Why the container cannot be started with this pod, if the kubelet reports that.
fn start_error(pod: &ObservedPod) -> Option<(FailureReason, String)> {
    let waiting = pod.waiting.as_ref()?;
    let reason = match waiting.reason.as_str() {
        "ErrImageNeverPull" | "ImageInspectError" | "SignatureValidationFailed" => {
            FailureReason::ImagePullFailed
        }
        "InvalidImageName" => FailureReason::InvalidImageName,
        "CreateContainerConfigError" | "CreateContainerError" | "RunContainerError" | "StartError" => {
            FailureReason::ContainerConfigError
        }
        _ => return None,
    };
    Some((reason, waiting.to_string()))
}

fn exit_text(pod: &ObservedPod) -> String {
    match &pod.exit {
        Some(exit) => format!("exit code {} ({})", exit.code, exit.reason),
        None => "exit code unknown".to_owned(),
    }
}
