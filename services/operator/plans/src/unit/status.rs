//! The status of a unit: failures and the record of runs, as pure changes of a value.

use crds::{FailureReason, GpuUnitStatus, Instance, LastFailure, Run, RunEndReason};
use jiff::Timestamp;

use super::attempt::Attempt;
pub use crate::conditions::{Conditions, whole_seconds};
use crate::observation::ObservedPod;

/// Number of ended runs that a status keeps.
const RUNS_KEPT: usize = 8;
/// Longest message of a failure, in characters.
const MESSAGE_MAX: usize = 1024;

/// Whether this attempt has failed. It is not retried.
#[must_use]
pub fn has_failed(status: &GpuUnitStatus, wanted: &Instance) -> bool {
    status.last_failure.as_ref().is_some_and(|failure| Attempt::from(failure) == Attempt::from(wanted))
}

/// Records that the attempt has failed.
pub fn record_failure(
    status: &mut GpuUnitStatus,
    wanted: &Instance,
    reason: FailureReason,
    message: &str,
    now: Timestamp,
) {
    status.last_failure = Some(LastFailure {
        instance_id: wanted.id.clone(),
        attempt: wanted.attempt,
        reason: reason.as_str().to_owned(),
        message: message.chars().take(MESSAGE_MAX).collect(),
        log_tail: String::new(),
        at: whole_seconds(now),
    });
}

/// Whether exactly this pod has been ready before: a run of its attempt began when it existed.
#[must_use]
pub fn was_ready(status: &GpuUnitStatus, pod: &ObservedPod) -> bool {
    let attempt = Attempt::from(pod);
    let known = status.instance.as_ref().filter(|known| Attempt::from(*known) == attempt);
    let open = known.and_then(|known| known.running_since.as_ref());
    let last = status.last_run.as_ref().filter(|run| Attempt::from(*run) == attempt);
    let last = last.map(|run| &run.running_since);
    // creation and readiness are both whole seconds of the cluster's clock
    open.or(last).is_some_and(|since| since.0 >= pod.created_at)
}

/// Closes the open run of the status, if there is one. `unseen`: it ended at `ended_at` at the latest.
pub fn close_run(status: &mut GpuUnitStatus, ended_at: Timestamp, unseen: bool, reason: RunEndReason) {
    let Some(instance) = &mut status.instance else { return };
    let Some(since) = instance.running_since.take() else { return };
    let run = Run {
        instance_id: instance.id.clone(),
        attempt: instance.attempt,
        ended_at: whole_seconds(ended_at.max(since.0)),
        end_unseen: unseen,
        running_since: since,
        reason: reason.as_str().to_owned(),
    };
    status.recent_runs.insert(0, run.clone());
    status.recent_runs.truncate(RUNS_KEPT);
    status.last_run = Some(run);
}
