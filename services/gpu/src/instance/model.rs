//! What an instance is and how its state may change. Pure: no clock, no database, no network.
//!
//! ```text
//!            start            claimed            probe passes
//! stopped ──────────► pending ───────► starting ◄────────────► running
//!    ▲                   │                │                       │
//!    │  released         ▼  stop, failure ▼                       ▼
//!    └─────────────── stopping ◄──────────┴───────────────────────┘
//! any ── delete ──► deleting ── released, detached ──► deleted
//! ```
//! The intent (run, stop, delete) is part of the state: what is not asked for any more is not in it.

use ids::{InstanceId, OperationId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::parts::{Attached, Claim, EndedRun, Failure, Meter, Metering, Order, Place, Pod, RunKey, Why};
use crate::operation::{Kind, Outcome};

/// What an instance on its way down may still hold at the stock service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "holds", rename_all = "snake_case")]
pub enum Holds {
    /// Nothing any more.
    Nothing,
    /// Perhaps a unit: a claim was asked for, and its answer was not recorded.
    Unknown,
    /// This unit.
    Unit {
        /// It.
        claim: Claim,
    },
}

impl Holds {
    fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Unit { claim } => Some(claim),
            Self::Nothing | Self::Unknown => None,
        }
    }
}

/// The state of an instance, with what is known in it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// A start was asked for; no unit yet.
    Pending {
        /// Why it is not further.
        why: Option<Why>,
    },
    /// Holds a unit; its pod is being made, or is not ready yet or any more.
    Starting {
        /// The unit.
        claim: Claim,
        /// Why it is not further.
        why: Option<Why>,
    },
    /// Its probe passes.
    Running {
        /// The unit.
        claim: Claim,
        /// The pod.
        pod: Pod,
    },
    /// Ends what runs and gives back what it holds.
    Stopping {
        /// What that is.
        holds: Holds,
        /// Why, unless it was asked to.
        failure: Option<Failure>,
        /// Why it is not further.
        why: Option<Why>,
    },
    /// Holds nothing but its storage.
    Stopped {
        /// Why, unless it was asked to.
        failure: Option<Failure>,
    },
    /// As stopping, then lets go of the storage.
    Deleting {
        /// What it still holds.
        holds: Holds,
        /// Why it is not further.
        why: Option<Why>,
    },
    /// Gone for its tenant; kept for the meter.
    Deleted,
}

impl State {
    /// The word on the wire.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending { .. } => "pending",
            Self::Starting { .. } => "starting",
            Self::Running { .. } => "running",
            Self::Stopping { .. } => "stopping",
            Self::Stopped { .. } => "stopped",
            Self::Deleting { .. } => "deleting",
            Self::Deleted => "deleted",
        }
    }

    /// The unit that is held, as far as it is known.
    #[must_use]
    pub fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Starting { claim, .. } | Self::Running { claim, .. } => Some(claim),
            Self::Stopping { holds, .. } | Self::Deleting { holds, .. } => holds.claim(),
            Self::Pending { .. } | Self::Stopped { .. } | Self::Deleted => None,
        }
    }

    /// The failure that brought it down, if one did.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Stopping { failure, .. } | Self::Stopped { failure } => failure.as_ref(),
            _ => None,
        }
    }

    /// Why it is where it is.
    #[must_use]
    pub fn why(&self) -> Option<&Why> {
        match self {
            Self::Pending { why } | Self::Starting { why, .. } | Self::Deleting { why, .. } => why.as_ref(),
            Self::Stopping { why, failure, .. } => failure.as_ref().map(|f| &f.why).or(why.as_ref()),
            Self::Stopped { failure } => failure.as_ref().map(|f| &f.why),
            Self::Running { .. } | Self::Deleted => None,
        }
    }

    fn holds(&self) -> Holds {
        match self {
            Self::Pending { .. } => Holds::Unknown,
            Self::Starting { claim, .. } | Self::Running { claim, .. } => {
                Holds::Unit { claim: claim.clone() }
            }
            Self::Stopping { holds, .. } | Self::Deleting { holds, .. } => holds.clone(),
            Self::Stopped { .. } | Self::Deleted => Holds::Nothing,
        }
    }
}

/// A change of the state that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{action} is not possible while the instance is {state}")]
pub struct Illegal {
    /// What was to be done.
    pub action: &'static str,
    /// The state in which it cannot be.
    pub state: &'static str,
}

/// What a command did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commanded {
    /// It was accepted as the operation that was given.
    New,
    /// The same is already under way; the operation under way stands for it.
    UnderWay,
}

/// What else belongs to a change, in its transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Effects {
    /// Operations that end.
    pub ended: Vec<(OperationId, Outcome)>,
    /// The meter.
    pub metering: Vec<Metering>,
}

