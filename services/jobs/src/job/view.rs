//! Jobs as JSON.

use api::{NamedUrgency, ProblemDetails, Urgency};
use ids::{JobId, ModelId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::model::{Cost, Gang, GroupMode, Job, JobProblem, JobState, Kind, Level, QueuedReason, Status};
use crate::cost::Money;

/// A new job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewJob {
    /// Name of the application.
    #[schema(example = "stable-diffusion")]
    pub(crate) application: String,
    /// A method of the application.
    #[schema(example = "txt2img")]
    pub(crate) method: String,
    /// Parameters of the method. Of `stable-diffusion.txt2img`: `prompt`, and optionally `negative_prompt`, `model`, `models`
    /// (`id` and `weight` of up to 4 models of the tenant), `width`, `height`, `steps`, `cfg_scale`, `seed` and `images`. Of
    /// `stable-diffusion.img2img` also `image` (id of an upload, or of a result of another job), and optionally `mask` (the same;
    /// repainted where it is white) and `denoising_strength` (0 to 1). Of `dreambooth.train`: `images` (ids of 3 to 5 uploads),
    /// `theme`, and optionally `token`, `name`, `base_model`, `steps`, `rank` and `seed`. Of `command.run`: `command` (program and
    /// arguments), and optionally `env` (variables by name), `arguments` (any value), `uploads` and `models` (ids), and
    /// `max_seconds`.
    #[schema(value_type = Object, example = json!({ "prompt": "a fox in the snow", "steps": 20 }))]
    pub(crate) parameters: Value,
    /// Orders the jobs of a tenant, 9 first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9, default = 5)]
    pub(crate) priority: Option<u8>,
    /// Level of the job. By default it follows from the priority: 0–2 `background`, 3–6 `ordinary`, 7–9 `urgent`; without a
    /// priority from the header `Priority` (RFC 9218): `u=0` to `u=2` is `urgent`, `u=6` and `u=7` `background`.
    #[serde(default)]
    pub(crate) level: Option<Level>,
    /// Jobs with the same group run on one node. At most 128 characters.
    #[serde(default)]
    #[schema(max_length = 128, example = "campaign-7")]
    pub(crate) group: Option<String>,
    /// Whether they may run on other nodes. By default they may not (`strict`). Only with `group`.
    #[serde(default)]
    pub(crate) group_mode: Option<GroupMode>,
    /// The job expires if it waits at that time. At most 30 days ahead.
    #[serde(default)]
    #[schema(example = "2026-12-01T08:00:00Z")]
    pub(crate) deadline: Option<Timestamp>,
    /// The client's own number of this request: a UUID that the tenant uses once. A repetition with the same content
    /// returns the same job, however late.
    #[serde(default)]
    pub(crate) req_no: Option<Uuid>,
    /// What the job may cost, in the currency of the pool's prices: at least what half of such jobs cost on the cheapest GPU
    /// specification (`p50` of `POST /v1/jobs/quote`). A running attempt is stopped when it would cost more; the job
    /// fails with `max-cost-reached`, and pays for the work until then.
    #[serde(default)]
    pub(crate) max_cost: Option<Money>,
    /// Name of the pool that runs it: one that runs the application for the tenant. By default the oldest such pool, dedicated
    /// ones first; while it waits, it may be moved to one where it starts earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 63, example = "acme-pytorch")]
    pub(crate) pool: Option<String>,
    /// Several workers, all or none. Only of `command.run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gang: Option<Gang>,
    /// Whether its progress is told by messages of the broker and to webhooks: at every tenth of the steps of an attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) report_progress: bool,
}

impl NewJob {
    /// Sets the level to what the request's header says, unless the body says something.
    pub(super) fn set_urgency(&mut self, urgency: NamedUrgency) {
        if self.level.is_none() && self.priority.is_none() {
            self.level = urgency.0.map(|urgency| match urgency {
                Urgency::Urgent => Level::Urgent,
                Urgency::Ordinary => Level::Ordinary,
                Urgency::Background => Level::Background,
            });
        }
    }
}

