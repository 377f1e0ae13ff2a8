//! Workers as JSON.

use api::Checks;
use ids::{InstanceId, JobId, PoolId, WorkerId};
use jiff::Timestamp;
use jobs_core::worker::{Tenure, WorkerStage, WorkerState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A new worker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWorker {
    /// Name, an RFC 1123 label, unique in the pool.
    #[schema(example = "gpu-node-1-a")]
    pub(crate) name: String,
    /// Name of its GPU specification: one of the pool's.
    #[schema(example = "3080-small-4-1")]
    pub(crate) gpu_spec: String,
    /// Name of its node.
    #[schema(example = "gpu-node-1")]
    pub(crate) node: String,
}

impl NewWorker {
    pub(super) fn check(&self, gpu_specs: &[String], checks: &mut Checks) {
        checks.name("/name", &self.name);
        let known = gpu_specs.contains(&self.gpu_spec);
        checks.require(known, "/gpu_spec", format!("must be one of the pool's: {}", gpu_specs.join(", ")));
        checks.length("/node", &self.node, 253);
        checks.require(!self.node.contains('\0'), "/node", "must not contain NUL");
    }
}

/// A worker: a unit that runs jobs.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Worker)]
pub(crate) struct Worker {
    /// Worker id.
    pub(crate) id: WorkerId,
    /// Its pool.
    pub(crate) pool_id: PoolId,
    /// Name, unique in the pool.
    #[schema(example = "gpu-node-1-a")]
    pub(crate) name: String,
    /// Name of its GPU specification.
    #[schema(example = "3080-small-4-1")]
    pub(crate) gpu_spec: String,
    /// Name of its node. Empty while its instance has none; until then it gets no job.
    #[schema(example = "gpu-node-1")]
    pub(crate) node: String,
    /// The instance in which the platform runs it, or null.
    pub(crate) instance_id: Option<InstanceId>,
    /// Stage of the worker if the platform runs it; otherwise null.
    pub(crate) stage: Option<WorkerStage>,
    /// Whether it may keep its unit.
    pub(crate) tenure: Tenure,
    /// Time by which it leaves its unit, because another instance has claimed the unit; otherwise null.
    pub(crate) leave_by: Option<Timestamp>,
    /// Current state.
    pub(crate) state: WorkerState,
    /// The job that it runs, or null.
    pub(crate) job_id: Option<JobId>,
    /// Checkpoints that its engine has, or null if its process has not reported them.
    #[schema(example = json!(["sd-1.5"]))]
    pub(crate) checkpoints: Option<Vec<String>>,
    /// Base models that its trainer has, or null if its process has not reported them.
    #[schema(example = json!(["sd-1.5"]))]
    pub(crate) base_models: Option<Vec<String>>,
    /// Time of the last call of its process, or null.
    pub(crate) last_seen_at: Option<Timestamp>,
    /// Time of creation.
    pub(crate) created_at: Timestamp,
}
