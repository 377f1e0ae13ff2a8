//! The status of a unit: conditions, failures and the record of runs, as pure changes of a value.

use crds::{FailureReason, GpuUnitStatus, Instance, LastFailure, Run, RunEndReason};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

use crate::view::PodView;

/// How many ended runs a status remembers.
const RUNS_KEPT: usize = 8;

/// Times in a resource are whole seconds.
#[must_use]
pub fn whole(time: Timestamp) -> Time {
    Time(Timestamp::from_second(time.as_second()).unwrap_or(time))
}

/// Sets a condition; its transition time moves only when its status does.
pub fn set_condition(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: bool,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) {
    let status = if status { "True" } else { "False" };
    let existing = conditions.iter_mut().find(|condition| condition.type_ == type_);
    let since = existing
        .as_ref()
        .filter(|condition| condition.status == status)
        .map(|condition| condition.last_transition_time.clone());
    let condition = Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        observed_generation: generation,
        last_transition_time: since.unwrap_or_else(|| whole(now)),
    };
    match existing {
        Some(existing) => *existing = condition,
        None => conditions.push(condition),
    }
}

/// Whether this attempt has failed already; it is not tried again.
#[must_use]
pub fn has_failed(status: &GpuUnitStatus, wanted: &Instance) -> bool {
    status
        .last_failure
        .as_ref()
        .is_some_and(|failure| failure.instance_id == wanted.id && failure.attempt == wanted.attempt)
}

/// Records that the attempt has failed.
pub fn fail(
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
        message: message.chars().take(1024).collect(),
        log_tail: String::new(),
        at: whole(now),
    });
}

/// Whether this very pod has been ready before.
#[must_use]
pub fn was_ready(status: &GpuUnitStatus, pod: &PodView) -> bool {
    let own = status.instance.as_ref().filter(|own| own.id == pod.instance && own.attempt == pod.attempt);
    let open = own.filter(|own| own.pod_name == pod.name).and_then(|own| own.running_since.as_ref());
    let last =
        status.last_run.as_ref().filter(|run| run.instance_id == pod.instance && run.attempt == pod.attempt);
    let last = last.map(|run| &run.running_since);
    // creation and readiness are both whole seconds of the cluster's clock
    open.or(last).is_some_and(|since| since.0 >= pod.created_at)
}

/// Closes the open run of the status, if there is one.
pub fn close_run(status: &mut GpuUnitStatus, ended_at: Timestamp, reason: RunEndReason) {
    let Some(instance) = &mut status.instance else { return };
    let Some(since) = instance.running_since.take() else { return };
    let run = Run {
        instance_id: instance.id.clone(),
        attempt: instance.attempt,
        ended_at: whole(ended_at.max(since.0)),
        running_since: since,
        reason: reason.as_str().to_owned(),
    };
    status.recent_runs.insert(0, run.clone());
    status.recent_runs.truncate(RUNS_KEPT);
    status.last_run = Some(run);
}
