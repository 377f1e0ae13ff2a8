//! The next step for an instance: its state compared with the observation of its unit. Pure.
//!
//! Each step is repeatable, and the next one is decided from the state it leaves, by any replica. No step relies on
//! an earlier step having been seen to succeed.

use ids::StorageId;
use jiff::Timestamp;
use units::{FailureReason, InstanceReason, UnitState};

use super::{
    hold::Hold,
    model::{Event, Instance, recalled},
    parts::{ClaimStatus, Failure, OnNodeLoss, Pod},
    secret::{Progress, SecretChange, SecretObject},
    state::State,
};
use crate::{
    ends::{EndReason, HoldEnd},
    meter::{EndedRun, RunKey},
    reason::{Reason, ReasonCode},
    unit::{Observation, PodRef, Unit, UnitRef},
};

/// The next step for an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing to do until the next event; the reason to wait, if users should see it.
    Wait(Option<Reason>),
    /// Record what the cluster reports.
    Record(Event),
    /// Call another service or a cluster.
    Act(Action),
}

/// A call of another service or a cluster. Repeatable.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Attach a storage.
    Attach(StorageId),
    /// Detach a storage that was removed from the order.
    DetachRemoved(StorageId),
    /// Claim a unit.
    Claim,
    /// Write the Secret of the start.
    WriteSecret(SecretObject),
    /// Write the instance into its unit's spec.
    Apply,
    /// Remove the instance from this unit's spec.
    Vacate(UnitRef),
    /// Delete a Secret that no pod needs any more.
    DeleteSecret(SecretObject),
    /// Release the unit.
    Release,
    /// Detach all storages.
    Detach,
    /// Some time after the end: release and detach what a delayed call may have claimed or attached.
    ReleaseLeftovers,
}

impl Step {
    /// Returns whether the step cannot be undone, and so must be decided on a fresh read of the cluster
    /// instead of the last observation.
    #[must_use]
    pub fn needs_confirmation(&self) -> bool {
        matches!(
            self,
            Self::Record(
                Event::Failed(_)
                    | Event::NodeLost
                    | Event::PlaceLost
                    | Event::RemovedFromUnit
                    | Event::BecameUnready(_)
                    | Event::HoldStarted(_)
                    | Event::HoldEnded(HoldEnd::UnitLost, _)
            ) | Self::Act(Action::DeleteSecret(_) | Action::Release)
        )
    }
}

/// Decides the next step. `observation` is of the unit that the instance has claimed; `unclaimed` are other
/// units that name it in their spec; `due` is false if only an event of the cluster caused the reconcile.
#[must_use]
pub fn decide(
    instance: &Instance,
    observation: &Observation,
    unclaimed: &[UnitRef],
    due: bool,
    now: Timestamp,
) -> Step {
    if instance.meter.ended_hold.is_some() {
        return Step::Record(Event::HoldMetered);
    }
    if let Some(unit) = unclaimed.first() {
        return Step::Act(Action::Vacate(unit.clone()));
    }
    // in another cluster than its unit was
    if let (State::Stopped { .. } | State::Deleted, Some(secret)) =
        (&instance.state, instance.live_secrets().next())
    {
        return Step::Act(Action::DeleteSecret(secret.clone()));
    }
    if let (State::Pending { .. } | State::Stopped { .. }, Some(removed)) =
        (&instance.state, instance.detaching.first())
    {
        return Step::Act(Action::DetachRemoved(*removed));
    }
    match &instance.state {
        State::Pending { left: Some(left), reason, .. } => {
            match terminate(instance, &left.unit, observation, now) {
                Step::Wait(_) => Step::Wait(reason.clone()),
                step => step,
            }
        }
        State::Pending { held, .. } => match unattached(instance) {
            Some(storage) => Step::Act(Action::Attach(storage)),
            _ if held.is_some() => Step::Record(Event::HeldUnitTaken),
            _ if instance.leave_by.is_some() => stop_recalled(),
            // until it is notified that it has a unit
            _ if instance.is_queued() && !due => Step::Wait(instance.state.reason().cloned()),
            _ => Step::Act(Action::Claim),
        },
        State::Starting { .. } => keep_running(instance, observation, None, now),
        State::Running { pod, .. } => keep_running(instance, observation, Some(pod), now),
        State::Stopping { claim, .. } | State::Deleting { claim, .. } => match claim {
            ClaimStatus::Held(claim) => terminate(instance, &claim.unit, observation, now),
            ClaimStatus::Unknown => Step::Act(Action::Release),
            ClaimStatus::None => Step::Act(Action::Detach),
        },
        State::Stopped { hold: Some(hold), .. } => keep_unit(instance, hold, observation, now),
        State::Stopped { .. } | State::Deleted if due => Step::Act(Action::ReleaseLeftovers),
        State::Stopped { .. } | State::Deleted => Step::Wait(None),
    }
}

