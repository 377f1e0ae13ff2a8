//! States of jobs and their transitions. Pure.

use ids::{JobId, ModelId, PoolId, TenantId, WorkerId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    base_model::Needs,
    cost::{Amount, Money},
    error::Error,
};

/// Kind of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = JobKind)]
pub(crate) enum Kind {
    /// Makes a model.
    Training,
    /// Makes pictures.
    Generation,
    /// Anything else.
    Batch,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Training, Self::Generation, Self::Batch];

    /// The name in JSON and in the database.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Generation => "generation",
            Self::Batch => "batch",
        }
    }
}

/// Level of a job: levels go before everything else.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = JobLevel)]
pub(crate) enum Level {
    /// Before all others, within the tenant's allowance; above it, ordinary.
    Urgent,
    /// The default.
    Ordinary,
    /// After all others; ordinary when it has waited for six hours.
    Background,
}

impl Level {
    /// The name in JSON and labels.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Urgent => "urgent",
            Self::Ordinary => "ordinary",
            Self::Background => "background",
        }
    }

    /// Returns the level of a priority, where a request names no level.
    pub(super) fn of_priority(priority: u8) -> Self {
        match priority {
            0..=2 => Self::Background,
            3..=6 => Self::Ordinary,
            _ => Self::Urgent,
        }
    }
}

/// Whether the jobs of a group may run on other nodes than its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = JobGroupMode)]
pub(crate) enum GroupMode {
    /// One group to one node: its jobs run there only, and those of no other strict group do.
    Strict,
    /// The node of the group is tried first.
    Prefer,
}

/// The group of a job: jobs of a tenant that belong on one node. Groups of different modes are different groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) mode: GroupMode,
}

/// Workers that run a job together, each with a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = JobGang)]
pub(crate) struct Gang {
    /// Number of workers.
    #[schema(minimum = 2, maximum = 64)]
    pub(crate) size: u8,
    /// Whether all of them have to be on one node.
    #[serde(default)]
    pub(crate) same_node: bool,
}

impl Gang {
    /// Sizes.
    pub(super) const SIZES: (u8, u8) = (2, 64);

    /// The gang of stored columns; none of one worker.
    pub(crate) fn of(size: i16, same_node: bool) -> Option<Self> {
        u8::try_from(size).ok().filter(|size| *size > 1).map(|size| Self { size, same_node })
    }
}

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum JobState {
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
    pub(super) const ENDS: [Self; 4] = [Self::Succeeded, Self::Failed, Self::Cancelled, Self::Expired];

    /// Whether it never changes again.
    pub(crate) fn is_ended(self) -> bool {
        Self::ENDS.contains(&self)
    }

    /// The name in JSON and messages.
    pub(crate) fn as_str(self) -> &'static str {
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

/// Why a job waits: what has ended its last attempt, or why no job of its tenant starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub(crate) enum QueuedReason {
    /// Its attempt failed, and another may succeed.
    Retry,
    /// Its worker was lost.
    WorkerLost,
    /// Another job was owed its worker.
    Preempted,
    /// An instance has claimed the GPU that was lent to its worker.
    Recalled,
    /// The tenant is suspended: none of its jobs starts until it is active again.
    TenantSuspended,
    /// The tenant has spent its budget: none of its jobs starts until there is more.
    BudgetExhausted,
    /// What the tenant may spend is not known at present: none of its jobs starts, and those that run go on.
    AllowanceExpired,
}

/// Why a job failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct JobProblem {
    /// Machine-readable code.
    #[schema(example = "engine-failed")]
    pub(crate) code: String,
    /// What happened, for a person.
    #[schema(example = "The engine ended before the picture was complete.")]
    pub(crate) message: String,
}

/// The latest attempt of a job, while it is open. Its number is the fence: calls of other attempts and workers are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fence {
    pub(crate) attempt: i32,
    pub(crate) worker: WorkerId,
}

/// The state of a job with what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
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
    pub(crate) fn state(&self) -> JobState {
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
    pub(crate) fn fence(&self) -> Option<Fence> {
        match self {
            Self::Assigned(fence) | Self::Running(fence) | Self::Cancelling(fence) => Some(*fence),
            _ => None,
        }
    }

    /// Whether it never changes again.
    pub(crate) fn is_ended(&self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed(_) | Self::Cancelled | Self::Expired)
    }

    /// The status after the user has cancelled the job. Cancelling twice changes nothing.
    ///
    /// # Errors
    /// If it has ended otherwise.
    pub(super) fn cancel(&self) -> Result<Self, Error> {
        match self {
            Self::Queued { .. } | Self::Cancelled => Ok(Self::Cancelled),
            Self::Assigned(fence) | Self::Running(fence) | Self::Cancelling(fence) => {
                Ok(Self::Cancelling(*fence))
            }
            Self::Succeeded | Self::Failed(_) | Self::Expired => Err(Error::Ended(self.state())),
        }
    }
}

/// What a job costs until now: that of its attempts that have ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = JobCost)]
pub(crate) struct Cost {
    /// Sum of the costs of attempts.
    #[schema(value_type = String, example = "0.004")]
    pub(crate) amount: Amount,
    /// Currency (ISO 4217). Attempts with a price in an earlier currency are not included.
    #[schema(example = "USD")]
    pub(crate) currency: String,
    /// Seconds that are charged.
    #[schema(example = 72)]
    pub(crate) seconds: i64,
}

/// A job.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) id: JobId,
    pub(crate) tenant: TenantId,
    pub(crate) pool: PoolId,
    pub(crate) application: String,
    pub(crate) method: String,
    pub(crate) kind: Kind,
    pub(crate) level: Level,
    pub(crate) priority: u8,
    pub(crate) group: Option<Group>,
    pub(crate) status: Status,
    /// Number of attempts.
    pub(crate) attempts: i32,
    pub(crate) deadline: Option<Timestamp>,
    /// The client's number of the request.
    pub(crate) req_no: Option<Uuid>,
    pub(crate) generation: i64,
    pub(crate) created_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
    /// What it may cost.
    pub(crate) max_cost: Option<Money>,
    /// What its attempts that have ended cost; none if none had a price.
    pub(crate) cost: Option<Cost>,
    /// Its workers, if they are several.
    pub(crate) gang: Option<Gang>,
    /// Whether its progress is told by messages and to webhooks.
    pub(crate) report_progress: bool,
    /// The base model that a worker has to have.
    pub(crate) needs: Option<Needs>,
    /// The model that it has made.
    pub(crate) result: Option<ModelId>,
}

impl Job {
    /// Whether this attempt is open.
    pub(crate) fn runs(&self, attempt: i32) -> bool {
        self.status.fence().is_some_and(|fence| fence.attempt == attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_has_a_level() {
        let levels = (0..=9).map(Level::of_priority);
        let count = |level| levels.clone().filter(|found| *found == level).count();
        assert_eq!((count(Level::Background), count(Level::Ordinary), count(Level::Urgent)), (3, 4, 3));
    }

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
