//! Jobs as JSON.

use ids::{JobId, ModelId};
use jiff::Timestamp;
use jobs_core::{
    cost::Money,
    job::{Cost, Job},
    kind::{Gang, GroupMode, Kind, Level},
    progress::ProgressView,
    status::{JobProblem, JobState, QueuedReason, Status},
};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

/// A job: one request for work on GPUs.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Job)]
pub struct JobView {
    /// Job id.
    pub id: JobId,
    /// Name of the application.
    #[schema(example = "stable-diffusion")]
    pub application: String,
    /// The method.
    #[schema(example = "txt2img")]
    pub method: String,
    /// Kind of the job.
    pub kind: Kind,
    /// Level of the job.
    pub level: Level,
    /// Orders the jobs of a tenant, 9 first.
    pub priority: u8,
    /// The group of the job, or null.
    #[schema(example = "campaign-7")]
    pub group: Option<String>,
    /// Whether jobs of the group may run on other nodes, or null.
    pub group_mode: Option<GroupMode>,
    /// Current state.
    pub state: JobState,
    /// Why the job is queued again, or may not start, or null.
    pub reason: Option<QueuedReason>,
    /// The job does not start before this time, or null.
    pub not_before: Option<Timestamp>,
    /// The job expires if it waits at that time, or null.
    pub deadline: Option<Timestamp>,
    /// The client's number of the request, or null.
    pub req_no: Option<Uuid>,
    /// Number of attempts until now.
    pub attempts: i32,
    /// Progress of the latest attempt, or null if none is open.
    pub progress: Option<ProgressView>,
    /// Why the job failed, or null.
    pub problem: Option<JobProblem>,
    /// The model that a training has made, or null.
    pub model_id: Option<ModelId>,
    /// The workers that it needs, if it needs several; otherwise null.
    pub gang: Option<Gang>,
    /// Whether its progress is sent to the message broker and to webhooks.
    pub report_progress: bool,
    /// Maximum cost of the job, or null.
    pub max_cost: Option<Money>,
    /// Cost of the job until now, or null if no attempt with a price has ended.
    pub cost: Option<Cost>,
    /// Time of submission.
    pub created_at: Timestamp,
    /// When the first attempt began, or null.
    pub started_at: Option<Timestamp>,
    /// When the job ended, or null.
    pub ended_at: Option<Timestamp>,
}

impl JobView {
    pub fn new(job: Job, progress: Option<ProgressView>) -> Self {
        let (reason, not_before) = match &job.status {
            Status::Queued { reason, not_before } => (*reason, *not_before),
            _ => (None, None),
        };
        Self {
            progress: progress.filter(|_| job.status.fence().is_some()),
            state: job.status.state(),
            problem: match job.status {
                Status::Failed(problem) => Some(problem),
                _ => None,
            },
            reason,
            not_before,
            group_mode: job.group.as_ref().map(|group| group.mode),
            group: job.group.map(|group| group.name),
            id: job.id,
            application: job.application,
            method: job.method,
            kind: job.kind,
            level: job.level,
            priority: job.priority,
            deadline: job.deadline,
            req_no: job.req_no,
            attempts: job.attempts,
            model_id: job.result,
            gang: job.gang,
            report_progress: job.report_progress,
            max_cost: job.max_cost,
            cost: job.cost,
            created_at: job.created_at,
            started_at: job.started_at,
            ended_at: job.ended_at,
        }
    }
}
