//! Events of jobs.

use ids::JobId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::job::{JobProblem, JobState, Level, QueuedReason};

/// Type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[sqlx(type_name = "text")]
#[schema(as = JobEventType)]
pub(crate) enum EventType {
    /// The job was submitted.
    #[serde(rename = "job.submitted")]
    #[sqlx(rename = "job.submitted")]
    Submitted,
    /// Its priority, level or deadline was changed while it waited.
    #[serde(rename = "job.changed")]
    #[sqlx(rename = "job.changed")]
    Changed,
    /// It has a worker. An attempt begins.
    #[serde(rename = "job.assigned")]
    #[sqlx(rename = "job.assigned")]
    Assigned,
    /// The worker runs it.
    #[serde(rename = "job.started")]
    #[sqlx(rename = "job.started")]
    Started,
    /// Its attempt was told to leave the worker, to which another job is entitled.
    #[serde(rename = "job.preempting")]
    #[sqlx(rename = "job.preempting")]
    Preempting,
    /// The attempt has ended, and the job waits for another: `reason` says why.
    #[serde(rename = "job.requeued")]
    #[sqlx(rename = "job.requeued")]
    Requeued,
    /// It was cancelled, and its worker is told to stop.
    #[serde(rename = "job.cancelling")]
    #[sqlx(rename = "job.cancelling")]
    Cancelling,
    /// It has ended with its results.
    #[serde(rename = "job.succeeded")]
    #[sqlx(rename = "job.succeeded")]
    Succeeded,
    /// It has ended without results: `problem` says why.
    #[serde(rename = "job.failed")]
    #[sqlx(rename = "job.failed")]
    Failed,
    /// It has ended because it was cancelled.
    #[serde(rename = "job.cancelled")]
    #[sqlx(rename = "job.cancelled")]
    Cancelled,
    /// Its deadline passed while it waited.
    #[serde(rename = "job.expired")]
    #[sqlx(rename = "job.expired")]
    Expired,
}

impl EventType {
    /// The name in JSON and of the server-sent event.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Submitted => "job.submitted",
            Self::Changed => "job.changed",
            Self::Assigned => "job.assigned",
            Self::Started => "job.started",
            Self::Preempting => "job.preempting",
            Self::Requeued => "job.requeued",
            Self::Cancelling => "job.cancelling",
            Self::Succeeded => "job.succeeded",
            Self::Failed => "job.failed",
            Self::Cancelled => "job.cancelled",
            Self::Expired => "job.expired",
        }
    }

    /// Whether no event follows.
    pub(super) fn is_last(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Expired)
    }
}

/// What happened to a job, and how the job was then.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct JobEvent {
    /// Position among the events of the job: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event.
    pub(crate) sequence: i64,
    /// When it happened.
    pub(crate) time: Timestamp,
    /// Type of the event.
    #[serde(rename = "type")]
    pub(crate) kind: EventType,
    /// The job.
    pub(crate) job_id: JobId,
    /// State of the job.
    pub(crate) state: JobState,
    /// Number of attempts until then.
    pub(crate) attempts: i32,
    /// Level of the job.
    pub(crate) level: Level,
    /// Orders the jobs of a tenant, 9 first.
    pub(crate) priority: i16,
    /// Why the job is queued again, or null.
    pub(crate) reason: Option<QueuedReason>,
    /// Why the job failed, or null.
    pub(crate) problem: Option<JobProblem>,
    /// The job does not start before this time, or null.
    pub(crate) not_before: Option<Timestamp>,
    /// The attempt was told to leave its worker by this time, or null.
    pub(crate) leave_by: Option<Timestamp>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ALL: [EventType; 11] = [
        EventType::Submitted,
        EventType::Changed,
        EventType::Assigned,
        EventType::Started,
        EventType::Preempting,
        EventType::Requeued,
        EventType::Cancelling,
        EventType::Succeeded,
        EventType::Failed,
        EventType::Cancelled,
        EventType::Expired,
    ];

    #[test]
    fn types_have_one_name_and_are_documented() {
        let document = include_str!("../../../../docs/JOBS.md");
        for kind in ALL {
            assert_eq!(json!(kind), kind.as_str());
            assert!(document.contains(&format!("| `{}` |", kind.as_str())), "{kind:?} is not documented");
        }
    }
}
