//! Kubernetes Events about significant changes of a unit's status.

use crds::{GpuUnit, GpuUnitStatus, HeldReason, TenantCodeReason, names};
use kube::runtime::events::{Event, EventType};
use kube::{Resource as _, ResourceExt as _};

use super::Reconciler;

/// Longest note of an Event, in characters.
const NOTE_MAX: usize = 1000;

/// A significant change.
struct Change {
    type_: EventType,
    reason: String,
    action: &'static str,
    note: String,
}

impl Reconciler {
    /// Publishes the changes between two statuses. A failure is logged and has no other effect.
    pub(super) async fn publish_changes(
        &self,
        unit: &GpuUnit,
        before: &GpuUnitStatus,
        after: &GpuUnitStatus,
    ) {
        for change in changes(before, after) {
            let event = Event {
                type_: change.type_,
                reason: change.reason,
                note: Some(change.note.chars().take(NOTE_MAX).collect()),
                action: change.action.to_owned(),
                secondary: None,
            };
            self.applier.metrics.wrote("event");
            if let Err(error) = self.recorder.publish(&event, &unit.object_ref(&())).await {
                tracing::debug!(unit = unit.name_any(), %error, "cannot publish an event");
            }
        }
    }
}

fn changes(before: &GpuUnitStatus, after: &GpuUnitStatus) -> Vec<Change> {
    [held(before, after), failed(before, after), ended(before, after), tenant_code(before, after)]
        .into_iter()
        .flatten()
        .collect()
}

/// The unit gained or lost its place. The first search of a new unit is no event.
fn held(before: &GpuUnitStatus, after: &GpuUnitStatus) -> Option<Change> {
    let was = before.condition(names::CONDITION_HELD);
    let is = after.condition(names::CONDITION_HELD)?;
    let reason = is.reason.clone();
    if is.status == "True" {
        let was_held = was.is_some_and(|was| was.status == "True");
        let note = format!("holds its place on {}", after.node.as_deref().unwrap_or("a node"));
        return (!was_held).then_some(Change { type_: EventType::Normal, reason, action: "Hold", note });
    }
    let quiet = [HeldReason::Scheduling, HeldReason::Deleting];
    let is_news = was.is_none_or(|was| was.reason != is.reason)
        && quiet.iter().all(|reason| reason.as_str() != is.reason);
    let note = is.message.clone();
    is_news.then_some(Change { type_: EventType::Warning, reason, action: "Hold", note })
}

/// What the unit's administrator has asked for is not there, or there again. That no runtime was chosen is no event.
fn tenant_code(before: &GpuUnitStatus, after: &GpuUnitStatus) -> Option<Change> {
    let was = before.condition(names::CONDITION_TENANT_CODE);
    let is = after.condition(names::CONDITION_TENANT_CODE)?;
    if was.map(|was| &was.reason) == Some(&is.reason) {
        return None;
    }
    let failed = |reason: &str| {
        [TenantCodeReason::RuntimeClassMissing, TenantCodeReason::NodeUnsuitable]
            .iter()
            .any(|failure| failure.as_str() == reason)
    };
    let (note, reason) = (is.message.clone(), is.reason.clone());
    if failed(&is.reason) {
        return Some(Change { type_: EventType::Warning, reason, action: "Isolate", note });
    }
    let is_mended = was.is_some_and(|was| failed(&was.reason)) && is.status == "True";
    is_mended.then_some(Change { type_: EventType::Normal, reason, action: "Isolate", note })
}

fn failed(before: &GpuUnitStatus, after: &GpuUnitStatus) -> Option<Change> {
    let failure = after.last_failure.as_ref();
    let failure = failure.filter(|failure| before.last_failure.as_ref() != Some(*failure))?;
    let note = format!(
        "{} attempt {}: {}: {}",
        failure.instance_id, failure.attempt, failure.reason, failure.message
    );
    Some(Change { type_: EventType::Warning, reason: "StartFailed".to_owned(), action: "Start", note })
}

/// A run ended that nobody ended. What is as requested shows in the status.
fn ended(before: &GpuUnitStatus, after: &GpuUnitStatus) -> Option<Change> {
    let run = after.last_run.as_ref().filter(|run| before.last_run.as_ref() != Some(*run))?;
    let seconds = run.ended_at.0.as_second() - run.running_since.0.as_second();
    let is_requested = matches!(run.reason.as_str(), "Stopped" | "Restarted");
    let note = format!("{} ran for {seconds} s", run.instance_id);
    let reason = run.reason.clone();
    (!is_requested).then_some(Change { type_: EventType::Warning, reason, action: "Stop", note })
}
