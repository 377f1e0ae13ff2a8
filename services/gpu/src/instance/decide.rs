//! What is to be done next for one instance: its state against what the cluster says. Pure.
//!
//! Each step is idempotent and leaves the instance in a state from which the next is decided afresh, by
//! whichever replica comes to it. No step depends on a step before it having been seen to succeed.

use crds::{HeldReason, InstanceReason, UnitState};
use jiff::Timestamp;

use super::model::{Holds, Instance, State};
use super::parts::{EndedRun, Failure, Pod, RunKey, Why};
use crate::cluster::{Seen, Unit};

/// The next step for an instance.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Nothing to do until something happens; the reason it waits for, if there is one to show.
    Wait(Option<Why>),
    /// Make sure its storage may be used, and learn its name in the cluster.
    Attach,
    /// Get a unit.
    Claim,
    /// Write what should run into the unit.
    Apply,
    /// Record runs that have ended.
    Record(Vec<EndedRun>),
    /// It runs.
    BecomeRunning(Pod),
    /// It does not run any more, but is still meant to.
    BecomeUnready(Option<Why>),
    /// Somebody took it out of its unit; begin again.
    BeginAgain,
    /// It cannot go on.
    Fail(Failure),
    /// Take what should run out of the unit.
    Vacate,
    /// Make sure that nothing of it runs any more, then give the unit back.
    Release,
    /// Let go of the storage.
    Detach,
    /// Take it out of a unit that is not its own.
    RemoveStray(String),
    /// Once more, some time after the end: give back what a call that was cut off may have taken.
    Settle,
}

/// The next step. `unit` is what the cluster says of the unit that the instance holds, `strays` the other
/// units that name the instance, `due` whether a look without an event was asked for.
#[must_use]
pub fn decide(instance: &Instance, unit: &Seen, strays: &[String], due: bool) -> Step {
    if let Some(stray) = strays.first() {
        return Step::RemoveStray(stray.clone());
    }
    match &instance.state {
        State::Pending { .. } if instance.order.storage_id.is_some() && instance.storage.is_none() => {
            Step::Attach
        }
        State::Pending { .. } => Step::Claim,
        State::Starting { .. } => up(instance, unit, None),
        State::Running { pod, .. } => up(instance, unit, Some(pod)),
        State::Stopping { holds, .. } | State::Deleting { holds, .. } => match holds {
            Holds::Unit { .. } => down(instance, unit),
            Holds::Unknown => Step::Release,
            Holds::Nothing => Step::Detach,
        },
        State::Stopped { .. } | State::Deleted if due => Step::Settle,
        State::Stopped { .. } | State::Deleted => Step::Wait(None),
    }
}

fn up(instance: &Instance, unit: &Seen, running: Option<&Pod>) -> Step {
    let unit = match unit {
        Seen::Unknown => {
            let why = Why::new("cluster_unreachable", "The cluster of its datacenter does not answer.");
            return Step::Wait(running.is_none().then_some(why));
        }
        Seen::Gone => return Step::Fail(failure("unit_gone", "The unit it was on was removed.")),
        Seen::Unit(unit) => unit,
    };
    if let Some(ended) = new_runs(instance, unit) {
        return Step::Record(ended);
    }
    let name = instance.id.k8s_name();
    if let Some(failed) =
        unit.failure.as_ref().filter(|f| f.instance_id == name && f.attempt >= instance.attempt)
    {
        let tail = Some(failed.log_tail.clone()).filter(|tail| !tail.is_empty());
        return Step::Fail(Failure { log_tail: tail, ..failure(&snake(&failed.reason), &failed.message) });
    }
    if unit.lost() {
        return Step::Fail(failure(
            "node_lost",
            "The node it was on does not answer. Start it again to take another.",
        ));
    }
    match &unit.wants {
        Some(wants) if wants.id != name => {
            return match running {
                Some(_) => Step::Fail(failure("unit_lost", "Another instance took its unit.")),
                None => Step::Wait(Some(Why::new("unit_occupied", "Its unit is still being cleared."))),
            };
        }
        Some(wants) if (wants.attempt, wants.restart) == (instance.attempt, instance.restart) => {}
        None if running.is_some() => return Step::BeginAgain,
        _ => return Step::Apply,
    }
    let now = unit.running(&name, instance.attempt, instance.restart);
    match (running, now) {
        (Some(before), Some(now)) if *before == now => Step::Wait(None),
        (_, Some(now)) => Step::BecomeRunning(now),
        (Some(_), None) => Step::BecomeUnready(unit.why()),
        (None, None) => Step::Wait(unit.why()),
    }
}

