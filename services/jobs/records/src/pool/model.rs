//! Pools as JSON.

use api::Checks;
use ids::{PoolId, TenantId};
use jiff::Timestamp;
use jobs_core::{
    application::{APPLICATIONS, COMMAND},
    cost::Amount,
};
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// Greatest number of workers of a pool.
const MAX_WORKERS: u32 = 1_000;

/// A new pool.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewPool {
    /// Unique name, an RFC 1123 label.
    #[schema(example = "generation")]
    pub(crate) name: String,
    /// Names of the GPU specifications of its workers, in the order in which jobs prefer them: 1 to 16.
    #[schema(example = json!(["3080-small-4-1"]))]
    pub(crate) gpu_specs: Vec<String>,
    /// The tenant that owns the instances of the platform's workers and pays for them. Required with `workers`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) tenant_id: Option<TenantId>,
    /// Applications that its workers run: `stable-diffusion`, `dreambooth`, `command`; the first two if absent. `command` only in a
    /// dedicated pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = json!(["stable-diffusion", "dreambooth"]))]
    pub(crate) applications: Option<Vec<String>>,
    /// It runs jobs of its tenant only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dedicated: bool,
    /// Workers that the platform runs itself. Other workers can be registered in addition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workers: Option<PoolWorkers>,
    /// Factors of the price by level; 1.5, 1 and 0.4 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) level_factors: Option<LevelFactors>,
}

/// Factors of the price of a GPU specification, by level of the job: decimal numbers in strings, 0 to 100, with at most
/// three decimal places. A change applies to jobs that are assigned afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LevelFactors {
    /// For urgent jobs.
    #[schema(value_type = String, example = "1.5")]
    pub urgent: Amount,
    /// For ordinary jobs.
    #[schema(value_type = String, example = "1")]
    pub ordinary: Amount,
    /// For background jobs.
    #[schema(value_type = String, example = "0.4")]
    pub background: Amount,
}

impl LevelFactors {
    fn check(&self, checks: &mut Checks) {
        let Self { urgent, ordinary, background } = self;
        for (level, factor) in [("urgent", urgent), ("ordinary", ordinary), ("background", background)] {
            let detail = "must be 0 to 100, with at most three decimal places";
            checks.require(factor.is_within(100, 3), format!("/level_factors/{level}"), detail);
        }
    }
}

/// Workers that the platform runs as instances of the pool's tenant: firm ones with the first of its GPU specifications, and lent
/// ones with any of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolWorkers {
    /// Service of the catalogue: a runner with its engine.
    #[schema(example = "worker-webui")]
    pub service: String,
    /// Version of the service; null for the recommended one at the time of the order.
    #[serde(default)]
    pub version: Option<String>,
    /// Least number of firm workers, which keep their GPUs.
    #[schema(minimum = 0, maximum = 1000)]
    pub min: u32,
    /// Greatest number of firm workers. Between `min` and `max`, the number depends on the queue.
    #[schema(minimum = 0, maximum = 1000)]
    pub max: u32,
    /// Greatest number of lent workers, on GPUs that nobody else uses. Any other instance that finds no free GPU takes
    /// theirs. They only help firm workers, so `max` has to be at least 1.
    #[serde(default)]
    #[schema(minimum = 0, maximum = 1000)]
    pub lent_max: u32,
}

impl PoolWorkers {
    fn check(&self, checks: &mut Checks) {
        checks.length("/workers/service", &self.service, 63);
        if let Some(version) = &self.version {
            checks.length("/workers/version", version, 63);
        }
        checks.within("/workers/max", self.max, 0, MAX_WORKERS);
        checks.within("/workers/min", self.min, 0, self.max);
        checks.within("/workers/lent_max", self.lent_max, 0, MAX_WORKERS);
        // a job that has lost its worker twice waits for a firm one
        let has_firm = self.lent_max == 0 || self.max > 0;
        checks.require(has_firm, "/workers/max", "must be at least 1 with `lent_max`");
    }
}

/// A change of a pool. Absent members stay as they are.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PoolPatch {
    /// Workers that the platform runs. Null removes them when their jobs have ended. Existing workers keep the service
    /// and version with which they were ordered.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PoolWorkers>)]
    pub(crate) workers: Option<Option<PoolWorkers>>,
    /// Factors of the price by level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) level_factors: Option<LevelFactors>,
    /// Applications that its workers run. Jobs that already wait stay in the pool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) applications: Option<Vec<String>>,
}