/// The first storage that this start has not attached yet.
fn unattached(instance: &Instance) -> Option<StorageId> {
    let mut mounts = instance.order.storages.iter().map(|mount| mount.storage_id);
    mounts.find(|storage| !instance.attached.contains_key(storage))
}

/// The next step for an instance that should run and has a unit. `pod` is the recorded pod of a running instance.
fn keep_running(instance: &Instance, observation: &Observation, pod: Option<&Pod>, now: Timestamp) -> Step {
    if instance.leave_by.is_some_and(|leave_by| now >= leave_by) {
        return stop_recalled();
    }
    let unit = match observation {
        Observation::Unknown => return Step::Wait(pod.is_none().then(unreachable_cluster)),
        Observation::Gone => return fail(ReasonCode::UnitGone, "The instance's unit was removed."),
        Observation::Unit(unit) => unit,
    };
    if let Some(ended) = new_runs(instance, unit) {
        return Step::Record(Event::RunsEnded(ended));
    }
    if instance.is_restored() {
        return settle_restored(instance, unit);
    }
    let name = instance.id.k8s_name();
    if let Some(failure) = failure_of(unit, &name, instance.attempt) {
        return Step::Record(Event::Failed(failure));
    }
    let node = match (pod, &instance.state) {
        (Some(pod), _) => pod.node.as_deref(),
        (None, State::Starting { claim, .. }) => claim.place.node.as_deref(),
        (None, _) => None,
    };
    if unit.node_lost() || unit.moved_from_lost(node, &name, instance.attempt) {
        return match instance.order.on_node_loss {
            OnNodeLoss::Restart => Step::Record(Event::NodeLost),
            OnNodeLoss::Stop => fail(
                ReasonCode::NodeLost,
                "The instance's node does not answer. Start the instance again to use another node.",
            ),
        };
    }
    if instance.leave_by.is_some() && unit.desired.as_ref().is_none_or(|desired| desired.name != name) {
        return stop_recalled();
    }
    match &unit.desired {
        Some(desired) if desired.name != name => match pod {
            Some(_) => return fail(ReasonCode::UnitLost, "Another instance took the instance's unit."),
            None => return Step::Wait(Some(occupied_unit())),
        },
        Some(desired) if (desired.attempt, desired.restart) == (instance.attempt, instance.restart) => {}
        None if pod.is_some() => return Step::Record(Event::RemovedFromUnit),
        _ => return apply(instance, unit),
    }
    if pod.is_none() && unit.lost_place(&name, instance.attempt) {
        return Step::Record(Event::PlaceLost);
    }
    match (pod, ready_pod(unit, instance)) {
        (Some(recorded), Some(reported)) if *recorded == reported => follow_secrets(instance, unit),
        (_, Some(reported)) => Step::Record(Event::BecameReady(reported)),
        (Some(_), None) => Step::Record(Event::BecameUnready(reason_of(unit))),
        (None, None) => Step::Wait(reason_of(unit)),
    }
}