fn down(instance: &Instance, unit: &Seen) -> Step {
    let unit = match unit {
        Seen::Unknown => {
            return Step::Wait(Some(Why::new(
                "cluster_unreachable",
                "The cluster of its datacenter does not answer.",
            )));
        }
        Seen::Gone => return Step::Release,
        Seen::Unit(unit) => unit,
    };
    if let Some(ended) = new_runs(instance, unit) {
        return Step::Record(ended);
    }
    let name = instance.id.k8s_name();
    if unit.wants.as_ref().is_some_and(|wants| wants.id == name) {
        return Step::Vacate;
    }
    if unit.vacated_by(&name) {
        return Step::Release;
    }
    Step::Wait(Some(Why::new("ending", "What runs in it is ending.")))
}

/// The ends of the instance's runs that the unit tells and the meter does not know.
pub(super) fn new_runs(instance: &Instance, unit: &Unit) -> Option<Vec<EndedRun>> {
    let name = instance.id.k8s_name();
    let mut runs: Vec<EndedRun> = unit
        .runs
        .iter()
        .filter(|run| run.instance_id == name)
        .map(|run| EndedRun {
            key: RunKey { attempt: run.attempt, since: run.running_since.0 },
            ended_at: run.ended_at.0.max(run.running_since.0),
            reason: snake(&run.reason),
        })
        .filter(|run| !instance.meter.knows(run))
        .collect();
    runs.sort_by_key(|run| (run.key, run.ended_at));
    runs.dedup();
    (!runs.is_empty()).then_some(runs)
}

fn failure(reason: &str, message: &str) -> Failure {
    Failure { why: Why::new(reason, message), log_tail: None, problem: None }
}

/// A reason in the cluster's spelling (`ImagePullFailed`) in ours (`image_pull_failed`).
#[must_use]
fn snake(reason: &str) -> String {
    let mut out = String::with_capacity(reason.len() + 4);
    for (i, c) in reason.chars().enumerate() {
        if c.is_ascii_uppercase() && i > 0 {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

impl Unit {
    /// The pod of this instance, attempt and restart, if it is ready.
    fn running(&self, name: &str, attempt: i64, restart: i64) -> Option<Pod> {
        let instance = self
            .instance
            .as_ref()
            .filter(|i| i.id == name && i.attempt == attempt && i.restart == restart)
            .filter(|_| self.state == UnitState::Running)?;
        let since: Timestamp = instance.running_since.as_ref()?.0;
        Some(Pod { ip: instance.pod_ip.clone()?, node: self.node.clone(), since })
    }

    /// Whether the place and what ran there are lost with the node.
    fn lost(&self) -> bool {
        let lost = |condition: &Option<(bool, Why)>, reason: &str| {
            condition.as_ref().is_some_and(|(yes, why)| !yes && why.reason == reason)
        };
        lost(&self.held, HeldReason::NodeLost.as_str())
            || lost(&self.ready, InstanceReason::NodeLost.as_str())
    }

    /// Whether the operator has seen that the instance is not wanted here any more, and nothing of it is
    /// left.
    #[must_use]
    pub fn vacated_by(&self, name: &str) -> bool {
        self.wants.as_ref().is_none_or(|wants| wants.id != name)
            && self.instance.as_ref().is_none_or(|instance| instance.id != name)
            && self.observed_generation.is_some_and(|observed| observed >= self.generation)
    }

    /// Why its instance is not ready, in the operator's words.
    fn why(&self) -> Option<Why> {
        let not = |condition: &Option<(bool, Why)>| {
            condition
                .as_ref()
                .filter(|(yes, _)| !yes)
                .map(|(_, why)| Why { reason: snake(&why.reason), message: why.message.clone() })
        };
        not(&self.held)
            .or_else(|| not(&self.ready).filter(|why| why.reason != snake(InstanceReason::Idle.as_str())))
    }
}
