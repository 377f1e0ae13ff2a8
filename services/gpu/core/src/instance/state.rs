//! The states of an instance, each with its data. Pure.
//!
//! ```text
//!            start            claimed            probe passes
//! stopped ──────────► pending ───────► starting ◄────────────► running
//!    ▲                   │                │                       │
//!    │  released         ▼  stop, failure ▼                       ▼
//!    └─────────────── stopping ◄──────────┴───────────────────────┘
//! any ── delete ──► deleting ── released, detached ──► deleted
//! ```
//! An instance that loses its node may go back to `pending`, and release its unit there before it claims
//! another. A stopped instance may hold its unit: it starts in that unit, or goes through `stopping` to
//! release it. The desired state (run, stop, delete) is part of the state.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    hold::Hold,
    parts::{ClaimStatus, Failure, Pod},
};
use crate::{claim::Claim, reason::Reason, unit::UnitRef};

/// The state of an instance, as stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// It should run, and has no unit yet.
    Pending {
        /// Why it waits.
        reason: Option<Reason>,
        /// Whether it waits in the queue if no unit is free. Otherwise the start fails.
        #[serde(default)]
        wait: bool,
        /// The unit of its hold, in which it starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held: Option<Claim>,
        /// The unit on a lost node that it ran in. It is released before another is claimed. Stored as in other states: a
        /// column of the row is its cluster.
        #[serde(rename = "claim", default, skip_serializing_if = "Option::is_none")]
        left: Option<Claim>,
    },
    /// It has a unit. Its pod is being created, or is not ready.
    Starting {
        /// The unit.
        claim: Claim,
        /// Why it waits.
        reason: Option<Reason>,
        /// Whether a restart is in progress.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        restarting: bool,
    },
    /// Its readiness probe passes.
    Running {
        /// The unit.
        claim: Claim,
        /// The pod.
        pod: Pod,
    },
    /// Its pod is terminating, then its unit is released.
    Stopping {
        /// Its claim.
        claim: ClaimStatus,
        /// Why it stops, unless a user asked for it.
        failure: Option<Failure>,
        /// Why it waits.
        reason: Option<Reason>,
        /// Until when it keeps its unit once it has stopped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Timestamp>,
    },
    /// It has its storage and, with a hold, its unit.
    Stopped {
        /// Why it stopped, unless a user asked for it.
        failure: Option<Failure>,
        /// The unit that it keeps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hold: Option<Hold>,
    },
    /// Like stopping; then its storage is detached.
    Deleting {
        /// Its claim.
        claim: ClaimStatus,
        /// Why it waits.
        reason: Option<Reason>,
    },
    /// Does not exist for its tenant. The row is kept for the meter.
    Deleted,
}

impl State {
    /// Returns the unit that is claimed, if that is known.
    #[must_use]
    pub fn claim(&self) -> Option<&Claim> {
        match self {
            Self::Starting { claim, .. } | Self::Running { claim, .. } => Some(claim),
            Self::Stopping { claim: ClaimStatus::Held(claim), .. }
            | Self::Deleting { claim: ClaimStatus::Held(claim), .. } => Some(claim),
            Self::Pending { held, left, .. } => left.as_ref().or(held.as_ref()),
            Self::Stopped { hold, .. } => hold.as_ref().map(|hold| &hold.claim),
            _ => None,
        }
    }

    /// Returns the claimed unit.
    #[must_use]
    pub fn unit(&self) -> Option<&UnitRef> {
        self.claim().map(|claim| &claim.unit)
    }

    /// Returns why it was stopped without a user's request.
    #[must_use]
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::Stopping { failure, .. } | Self::Stopped { failure, .. } => failure.as_ref(),
            _ => None,
        }
    }

    /// Removes and returns why it is stopped without a user's request.
    pub(crate) fn take_failure(&mut self) -> Option<Failure> {
        match self {
            Self::Stopping { failure, .. } | Self::Stopped { failure, .. } => failure.take(),
            _ => None,
        }
    }

    /// Returns why it is in this state: its failure, or why it waits.
    #[must_use]
    pub fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Pending { reason, .. } | Self::Starting { reason, .. } | Self::Deleting { reason, .. } => {
                reason.as_ref()
            }
            Self::Stopping { reason, failure, .. } => {
                failure.as_ref().map(|failure| &failure.reason).or(reason.as_ref())
            }
            Self::Stopped { failure, .. } => failure.as_ref().map(|failure| &failure.reason),
            Self::Running { .. } | Self::Deleted => None,
        }
    }

    /// Sets why it waits. Returns whether that has changed.
    pub fn set_reason(&mut self, new: Option<Reason>) -> bool {
        match self {
            Self::Pending { reason, .. }
            | Self::Starting { reason, .. }
            | Self::Stopping { reason, .. }
            | Self::Deleting { reason, .. } => {
                let changed = *reason != new;
                *reason = new;
                changed
            }
            Self::Running { .. } | Self::Stopped { .. } | Self::Deleted => false,
        }
    }

    /// Returns the claim of an instance that leaves this state to stop.
    pub(crate) fn claim_status(&self) -> ClaimStatus {
        match self {
            Self::Pending { left: Some(claim), .. } | Self::Pending { held: Some(claim), .. } => {
                ClaimStatus::Held(claim.clone())
            }
            Self::Stopped { hold: Some(hold), .. } => ClaimStatus::Held(hold.claim.clone()),
            Self::Pending { .. } => ClaimStatus::Unknown,
            Self::Starting { claim, .. } | Self::Running { claim, .. } => ClaimStatus::Held(claim.clone()),
            Self::Stopping { claim, .. } | Self::Deleting { claim, .. } => claim.clone(),
            Self::Stopped { .. } | Self::Deleted => ClaimStatus::None,
        }
    }
}

/// State of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum InstanceState {
    /// It should run and has no unit yet.
    Pending,
    /// It has a unit and is not ready yet.
    Starting,
    /// It is ready and billed.
    Running,
    /// It is terminating.
    Stopping,
    /// It does not run.
    Stopped,
    /// It is being deleted.
    Deleting,
}

impl InstanceState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Pending, Self::Starting, Self::Running, Self::Stopping, Self::Stopped, Self::Deleting];

    /// Returns the state's wire form.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Stopping => "stopping",
            Self::Stopped => "stopped",
            Self::Deleting => "deleting",
        }
    }
}

impl From<&State> for InstanceState {
    fn from(state: &State) -> Self {
        match state {
            State::Pending { .. } => Self::Pending,
            State::Starting { .. } => Self::Starting,
            State::Running { .. } => Self::Running,
            State::Stopping { .. } => Self::Stopping,
            State::Stopped { .. } => Self::Stopped,
            // a deleted instance is shown only in the log of its last change
            State::Deleting { .. } | State::Deleted => Self::Deleting,
        }
    }
}
