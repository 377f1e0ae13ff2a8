//! Events of jobs.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    attempt::Progress,
    job::{JobProblem, JobState, Kind, Level, QueuedReason},
};

macro_rules! event_types {
    ($($(#[doc = $doc:literal])+ $name:ident = $wire:tt;)+) => {
        /// Type of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
        #[sqlx(type_name = "text")]
        #[schema(as = JobEventType)]
        pub(crate) enum EventType {
            $($(#[doc = $doc])+ #[serde(rename = $wire)] #[sqlx(rename = $wire)] $name,)+
        }

        impl EventType {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),+];

            /// The name in JSON and of the server-sent event.
            pub(crate) fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire),+ }
            }
        }
    };
}

event_types! {
    /// Submitted.
    Submitted = "job.submitted";
    /// Priority, level or deadline changed while queued.
    Changed = "job.changed";
    /// Assigned to a worker: an attempt was created.
    Assigned = "job.assigned";
    /// The worker started the attempt.
    Started = "job.started";
    /// Another tenth of the steps is done, of a job with `report_progress`. Only webhooks get it: it is not stored.
    Progress = "job.progress";
    /// The attempt is being preempted by another job.
    Preempting = "job.preempting";
    /// Queued again after an attempt; `reason` says why.
    Requeued = "job.requeued";
    /// Cancellation requested while an attempt is open.
    Cancelling = "job.cancelling";
    /// Succeeded.
    Succeeded = "job.succeeded";
    /// Failed; `problem` says why.
    Failed = "job.failed";
    /// Cancelled.
    Cancelled = "job.cancelled";
    /// The deadline passed while queued.
    Expired = "job.expired";
}

impl EventType {
    /// Whether no event follows.
    pub(super) fn is_last(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Expired)
    }
}

/// What happened to a job, and how the job was then. The view `job_event_feed` builds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct JobEvent {
    /// The same wherever the event is read or delivered: the job, and the position among its events.
    #[schema(examples("job_01939f0a7c3d7e6b8a1f4f0d5c2b1a00-3"))]
    pub(crate) id: String,
    /// Position among the events of the job: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event in the
    /// stream of the job.
    pub(crate) sequence: i64,
    /// When it happened.
    pub(crate) time: Timestamp,
    /// Type of the event.
    #[serde(rename = "type")]
    pub(crate) kind: EventType,
    /// The tenant of the job.
    pub(crate) tenant_id: TenantId,
    /// The job.
    pub(crate) job_id: JobId,
    /// Number that the client gave the job, or null.
    pub(crate) req_no: Option<Uuid>,
    /// Kind of the job.
    #[serde(rename = "kind")]
    pub(crate) job_kind: Kind,
    /// Application of the job.
    #[schema(example = "stable-diffusion")]
    pub(crate) application: String,
    /// Method of the application.
    #[schema(example = "txt2img")]
    pub(crate) method: String,
    /// State of the job.
    pub(crate) state: JobState,
    /// Number of attempts until then.
    pub(crate) attempts: i32,
    /// Level of the job.
    pub(crate) level: Level,
    /// Orders the jobs of a tenant, 9 first.
    pub(crate) priority: i16,
    /// Why the job is queued again, or may not start, or null.
    pub(crate) reason: Option<QueuedReason>,
    /// Why the job failed, or null.
    pub(crate) problem: Option<JobProblem>,
    /// The job does not start before this time, or null.
    pub(crate) not_before: Option<Timestamp>,
    /// The attempt was told to leave its worker by this time, or null.
    pub(crate) leave_by: Option<Timestamp>,
}

/// Another tenth of the steps of an attempt is done.
pub(crate) struct Advance {
    pub(crate) tenant: TenantId,
    pub(crate) job: JobId,
    /// Number of the job's latest event.
    pub(crate) event: i64,
    pub(crate) progress: Progress,
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use utoipa::PartialSchema as _;

    use super::*;

    #[test]
    fn types_have_one_name_and_are_documented() {
        let document = include_str!("../../../../docs/JOBS.md");
        for kind in EventType::ALL {
            assert_eq!(json!(kind), kind.as_str());
            assert!(document.contains(&format!("| `{}` |", kind.as_str())), "{kind:?} is not documented");
        }
        assert_eq!(json!(EventType::schema())["enum"], json!(EventType::ALL));
    }
}