/// Up to 1,000 jobs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewJobBatch {
    /// 1 to 1,000 jobs. Each is accepted or refused by itself.
    pub(crate) jobs: Vec<NewJob>,
}

/// What became of a batch.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct JobBatch {
    /// One item for each job, in the same order.
    pub(crate) items: Vec<JobBatchItem>,
}

/// What became of one job of a batch: `job` or `problem` is null.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct JobBatchItem {
    /// The new job, or null.
    pub(crate) job: Option<JobView>,
    /// Why it was refused, or null.
    pub(crate) problem: Option<ProblemDetails>,
}

/// A change of a job that waits. Absent members stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JobChange {
    /// Orders the jobs of a tenant, 9 first. The level stays as it is.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 9, example = 8)]
    pub(crate) priority: Option<u8>,
    /// New level.
    #[serde(default)]
    pub(crate) level: Option<Level>,
    /// The job expires if it waits at that time. At most 30 days ahead.
    #[serde(default)]
    #[schema(example = "2026-12-01T08:00:00Z")]
    pub(crate) deadline: Option<Timestamp>,
}

/// How far the latest attempt is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = JobProgress)]
pub(crate) struct ProgressView {
    /// What the worker does.
    pub(crate) phase: Phase,
    /// Steps that are done.
    #[schema(example = 12)]
    pub(crate) step: i32,
    /// Steps in all.
    #[schema(example = 20)]
    pub(crate) steps: i32,
}

/// What a worker does for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
#[schema(as = JobPhase)]
pub(crate) enum Phase {
    /// Loads the model.
    Loading,
    /// Computes.
    Working,
    /// Uploads results.
    Uploading,
}

/// A job: one request for work on GPUs.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct JobView {
    /// Job id.
    pub(crate) id: JobId,
    /// Name of the application.
    #[schema(example = "stable-diffusion")]
    pub(crate) application: String,
    /// The method.
    #[schema(example = "txt2img")]
    pub(crate) method: String,
    /// Kind of the job.
    pub(crate) kind: Kind,
    /// Level of the job.
    pub(crate) level: Level,
    /// Orders the jobs of a tenant, 9 first.
    pub(crate) priority: u8,
    /// The group of the job, or null.
    #[schema(example = "campaign-7")]
    pub(crate) group: Option<String>,
    /// Whether jobs of the group may run on other nodes, or null.
    pub(crate) group_mode: Option<GroupMode>,
    /// Current state.
    pub(crate) state: JobState,
    /// Why the job is queued again, or may not start, or null.
    pub(crate) reason: Option<QueuedReason>,
    /// The job does not start before this time, or null.
    pub(crate) not_before: Option<Timestamp>,
    /// The job expires if it waits at that time, or null.
    pub(crate) deadline: Option<Timestamp>,
    /// The client's number of the request, or null.
    pub(crate) req_no: Option<Uuid>,
    /// Number of attempts until now.
    pub(crate) attempts: i32,
    /// How far the latest attempt is, or null if none is open.
    pub(crate) progress: Option<ProgressView>,
    /// Why the job failed, or null.
    pub(crate) problem: Option<JobProblem>,
    /// The model that a training has made, or null.
    pub(crate) model_id: Option<ModelId>,
    /// The workers that it needs if they are several, or null.
    pub(crate) gang: Option<Gang>,
    /// Whether its progress is told by messages of the broker and to webhooks.
    pub(crate) report_progress: bool,
    /// What the job may cost, or null.
    pub(crate) max_cost: Option<Money>,
    /// What the job costs until now, or null if no attempt with a price has ended.
    pub(crate) cost: Option<Cost>,
    /// Time of submission.
    pub(crate) created_at: Timestamp,
    /// When the first attempt began, or null.
    pub(crate) started_at: Option<Timestamp>,
    /// When the job ended, or null.
    pub(crate) ended_at: Option<Timestamp>,
}

impl JobView {
    pub(crate) fn new(job: Job, progress: Option<ProgressView>) -> Self {
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
