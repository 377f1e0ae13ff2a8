//! Events of jobs.

use ids::{JobId, TenantId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use crate::{
    kind::{Kind, Level},
    progress::Progress,
    status::{JobProblem, JobState, QueuedReason},
};

macro_rules! event_types {
    ($($(#[doc = $doc:literal])+ $name:ident = $wire:tt;)+) => {
        /// Type of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
        #[cfg_attr(feature = "sqlx", derive(sqlx::Type), sqlx(type_name = "text"))]
        #[schema(as = JobEventType)]
        pub enum EventType {
            $($(#[doc = $doc])+ #[serde(rename = $wire)] #[cfg_attr(feature = "sqlx", sqlx(rename = $wire))] $name,)+
        }

        impl EventType {
            #[cfg(test)]
            const ALL: &[Self] = &[$(Self::$name),+];

            /// The name in JSON and of the server-sent event.
            pub fn as_str(self) -> &'static str {
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
    /// Whether it is the last event of a job.
    pub fn is_last(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Expired)
    }
}

/// An event of a job, with the state of the job at that time. The view `job_event_feed` builds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobEvent {
    /// Id of the event: the job, and the position among its events. It is the same wherever the event is read or
    /// delivered.
    #[schema(examples("job_01939f0a7c3d7e6b8a1f4f0d5c2b1a00-3"))]
    pub id: String,
    /// Position among the events of the job: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event in the
    /// stream of the job.
    pub sequence: i64,
    /// When it happened.
    pub time: Timestamp,
    /// Type of the event.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// The tenant of the job.
    pub tenant_id: TenantId,
    /// The job.
    pub job_id: JobId,
    /// Number that the client gave the job, or null.
    pub req_no: Option<Uuid>,
    /// Kind of the job.
    #[serde(rename = "kind")]
    pub job_kind: Kind,
    /// Application of the job.
    #[schema(example = "stable-diffusion")]
    pub application: String,
    /// Method of the application.
    #[schema(example = "txt2img")]
    pub method: String,
    /// State of the job.
    pub state: JobState,
    /// Number of attempts until then.
    pub attempts: i32,
    /// Level of the job.
    pub level: Level,
    /// Orders the jobs of a tenant, 9 first.
    pub priority: i16,
    /// Why the job is queued again, or may not start, or null.
    pub reason: Option<QueuedReason>,
    /// Why the job failed, or null.
    pub problem: Option<JobProblem>,
    /// The job does not start before this time, or null.
    pub not_before: Option<Timestamp>,
    /// The attempt was told to leave its worker by this time, or null.
    pub leave_by: Option<Timestamp>,
}

/// Another tenth of the steps of an attempt is done.
pub struct Advance {
    pub tenant: TenantId,
    pub job: JobId,
    /// Number of the job's latest event.
    pub event: i64,
    pub progress: Progress,
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
