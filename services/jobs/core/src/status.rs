//! States of jobs and their transitions. Pure.

use ids::WorkerId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum JobState {
    /// Waits for a worker.
    Queued,
    /// Has a worker, which has not begun yet.
    Assigned,
    /// A worker runs it.
    Running,
    /// Its worker was told to stop.
    Cancelling,
    /// Ended with its results.
    Succeeded,
    /// Ended without results; `problem` says why.
    Failed,
    /// Ended because it was cancelled.
    Cancelled,
    /// Its deadline passed while it waited.
    Expired,
}

impl JobState {
    /// States that never change again.
    pub const ENDS: [Self; 4] = [Self::Succeeded, Self::Failed, Self::Cancelled, Self::Expired];

    /// Whether it never changes again.
    pub fn is_ended(self) -> bool {
        Self::ENDS.contains(&self)
    }

    /// The name in JSON and messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Assigned => "assigned",
            Self::Running => "running",
            Self::Cancelling => "cancelling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }
}

/// Why a job waits: why its last attempt ended, or why no job of its tenant can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text", rename_all = "snake_case"))]
pub enum QueuedReason {
    /// Its attempt failed, and another may succeed.
    Retry,
    /// Its worker was lost.
    WorkerLost,
    /// Another job was entitled to its worker.
    Preempted,
    /// An instance has claimed the GPU that was lent to its worker.
    Recalled,
    /// The tenant is suspended: none of its jobs starts until it is active again.
    TenantSuspended,
    /// The tenant has spent its budget: none of its jobs starts until there is more.
    BudgetExhausted,
    /// The spending limit of the tenant is not known at the moment: none of its jobs starts, and running ones continue.
    AllowanceExpired,
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobProblem {
    /// Machine-readable code.
    #[schema(example = "engine-failed")]
    pub code: String,
    /// What happened, for a person.
    #[schema(example = "The engine ended before the picture was complete.")]
    pub message: String,
}

/// The latest attempt of a job, while it is open. Its number is the fence: calls of other attempts and workers are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    pub attempt: i32,
    pub worker: WorkerId,
}

/// Why the status of a job is not changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The job has ended in this state.
    #[error("the job has ended: {0:?}")]
    Ended(JobState),
    /// The job, in this state, is no longer queued.
    #[error("the job does not wait: {0:?}")]
    NotQueued(JobState),
}

/// The state of a job with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Status {
    Queued { reason: Option<QueuedReason>, not_before: Option<Timestamp> },
    Assigned(Fence),
    Running(Fence),
    Cancelling(Fence),
    Succeeded,
    Failed(JobProblem),
    Cancelled,
    Expired,
}

impl Status {
    pub fn state(&self) -> JobState {
        match self {
            Self::Queued { .. } => JobState::Queued,
            Self::Assigned(_) => JobState::Assigned,
            Self::Running(_) => JobState::Running,
            Self::Cancelling(_) => JobState::Cancelling,
            Self::Succeeded => JobState::Succeeded,
            Self::Failed(_) => JobState::Failed,
            Self::Cancelled => JobState::Cancelled,
            Self::Expired => JobState::Expired,
        }
    }

    /// The open attempt.
    pub fn fence(&self) -> Option<Fence> {
        match self {
            Self::Assigned(fence) | Self::Running(fence) | Self::Cancelling(fence) => Some(*fence),
            _ => None,
        }
    }

    /// Whether it never changes again.
    pub fn is_ended(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed(_) | Self::Cancelled | Self::Expired)
    }

    /// Requires that the job is queued.
    pub fn expect_queued(&self) -> Result<(), Error> {
        match self {
            Self::Queued { .. } => Ok(()),
            ended if ended.is_ended() => Err(Error::Ended(ended.state())),
            other => Err(Error::NotQueued(other.state())),
        }
    }

    /// The status after the user has cancelled the job. Cancelling twice changes nothing.
    ///
    /// # Errors
    /// If it has ended otherwise.
    pub fn cancel(&self) -> Result<Self, Error> {
        match self {
            Self::Queued { .. } | Self::Cancelled => Ok(Self::Cancelled),
            Self::Assigned(fence) | Self::Running(fence) | Self::Cancelling(fence) => {
                Ok(Self::Cancelling(*fence))
            }
            Self::Succeeded | Self::Failed(_) | Self::Expired => Err(Error::Ended(self.state())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancelling_ends_what_waits_and_tells_what_runs() {
        let fence = Fence { attempt: 2, worker: WorkerId::new() };
        let queued = Status::Queued { reason: None, not_before: None };
        assert_eq!(queued.cancel().unwrap(), Status::Cancelled);
        assert_eq!(Status::Cancelled.cancel().unwrap(), Status::Cancelled);
        for open in [Status::Assigned(fence), Status::Running(fence), Status::Cancelling(fence)] {
            assert_eq!(open.cancel().unwrap(), Status::Cancelling(fence));
        }
        let problem = JobProblem { code: "engine-failed".into(), message: String::new() };
        for ended in [Status::Succeeded, Status::Failed(problem), Status::Expired] {
            assert!(matches!(ended.cancel(), Err(Error::Ended(state)) if state == ended.state()));
        }
    }
}