/// Stops an interruptible instance that has lost its unit.
fn stop_recalled() -> Step {
    Step::Record(Event::StoppedByPlatform(Failure::new(recalled())))
}

/// The next step for an instance of a restored database. If the cluster runs it, it continues in that start.
/// Otherwise it is stopped, as it may have been stopped since the backup.
fn settle_restored(instance: &Instance, unit: &Unit) -> Step {
    match &unit.desired {
        Some(desired) if desired.name == instance.id.k8s_name() => {
            let (attempt, restart) = (desired.attempt, desired.restart);
            Step::Record(Event::FoundAfterRestore { attempt, restart })
        }
        _ => fail(
            ReasonCode::Restored,
            "The platform was restored from a backup, and the instance did not run any more. Start it again.",
        ),
    }
}

/// Writes the instance into its unit, and before that the Secrets that its pod needs.
fn apply(instance: &Instance, unit: &Unit) -> Step {
    let needed = instance.needed_secrets(unit);
    let missing = needed.into_iter().find(|(_, progress)| *progress != Some(Progress::Written));
    match missing {
        None => Step::Act(Action::Apply),
        Some((secret, Some(Progress::Planned))) => Step::Act(Action::WriteSecret(secret)),
        Some((secret, _)) => Step::Record(Event::Secret(SecretChange::Planned(secret))),
    }
}

/// The next step for the Secrets of a running instance: first the unit ceases to name those of ended
/// credentials, then those that no pod needs are deleted.
fn follow_secrets(instance: &Instance, unit: &Unit) -> Step {
    let named = unit.desired.as_ref().and_then(|desired| desired.pull_secret.as_ref());
    if named.is_some() && named != instance.pull_secret_name().as_ref() {
        return apply(instance, unit);
    }
    match instance.stale_secret() {
        Some(secret) => Step::Act(Action::DeleteSecret(secret.clone())),
        None => Step::Wait(None),
    }
}

/// Deletes the Secrets of an instance that has left its unit, if there are any.
fn delete_secret(instance: &Instance, own: &UnitRef) -> Option<Step> {
    let secret = instance.live_secrets().find(|secret| secret.cluster == own.cluster)?;
    Some(Step::Act(Action::DeleteSecret(secret.clone())))
}

/// The next step for an instance that should not run and still has a unit.
fn terminate(instance: &Instance, own: &UnitRef, observation: &Observation, now: Timestamp) -> Step {
    let unit = match observation {
        Observation::Unknown => return Step::Wait(Some(unreachable_cluster())),
        Observation::Gone => {
            return delete_secret(instance, own).unwrap_or(Step::Act(Action::Release));
        }
        Observation::Unit(unit) => unit,
    };
    if let Some(ended) = new_runs(instance, unit) {
        return Step::Record(Event::RunsEnded(ended));
    }
    let name = instance.id.k8s_name();
    if unit.desired.as_ref().is_some_and(|desired| desired.name == name) {
        return Step::Act(Action::Vacate(own.clone()));
    }
    if !unit.vacated_by(&name) {
        return Step::Wait(Some(Reason::new(ReasonCode::Terminating, "The container is terminating.")));
    }
    if let Some(step) = delete_secret(instance, own) {
        return step;
    }
    match &instance.state {
        State::Stopping { hold: Some(until), .. } if now >= *until => {
            Step::Record(Event::HoldEnded(HoldEnd::Expired, now))
        }
        State::Stopping { hold: Some(_), .. } if unit.is_lost_to(&name) => {
            Step::Record(Event::HoldEnded(HoldEnd::UnitLost, now))
        }
        State::Stopping { hold: Some(_), .. } => Step::Record(Event::HoldStarted(now)),
        _ => Step::Act(Action::Release),
    }
}