/// Reads a present member, which may be null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<PoolWorkers>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl PoolPatch {
    /// Checks a change of a pool.
    pub(super) fn check(&self, pool: &Pool, checks: &mut Checks) {
        if let Some(applications) = &self.applications {
            check_applications(applications, pool.dedicated, checks);
        }
        if let Some(Some(workers)) = &self.workers {
            checks.require(pool.tenant_id.is_some(), "/workers", "the pool has no tenant");
            workers.check(checks);
        }
        if let Some(factors) = &self.level_factors {
            factors.check(checks);
        }
    }
}

impl NewPool {
    pub(super) fn check(&self, checks: &mut Checks) {
        checks.name("/name", &self.name);
        checks.within("/gpu_specs", self.gpu_specs.len(), 1, 16);
        for (n, spec) in self.gpu_specs.iter().enumerate() {
            let at = format!("/gpu_specs/{n}");
            checks.name(&at, spec);
            checks.require(!self.gpu_specs[..n].contains(spec), &at, "duplicate name");
        }
        if let Some(applications) = &self.applications {
            check_applications(applications, self.dedicated, checks);
        }
        let has_tenant = self.tenant_id.is_some();
        checks.require(has_tenant || !self.dedicated, "/tenant_id", "required with `dedicated`");
        if let Some(workers) = &self.workers {
            checks.require(has_tenant, "/tenant_id", "required with `workers`");
            workers.check(checks);
        }
        if let Some(factors) = &self.level_factors {
            factors.check(checks);
        }
    }
}

fn check_applications(applications: &[String], is_dedicated: bool, checks: &mut Checks) {
    checks.within("/applications", applications.len(), 1, APPLICATIONS.len());
    for (n, name) in applications.iter().enumerate() {
        let at = format!("/applications/{n}");
        let known = APPLICATIONS.contains(&name.as_str());
        checks.require(known, &at, format!("must be one of {}", APPLICATIONS.join(", ")));
        checks.require(!applications[..n].contains(name), &at, "duplicate name");
        let detail = "programs of a tenant run in a dedicated pool only";
        checks.require(is_dedicated || name != COMMAND, &at, detail);
    }
}

/// A pool: workers of one kind with one scheduler.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Pool {
    /// Pool id.
    pub id: PoolId,
    /// Unique name.
    #[schema(example = "generation")]
    pub name: String,
    /// Names of the GPU specifications of its workers, in the order in which jobs prefer them.
    #[schema(example = json!(["3080-small-4-1"]))]
    pub gpu_specs: Vec<String>,
    /// The tenant that owns the instances of the platform's workers, or null.
    pub tenant_id: Option<TenantId>,
    /// Applications that its workers run.
    #[schema(example = json!(["stable-diffusion", "dreambooth"]))]
    pub applications: Vec<String>,
    /// Whether it runs jobs of its tenant only.
    pub dedicated: bool,
    /// Workers that the platform runs, or null.
    pub workers: Option<PoolWorkers>,
    /// Factors of the price by level.
    pub level_factors: LevelFactors,
    /// The workers of the pool.
    pub status: PoolStatus,
    /// Time of creation.
    pub created_at: Timestamp,
    #[serde(skip)]
    pub generation: i64,
}

/// A pool that runs jobs of a tenant, as the tenant sees it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct UsablePool {
    /// Pool id.
    pub(crate) id: PoolId,
    /// The name by which a job may ask for it.
    #[schema(example = "generation")]
    pub(crate) name: String,
    /// Names of the GPU specifications of its workers, in the order in which jobs prefer them.
    #[schema(example = json!(["3080-small-4-1"]))]
    pub(crate) gpu_specs: Vec<String>,
    /// Applications that its workers run.
    #[schema(example = json!(["stable-diffusion", "dreambooth"]))]
    pub(crate) applications: Vec<String>,
    /// Whether it runs jobs of one tenant only.
    pub(crate) dedicated: bool,
}

/// The workers of a pool.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct PoolStatus {
    /// Number of firm workers that the platform should run now.
    pub desired: u32,
    /// Number of firm workers that it runs or starts.
    pub actual: u32,
    /// Number of lent workers that the platform should run now, if there are GPUs that nobody else uses.
    pub lent_desired: u32,
    /// Number of lent workers that it runs or starts.
    pub lent_actual: u32,
    /// Number of workers that accept jobs, including registered ones.
    pub ready: u32,
    /// Why the last worker failed, or null if one has become ready since.
    #[schema(example = "The quota of the tenant is exceeded.")]
    pub problem: Option<String>,
    /// No worker is ordered before this time, or null.
    pub retry_at: Option<Timestamp>,
}