/// A tenant's machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its id.
    pub id: InstanceId,
    /// Whose it is.
    pub tenant: TenantId,
    /// Its name.
    pub name: String,
    /// What was ordered.
    pub order: Order,
    /// Where it stands.
    pub state: State,
    /// Grows with each start.
    pub attempt: i64,
    /// Grows with each restart that is asked for.
    pub restart: i64,
    /// Its storage, once the present start has attached it.
    pub storage: Option<Attached>,
    /// The meter.
    pub meter: Meter,
    /// Where it was last.
    pub last_place: Option<Place>,
    /// The newest operation on it, which may have ended.
    pub operation: (OperationId, Kind),
    /// Grows with each change.
    pub generation: i64,
    /// When it was ordered.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Instance {
    fn illegal(&self, action: &'static str) -> Illegal {
        Illegal { action, state: self.state.name() }
    }

    /// Replaces the operation under way, which ends as overtaken (or failed, if it had).
    fn supersede(&mut self, operation: OperationId, kind: Kind) -> Effects {
        let outcome = match self.state.failure() {
            Some(failure) => Outcome::Failed(failure.clone()),
            None => Outcome::Cancelled,
        };
        let (old, _) = std::mem::replace(&mut self.operation, (operation, kind));
        Effects { ended: vec![(old, outcome)], metering: Vec::new() }
    }

    // what users ask for

    /// A user starts it.
    ///
    /// # Errors
    /// Unless it is stopped (or on its way up already).
    pub fn start(&mut self, operation: OperationId) -> Result<(Commanded, Effects), Illegal> {
        match self.state {
            State::Pending { .. } | State::Starting { .. } => Ok((Commanded::UnderWay, Effects::default())),
            State::Stopped { .. } => {
                // a failure stays with the operation that failed: the state is left first
                self.state = State::Pending { why: None };
                let effects = self.supersede(operation, Kind::Start);
                self.attempt += 1;
                self.storage = None;
                Ok((Commanded::New, effects))
            }
            _ => Err(self.illegal("start")),
        }
    }

    /// A user stops it.
    ///
    /// # Errors
    /// When it is stopped or on its way to being deleted.
    pub fn stop(&mut self, operation: OperationId) -> Result<(Commanded, Effects), Illegal> {
        match &self.state {
            State::Pending { .. } | State::Starting { .. } | State::Running { .. } => {
                let holds = self.state.holds();
                let effects = self.supersede(operation, Kind::Stop);
                self.state = State::Stopping { holds, failure: None, why: None };
                Ok((Commanded::New, effects))
            }
            State::Stopping { .. } => Ok((Commanded::UnderWay, Effects::default())),
            _ => Err(self.illegal("stop")),
        }
    }

    /// A user restarts it in place.
    ///
    /// # Errors
    /// Unless it is running (or restarting already).
    pub fn restart(&mut self, operation: OperationId) -> Result<(Commanded, Effects), Illegal> {
        match &self.state {
            State::Running { claim, .. } => {
                let claim = claim.clone();
                let effects = self.supersede(operation, Kind::Restart);
                self.restart += 1;
                self.state = State::Starting { claim, why: None };
                Ok((Commanded::New, effects))
            }
            State::Starting { .. } if self.operation.1 == Kind::Restart => {
                Ok((Commanded::UnderWay, Effects::default()))
            }
            _ => Err(self.illegal("restart")),
        }
    }

    /// A user deletes it.
    ///
    /// # Errors
    /// When it is deleted.
    pub fn delete(&mut self, operation: OperationId) -> Result<(Commanded, Effects), Illegal> {
        match self.state {
            State::Deleting { .. } => Ok((Commanded::UnderWay, Effects::default())),
            State::Deleted => Err(self.illegal("delete")),
            _ => {
                let holds = self.state.holds();
                let effects = self.supersede(operation, Kind::Delete);
                self.state = State::Deleting { holds, why: None };
                Ok((Commanded::New, effects))
            }
        }
    }

    // what reconcilers find

    /// The storage was attached.
    ///
    /// # Errors
    /// Unless a start is at its beginning.
    pub fn attached(&mut self, storage: Attached) -> Result<Effects, Illegal> {
        let State::Pending { .. } = self.state else { return Err(self.illegal("attach")) };
        self.storage = Some(storage);
        Ok(Effects::default())
    }

    /// The stock service gave a unit.
    ///
    /// # Errors
    /// Unless a start waits for one.
    pub fn claimed(&mut self, claim: Claim) -> Result<Effects, Illegal> {
        let State::Pending { .. } = self.state else { return Err(self.illegal("claim")) };
        self.last_place = Some(claim.place.clone());
        self.state = State::Starting { claim, why: None };
        Ok(Effects::default())
    }

    /// The probe passes.
    ///
    /// # Errors
    /// Unless it holds a unit and should run.
    pub fn became_running(&mut self, pod: Pod) -> Result<Effects, Illegal> {
        let (State::Starting { claim, .. } | State::Running { claim, .. }) = &self.state else {
            return Err(self.illegal("run"));
        };
        let claim = claim.clone();
        let key = RunKey { attempt: self.attempt, since: pod.since };
        let mut effects =
            Effects { ended: vec![(self.operation.0, Outcome::Succeeded)], metering: Vec::new() };
        if self.meter.open != Some(key) {
            // the former one's end was not among the evidence
            effects.metering.extend(self.meter.open.take().map(Metering::CloseUnseen));
            effects.metering.push(Metering::Open(key));
            self.meter.open = Some(key);
        }
        if let Some(place) = &mut self.last_place {
            place.node.clone_from(&pod.node);
        }
        self.state = State::Running { claim, pod };
        Ok(effects)
    }

    /// The probe does not pass any more.
    ///
    /// # Errors
    /// Unless it is running.
    pub fn not_ready(&mut self, why: Option<Why>) -> Result<Effects, Illegal> {
        let State::Running { claim, .. } = &self.state else { return Err(self.illegal("wait")) };
        self.state = State::Starting { claim: claim.clone(), why };
        Ok(Effects::default())
    }

    /// What should run was taken from the unit by somebody else; it is begun again, as a new attempt.
    ///
    /// # Errors
    /// Unless it is running.
    pub fn begin_again(&mut self) -> Result<Effects, Illegal> {
        let effects = self.not_ready(Some(Why::new(
            "removed_from_unit",
            "It was removed from its unit by hand; it is being started again.",
        )))?;
        self.attempt += 1;
        Ok(effects)
    }

    /// Runs have ended, by the cluster's evidence.
    pub fn record(&mut self, ended: &[EndedRun]) -> Effects {
        let mut effects = Effects::default();
        for run in ended {
            if self.meter.knows(run) {
                continue;
            }
            if self.meter.open == Some(run.key) {
                self.meter.open = None;
            }
            self.meter.closed = Some((run.key, run.ended_at));
            effects.metering.push(Metering::Close(run.clone()));
        }
        effects
    }

    /// It cannot go on, or could not start: it comes down.
    ///
    /// # Errors
    /// Unless it should run.
    pub fn failed(&mut self, failure: Failure) -> Result<Effects, Illegal> {
        match self.state {
            State::Pending { .. } | State::Starting { .. } | State::Running { .. } => {
                let holds = self.state.holds();
                self.state = State::Stopping { holds, failure: Some(failure), why: None };
                Ok(Effects::default())
            }
            _ => Err(self.illegal("fail")),
        }
    }

    /// Nothing of it runs any more and its unit was given back.
    ///
    /// # Errors
    /// Unless it is on its way down.
    pub fn released(&mut self) -> Result<Effects, Illegal> {
        let metering = self.meter.open.take().map(Metering::CloseUnseen).into_iter().collect();
        match &mut self.state {
            State::Stopping { failure, .. } => {
                let failure = failure.take();
                let outcome = match &failure {
                    Some(failure) => Outcome::Failed(failure.clone()),
                    None => Outcome::Succeeded,
                };
                self.state = State::Stopped { failure };
                Ok(Effects { ended: vec![(self.operation.0, outcome)], metering })
            }
            State::Deleting { holds, why } => {
                *holds = Holds::Nothing;
                *why = None;
                Ok(Effects { ended: Vec::new(), metering })
            }
            _ => Err(self.illegal("release")),
        }
    }

    /// Its storage was let go: nothing is left.
    ///
    /// # Errors
    /// Unless it is being deleted and holds nothing.
    pub fn detached(&mut self) -> Result<Effects, Illegal> {
        let State::Deleting { holds: Holds::Nothing, .. } = self.state else {
            return Err(self.illegal("detach"));
        };
        self.state = State::Deleted;
        Ok(Effects { ended: vec![(self.operation.0, Outcome::Succeeded)], metering: Vec::new() })
    }

    /// Says why it is not further. Gives whether that is new.
    pub fn waits(&mut self, reason: Option<Why>) -> bool {
        match &mut self.state {
            State::Pending { why }
            | State::Starting { why, .. }
            | State::Stopping { why, .. }
            | State::Deleting { why, .. } => {
                let new = *why != reason;
                *why = reason;
                new
            }
            State::Running { .. } | State::Stopped { .. } | State::Deleted => false,
        }
    }
}