/// The next step for a stopped instance that keeps its unit. An unreachable cluster does not end the hold.
fn keep_unit(instance: &Instance, hold: &Hold, observation: &Observation, now: Timestamp) -> Step {
    let name = instance.id.k8s_name();
    if now >= hold.until {
        return Step::Record(Event::HoldEnded(HoldEnd::Expired, hold.until));
    }
    match observation {
        Observation::Unknown => Step::Wait(None),
        Observation::Gone => Step::Record(Event::HoldEnded(HoldEnd::UnitLost, now)),
        Observation::Unit(unit) if unit.is_lost_to(&name) => {
            Step::Record(Event::HoldEnded(HoldEnd::UnitLost, now))
        }
        // a delayed call put it back
        Observation::Unit(unit) if unit.desired.as_ref().is_some_and(|desired| desired.name == name) => {
            Step::Act(Action::Vacate(hold.claim.unit.clone()))
        }
        Observation::Unit(_) => Step::Wait(None),
    }
}

/// Returns the ends of the instance's runs that the unit reports and the meter does not know, oldest first.
fn new_runs(instance: &Instance, unit: &Unit) -> Option<Vec<EndedRun>> {
    let name = instance.id.k8s_name();
    let mut runs: Vec<EndedRun> = unit
        .runs
        .iter()
        .filter(|run| run.instance_id == name)
        .map(|run| EndedRun {
            key: RunKey { attempt: run.attempt, since: run.running_since.0 },
            ended_at: run.ended_at.0.max(run.running_since.0),
            unseen: run.end_unseen,
            reason: EndReason::reported(&run.reason),
        })
        .filter(|run| !instance.meter.knows(run))
        .collect();
    runs.sort_by_key(|run| (run.key, run.ended_at));
    runs.dedup();
    (!runs.is_empty()).then_some(runs)
}

fn fail(code: ReasonCode, message: &str) -> Step {
    Step::Record(Event::Failed(Failure::new(Reason::new(code, message))))
}

/// The reason while the cluster of the instance does not answer.
pub fn unreachable_cluster() -> Reason {
    Reason::new(
        ReasonCode::ClusterUnreachable,
        "The cluster of the instance's datacenter does not answer. The platform retries.",
    )
}

/// The reason while another instance has not left the unit yet.
pub fn occupied_unit() -> Reason {
    Reason::new(ReasonCode::UnitOccupied, "The previous instance in the unit is still terminating.")
}

/// Returns the instance's pod in the unit, if it is ready.
fn ready_pod(unit: &Unit, instance: &Instance) -> Option<Pod> {
    let name = instance.id.k8s_name();
    let present = unit
        .instance
        .as_ref()
        .filter(|_| unit.state == UnitState::Running)
        .filter(|present| present.id == name)
        .filter(|present| (present.attempt, present.restart) == (instance.attempt, instance.restart))?;
    let since = present.running_since.as_ref()?.0;
    let object = PodRef::of(present);
    Some(Pod { ip: present.pod_ip.clone()?, node: unit.node.clone(), since, object })
}

/// Returns the failure of this start (or of a later one).
fn failure_of(unit: &Unit, name: &str, attempt: i64) -> Option<Failure> {
    let failure = unit.failure.as_ref().filter(|f| f.instance_id == name && f.attempt >= attempt)?;
    let code = ReasonCode::reported(failure.reason.parse::<FailureReason>().ok());
    let log_tail = Some(failure.log_tail.clone()).filter(|tail| !tail.is_empty());
    Some(Failure { log_tail, ..Failure::new(Reason::new(code, &failure.message)) })
}

/// Returns why the instance of the unit is not ready, as the operator reports it.
fn reason_of(unit: &Unit) -> Option<Reason> {
    if let Some(held) = unit.held.as_ref().filter(|held| !held.met) {
        return Some(Reason::new(ReasonCode::reported(held.reason), &held.message));
    }
    let ready = unit.ready.as_ref().filter(|ready| !ready.met)?;
    let idle = ready.reason == Some(InstanceReason::Idle);
    (!idle).then(|| Reason::new(ReasonCode::reported(ready.reason), &ready.message))
}

#[cfg(test)]
mod tests;
