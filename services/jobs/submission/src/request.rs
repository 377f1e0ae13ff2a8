//! Requests of tenants and their responses, as JSON.

use api::{NamedUrgency, ProblemDetails, Urgency};
use jiff::Timestamp;
use jobs_core::{
    cost::Money,
    kind::{Gang, GroupMode, Level},
};
use records::job::JobView;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

/// A new job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewJob {
    /// Name of the application.
    #[schema(example = "stable-diffusion")]
    pub application: String,
    /// A method of the application.
    #[schema(example = "txt2img")]
    pub method: String,
    /// Parameters of the method. For `stable-diffusion.txt2img`: `prompt`, and optionally `negative_prompt`, `model`,
    /// `models` (`id` and `weight` of up to 4 models of the tenant), `width`, `height`, `steps`, `cfg_scale`, `seed`
    /// and `images`. For `stable-diffusion.img2img` also `image` (id of an upload, or of a result of another job), and
    /// optionally `mask` (the same; repainted where it is white) and `denoising_strength` (0 to 1). For
    /// `dreambooth.train`: `images` (ids of 3 to 5 uploads), `theme`, and optionally `token`, `name`, `base_model`,
    /// `steps`, `rank` and `seed`. For `command.run`: `command` (program and arguments), and optionally `env`
    /// (variables by name), `arguments` (any value), `uploads` and `models` (ids), and `max_seconds`.
    #[schema(value_type = Object, example = json!({ "prompt": "a fox in the snow", "steps": 20 }))]
    pub parameters: Value,
    /// Orders the jobs of a tenant, 9 first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 9, default = 5)]
    pub priority: Option<u8>,
    /// Level of the job. By default it follows from the priority: 0–2 `background`, 3–6 `ordinary`, 7–9 `urgent`; without a
    /// priority from the header `Priority` (RFC 9218): `u=0` to `u=2` is `urgent`, `u=6` and `u=7` `background`.
    #[serde(default)]
    pub level: Option<Level>,
    /// Jobs with the same group run on one node. At most 128 characters.
    #[serde(default)]
    #[schema(max_length = 128, example = "campaign-7")]
    pub group: Option<String>,
    /// Whether they may run on other nodes. By default they may not (`strict`). Only with `group`.
    #[serde(default)]
    pub group_mode: Option<GroupMode>,
    /// The job expires if it waits at that time. At most 30 days ahead.
    #[serde(default)]
    #[schema(example = "2026-12-01T08:00:00Z")]
    pub deadline: Option<Timestamp>,
    /// The client's own number of this request: a UUID that the tenant uses once. A later request with the same number
    /// and content returns the same job, at any time.
    #[serde(default)]
    pub req_no: Option<Uuid>,
    /// Maximum cost of the job, in the currency of the pool's prices. Not less than half of such jobs cost on the
    /// cheapest GPU specification (`p50` of `POST /v1/jobs/quote`). A running attempt is stopped before it costs more.
    /// The job fails with `max-cost-reached`; the work until then is charged.
    #[serde(default)]
    pub max_cost: Option<Money>,
    /// Name of the pool that runs it: one that runs the application for the tenant. By default the oldest such pool, dedicated
    /// ones first; while it waits, it may be moved to one where it starts earlier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 63, example = "acme-pytorch")]
    pub pool: Option<String>,
    /// Several workers that run the job together. Only for `command.run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<Gang>,
    /// Whether its progress is sent to the message broker and to webhooks: after each tenth of the steps of an attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub report_progress: bool,
}

impl NewJob {
    /// Sets the level from the request's header, unless the body has one.
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

/// The results for the jobs of a batch.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct JobBatch {
    /// One item for each job, in the same order.
    pub(crate) items: Vec<JobBatchItem>,
}

/// The result for one job of a batch. Either `job` or `problem` is null.
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
